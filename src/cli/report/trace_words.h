/* The words of a run's report (trace.c). */
#ifndef REMORA_CLI_REPORT_TRACE_WORDS_H
#define REMORA_CLI_REPORT_TRACE_WORDS_H

#include "search/run.h"

#include <stdio.h>

struct arena;

/* Ahead of the run: how its lines are laid out, and the words that occur in it. full: whole states are shown. */
void trace_reading(FILE *, struct arena *, const struct run *, bool full);
/* Who does what; of a network card's step the rule, too. */
void trace_step(FILE *, struct arena *, unsigned number, const struct run_step *, const struct program *);
/* Behind it: what took effect out of program order; of a stuck run, who waits for what. */
void trace_ending(FILE *, struct arena *, const struct run *, const struct program *);

#endif
