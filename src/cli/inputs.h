/* The files behind a subcommand's arguments. */
#ifndef REMORA_CLI_INPUTS_H
#define REMORA_CLI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct arena;

struct inputs {
    const char **files; /* `-` is standard input */
    size_t count;
    bool failed; /* some argument could not be opened or has no test in it: said on standard error */
};

/* Files stand for themselves, whatever their name; folders for the *.litmus files in them and in their
 * folders, in order of name. What is not there is kept: reading it will tell why. */
struct inputs inputs_find(struct arena *, const char *command, char *const *arguments, size_t count);

/* All of a stream, in the arena; NULL, with errno set, if it can't be read or is beyond 128 MiB. */
char *read_stream(struct arena *, FILE *, size_t *length);

#endif
