/* The run that `remora check --trace` shows. */
#ifndef REMORA_CLI_TRACED_H
#define REMORA_CLI_TRACED_H

#include "cli/explained.h"
#include "search/run.h"

struct traced {
    const struct run *run; /* NULL: there is none, see why_none */
    const struct program *program;
    const char *outcome; /* like explained_test.outcome */
    const char *why_none;
};

/* A run with an outcome that the test's question is about; the explained one if there is a run with it. */
struct traced trace_test(struct arena *, const struct lm_test *, const struct verdict *,
                         const struct judge_options *, const struct explained_test *);
/* A run that gets stuck. */
struct traced trace_stuck(struct arena *, const struct lm_test *, const struct judge_options *);

#endif
