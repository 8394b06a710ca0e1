/* What is to blame for the way in which a run ends, in words. */
#ifndef REMORA_VERIFY_RUN_BLAME_H
#define REMORA_VERIFY_RUN_BLAME_H

#include "verify/run_words.h"

#include <stdio.h>

/* The orders of the program that are not kept in the run; or a write that comes between the halves of a remote atomic; or
 * that it is neither. */
void run_blame(FILE *, const struct run_words *);

#endif
