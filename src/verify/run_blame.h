/* What is to blame for the way in which a run ends, in words. */
#ifndef REMORA_VERIFY_RUN_BLAME_H
#define REMORA_VERIFY_RUN_BLAME_H

#include "verify/run_words.h"

#include <stdio.h>

/* The orders of the program that are not kept in the run, and what would keep them; a write that comes between the halves
 * of a remote atomic; a put or get of several words of which others see a part; or that it is none of these. why_stuck: what
 * run_end says of a run that ends with threads that wait for ever; else NULL. */
void run_blame(FILE *, const struct run_words *, const char *why_stuck);

#endif
