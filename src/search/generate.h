/* Random litmus tests, and their reduction to the smallest one with a given property. */
#ifndef REMORA_SEARCH_GENERATE_H
#define REMORA_SEARCH_GENERATE_H

#include "litmus/ast.h"

struct arena;

struct generate_options {
    enum lm_arch arch;
    unsigned threads, ops, nodes; /* at most so many; at least two threads and two operations a thread */
    bool libraries;               /* RDMA_WAIT: calls of sv, wlock, slock, nlock and sc too */
};

/* A test that depends on the seed and the options only. It observes everything and its condition is `exists
 * (true)`. What is returned was printed and parsed again, so that it is exactly what the printed text says.
 */
struct lm_test *generate_test(struct arena *, const struct generate_options *, uint64_t seed);

/* Prints and parses; NULL if the result is no valid test. With `observe`, everything is put into its
 * `locations` list first. */
struct lm_test *reparse_test(struct arena *, struct lm_test *, bool observe);

/* Looks for a smaller test for which `keeps` is still true, again and again until there is none. */
struct lm_test *shrink_test(struct arena *, struct lm_test *, bool (*keeps)(void *, const struct lm_test *),
                            void *context);

#endif
