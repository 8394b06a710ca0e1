/* A shortest run of a C program that ends in a given way. */
#ifndef REMORA_VERIFY_RUN_SEARCH_H
#define REMORA_VERIFY_RUN_SEARCH_H

#include "model/machine.h"
#include "search/engine.h"

struct run_goal {
    const struct query *query;
    const uint64_t *row; /* a complete state with this outcome; or: */
    bool stuck;          /* a state that can't go on; or: */
    bool failed;         /* this thread at this point */
    unsigned thread;
    uint32_t point;
    bool orderly; /* only runs in which a thread goes on when all that it has asked for has taken effect */
};

/* The states of the run, from the initial one on, and the steps between them. */
struct run {
    unsigned n; /* states; n - 1 steps */
    uint8_t **states;
    struct step *steps;
};

enum { RUN_MOST_STATES = 3000000 };

/* False if there is none among the first RUN_MOST_STATES states. */
bool run_search(struct arena *, struct machine *, const struct run_goal *, struct run *);

#endif
