/* A run of a C program in words, step by step. */
#ifndef REMORA_VERIFY_RUN_TELL_H
#define REMORA_VERIFY_RUN_TELL_H

#include "verify/c_program.h"
#include "verify/run_search.h"

#include <stdio.h>

/* What things are called in the program. */
struct run_names {
    const void *context;
    struct c_program *program;
    const char *(*location)(struct arena *, const void *context, unsigned loc);
    /* The text of a thread's statement; NULL: none. */
    const char *(*statement)(struct arena *, const void *context, unsigned thread, unsigned number);
};

/* A shortest run that ends in the given way, each step with its line of C. The program has been explored. */
void run_tell(FILE *, struct arena *, const struct run_names *, const struct query *,
              const struct run_goal *);

#endif
