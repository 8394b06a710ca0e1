/* What the engines share: what is to be observed, limits, and the set of outcomes. */
#ifndef REMORA_SEARCH_ENGINE_H
#define REMORA_SEARCH_ENGINE_H

#include "model/program.h"

#include <stdatomic.h>
#include <stddef.h>

/* A thing shown in the states: a register of a thread or the final value of a location. */
struct observable {
    bool is_reg;
    unsigned thread, index; /* register of the thread, or location (thread unused) */
};

struct limits {
    uint64_t max_states;            /* states (operational) or executions (declarative); 0: none */
    uint64_t max_memory;            /* bytes; 0: none */
    double deadline;                /* seconds on CLOCK_MONOTONIC; 0: none */
    const atomic_bool *stop;        /* becomes true when the user interrupts; may be NULL */
    unsigned jobs;                  /* threads that one search may use; at least 1 */
    atomic_uint_fast64_t *progress; /* is counted up now and then by the states or executions; may be NULL */
};

enum completion {
    DONE,
    LIMIT_STATES,
    LIMIT_TIME,
    LIMIT_MEMORY,
    INTERRUPTED,
    UNSUPPORTED /* too large for the engine: see why */
};

/* A set of rows of n values. Rows are kept in the order of insertion until outcomes_sort. Not thread-safe. */
struct outcomes;
struct outcomes *outcomes_new(unsigned n);
void outcomes_free(struct outcomes *);
bool outcomes_add(struct outcomes *, const uint64_t *row); /* true if it was new */
bool outcomes_has(const struct outcomes *, const uint64_t *row);
size_t outcomes_count(const struct outcomes *);
size_t outcomes_bytes(const struct outcomes *); /* of memory */
const uint64_t *outcomes_row(const struct outcomes *, size_t i);
void outcomes_sort(struct outcomes *); /* lexicographic */

struct result {
    struct outcomes *states;
    enum completion completion;
    const char *why;     /* UNSUPPORTED: one line */
    uint64_t explored;   /* states stored (operational), partial executions visited (declarative) */
    uint64_t executions; /* declarative: complete executions built, at least one an outcome */
    uint64_t stuck;      /* distinct stuck ends, as far as the observables tell them apart */
    bool stuck_known;    /* false if this engine does not look for them */
    uint64_t bytes;      /* memory of the visited set */
};

/* What an engine is asked: all outcomes of `program` in terms of these observables. */
struct query {
    const struct program *program;
    const struct observable *observables;
    unsigned n_observables;
    struct limits limits;
};

/* A program together with its observables, at one of two levels, made from a litmus test (search/compile.c).
 * The observables of both levels stand in the same order. */
struct lm_test;
struct arena;
enum level { LEVEL_CLIENT, LEVEL_TSO };
struct compiled {
    struct program *program; /* NULL if the test is too large: see why */
    const char *why;
    struct observable *observables;
    unsigned n_observables;
};
/* all_state: observe every register and location rather than those of the condition and the `locations` list.
 */
struct compiled compile_test(struct arena *, const struct lm_test *, enum level, bool all_state);
/* The atoms behind the observables, in their order. */
struct lm_atom;
unsigned observed_atoms(struct arena *, const struct lm_test *, bool all_state, struct lm_atom **atoms);

/* Section 2 (and the implementations of sections 5 to 8). program: LEVEL_TSO. */
struct operational_options {
    bool no_reduction; /* explore every interleaving */
};
struct result explore_operational(const struct query *, const struct operational_options *);

/* Sections 3 and 4 to 8. program: LEVEL_CLIENT. */
struct result explore_declarative(const struct query *);

#endif
