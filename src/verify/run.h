/* A violation, told step by step. */
#ifndef REMORA_VERIFY_RUN_H
#define REMORA_VERIFY_RUN_H

#include "verify/judge.h"

/* Verifies the client once more and explains what it finds: the client, what went wrong, and a shortest run
 * that leads there, each step with its line of C. *litmus is the client as a litmus test that asks for the
 * outcome in question. */
const char *run_explain(struct arena *, struct lm_test *, const struct verify_options *, const char **litmus);

#endif
