/* A run of a C program in words, step by step. */
#ifndef REMORA_VERIFY_RUN_TELL_H
#define REMORA_VERIFY_RUN_TELL_H

#include "verify/c_program.h"
#include "verify/run_search.h"
#include "verify/word_names.h"

#include <stdio.h>

/* What things are called in the program. */
struct run_names {
    const void *context;
    struct c_program *program;
    const char *(*location)(struct arena *, const void *context, unsigned loc);
    /* A word of the library's own in which calls that return a value (rem_get_value, …) get it from the network card. */
    bool (*is_result)(const void *context, unsigned loc);
    /* Of a thread's place at a lock, which only the library's calls use; NULL: these words are to be told like others. */
    enum place_word (*place_word)(const void *context, unsigned loc);
    /* The name of the `number`-th lock that the thread holds there, and its ticket; NULL: it does not hold that many. The
     * function may be NULL: no locks are told of. */
    const char *(*held)(const void *context, unsigned thread, uint32_t point, unsigned number,
                        uint64_t *ticket);
    /* The text of a thread's statement; NULL: none. */
    const char *(*statement)(struct arena *, const void *context, unsigned thread, unsigned number);
    /* The work id of what the thread has posted towards the node between two of its points; -1: not known. May be NULL. */
    int (*work_id)(const void *context, unsigned thread, uint32_t before, uint32_t after, unsigned node);
    /* A user's own code is told with her own lines, the library's with the library's. */
    bool is_users;
};

/* A run that ends in the given way, with as few steps as there are, each with its line of C; if there is one in which no
 * thread's operations overtake each other, that one. Then what is on its way at its end, and what goes wrong in it. The
 * program has been explored. */
void run_tell(FILE *, struct arena *, const struct run_names *, const struct query *,
              const struct run_goal *);

#endif
