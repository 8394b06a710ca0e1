/* One run of the machine of section 2, step by step, to show how an outcome comes about (or how a program
 * gets stuck). The run is found by the reduced search, then replayed and checked against the plain rules. */
#ifndef REMORA_SEARCH_RUN_H
#define REMORA_SEARCH_RUN_H

#include "search/engine.h"

struct run_step {
    unsigned rule;    /* 1 to 13: the NIC's rules; RUN_CPU: an operation; RUN_FLUSH: the store buffer's oldest
                         entry goes on */
    unsigned thread;  /* whose CPU, store buffer or queue pair it is */
    unsigned node;    /* NIC rules: the queue pair's target node */
    uint32_t where;   /* the operation behind it, for prog_ops.describe */
    const char *text; /* what it does, in words: "put: reads x = 1" */
    const char *state; /* the whole state after it, one line for each part that is not empty; every line ends
                          with \n */
};
enum { RUN_CPU = 0, RUN_FLUSH = 14 };

struct run {
    const char *start; /* the first state, like run_step.state */
    struct run_step *steps;
    unsigned n_steps;
    bool stuck;
};

/* A run with this row of observables as its outcome, or one that gets stuck if row is NULL. Within the
 * query's limits; NULL if there is none, or none was found. */
const struct run *run_find(struct arena *, const struct query *, const uint64_t *row);

/* "put: local read" and so on: the name that section 2 gives to a rule. */
const char *run_rule_name(unsigned rule);

#endif
