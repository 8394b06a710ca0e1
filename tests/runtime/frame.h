/* What the runtime's test programs share: checks, and threads as nodes. Every program runs in two forms: as the nodes of a
 * launched job, or, with --one-process N as its first arguments, with N nodes in one process (for TSan). */
#ifndef REMORA_TESTS_FRAME_H
#define REMORA_TESTS_FRAME_H

#include <remora/remora.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that must succeed. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        int try_error = (call);                                                                              \
        if (try_error < 0) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, rem_strerror(try_error));          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

/* A call that must return that code. */
#define EXPECT(code, call)                                                                                   \
    do {                                                                                                     \
        int expect_got = (call);                                                                             \
        if (expect_got != (code)) {                                                                          \
            fprintf(stderr, "%s:%d: %s: %s (%d), not %s\n", __FILE__, __LINE__, #call,                       \
                    rem_strerror(expect_got), expect_got, #code);                                            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

typedef void node_main(rem_job *job, int argc, char **argv);

/* Runs `main` as this process's node, or on N threads as N nodes. */
int frame_run(node_main *main, int argc, char **argv);

/* REMORA_TEST_SCALE percent of `count`, at least 1. */
unsigned long frame_scaled(unsigned long count);

/* Runs `body` on `threads` attached threads of the node and joins them. */
typedef void thread_main(rem_job *job, rem_thread *thread, unsigned number, void *argument);
void frame_threads(rem_job *job, unsigned threads, thread_main *body, void *argument);

/* A barrier among the `total` threads that share the word at node 0, by remote atomics. */
void frame_meet(rem_thread *thread, uint64_t *word, unsigned long total);

#endif
