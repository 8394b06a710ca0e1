/* A line on standard error that tells how far we are, only if that is a terminal. */
#ifndef REMORA_CLI_PROGRESS_H
#define REMORA_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool on, shown;
};

struct progress progress_start(void);
void progress_show(struct progress *, size_t done, size_t total, const char *current, uint64_t states);
void progress_clear(struct progress *); /* before anything else is printed */

#endif
