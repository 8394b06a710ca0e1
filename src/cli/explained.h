/* What `remora check` explains of a test: an outcome that its question is about, and why the model allows or
 * forbids it. */
#ifndef REMORA_CLI_EXPLAINED_H
#define REMORA_CLI_EXPLAINED_H

#include "search/explain.h"
#include "search/judge.h"

struct explained_test {
    struct explanation explanation;
    const uint64_t *row; /* the outcome, in the columns of the verdict; NULL: there is no single one */
    const char *outcome; /* `0:r0=0; x=1;`, or the condition if there is no single one */
    const char *verdict; /* in a few words */
    const char *note;    /* a sentence on it, in parentheses; or NULL */
    const char *fault;   /* the explanation does not stand up to its check: why (an internal error) */
};

/* exists, ~exists: an outcome that fulfils the proposition; forall: one that does not; else any. */
struct explained_test explain_test(struct arena *, const struct lm_test *, const struct verdict *,
                                   const struct judge_options *);

/* A row of the verdict's states, in one line: `0:r0=0; x=1;`. */
const char *outcome_text(struct arena *, const struct lm_test *, const struct verdict *, const uint64_t *row);

#endif
