/* The files of `remora check --dot` and `--svg`. */
#ifndef REMORA_CLI_PICTURES_H
#define REMORA_CLI_PICTURES_H

#include "cli/explained.h"
#include "cli/inputs.h"

struct pictures {
    const char *dot, *svg; /* as given: a file, or a folder if there are several tests; NULL: not wanted */
    char **names;          /* several tests: what each one's file is called, without its suffix */
};

/* Before anything runs: chooses names, makes the folders. False if that fails or there is no `dot` for --svg
 * (it then has said so). */
bool pictures_prepare(struct arena *, const char *command, struct pictures *, const struct inputs *);

/* Writes the pictures of test i. NULL, or in one line why not. *bad: that is a failure, rather than that there is
 * nothing to draw. */
const char *pictures_write(struct arena *, const struct pictures *, size_t i, const struct lm_test *,
                           const struct explained_test *, bool *bad);

#endif
