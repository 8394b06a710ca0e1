/* Runs of the machine, step by step. */
#ifndef REMORA_CLI_REPORT_TRACE_H
#define REMORA_CLI_REPORT_TRACE_H

#include "search/run.h"

#include <stdio.h>

struct trace_style {
    bool full;  /* the whole state after each step, rather than what changed */
    bool color; /* changes stand out by escape sequences of terminals */
};

void trace_text(FILE *, const struct run *, const struct program *, const struct trace_style *);
/* An array of steps. */
void trace_json(FILE *, const struct run *, const struct program *);

#endif
