/* How a run ends, in words: where each thread stands, which locks it holds, what is still on its way. */
#ifndef REMORA_VERIFY_RUN_END_H
#define REMORA_VERIFY_RUN_END_H

#include "verify/run_words.h"

#include <stdio.h>

/* What the run lacks, if it is stuck: "What is missing is, for P1, a write to flag@1 after step 3."; else NULL. */
const char *run_end(FILE *, const struct run_words *, const struct run_goal *);

#endif
