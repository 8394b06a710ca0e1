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
    /* A word of the library's own in which calls that return a value (rem_get_value, …) get it from the network card. */
    bool (*is_result)(const void *context, unsigned loc);
    /* One of a thread's place at a lock, which only the library's calls use; NULL: these are to be told like others. */
    bool (*is_place)(const void *context, unsigned loc);
    /* The text of a thread's statement; NULL: none. */
    const char *(*statement)(struct arena *, const void *context, unsigned thread, unsigned number);
    /* A user's own code is told with her own lines, the library's with the library's. */
    bool is_users;
};

/* A shortest run that ends in the given way, each step with its line of C; if there is one in which no thread's
 * operations overtake each other, that one. Then what is on its way at its end, and what is out of order in it. The
 * program has been explored. */
void run_tell(FILE *, struct arena *, const struct run_names *, const struct query *,
              const struct run_goal *);

#endif
