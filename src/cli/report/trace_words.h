/* The words of a run's report (trace.c). */
#ifndef REMORA_CLI_REPORT_TRACE_WORDS_H
#define REMORA_CLI_REPORT_TRACE_WORDS_H

#include "search/run.h"

#include <stdio.h>

struct arena;

/* Of a run that is stuck. */
struct waiting {
    const char *places;           /* "P0 waits at acquire(m) (P1 holds m), P1 at poll(1)" */
    const char *threads;          /* "P0 or P1" */
    unsigned n;                   /* how many */
    bool value, completion, lock; /* what is waited for */
    bool deadlock;                /* threads wait for each other's locks */
};

struct waiting trace_waiting(struct arena *, const struct run *, const struct program *);

/* Ahead of the run: how its lines are laid out, and the words that occur in it. full: whole states are shown. */
void trace_reading(FILE *, struct arena *, const struct run *, bool full);
/* Who does what; of a network card's step the rule, too. */
void trace_step(FILE *, struct arena *, unsigned number, const struct run_step *, const struct program *);
/* Behind it: what took effect out of program order; of a stuck run, who waits for what. */
void trace_ending(FILE *, struct arena *, const struct run *, const struct program *);

#endif
