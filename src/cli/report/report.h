/* How a verdict is written. */
#ifndef REMORA_CLI_REPORT_REPORT_H
#define REMORA_CLI_REPORT_REPORT_H

#include "search/judge.h"

#include <stdio.h>

struct arena;
struct explained_test;
struct traced;

struct report {
    const char *file;
    const struct lm_test *test;
    const struct verdict *verdict;
    bool verbose;
    /* Text behind the last line of a test, each line of it as it stands; NULL for none. */
    const char *explanation;
    /* For JSON; NULL for none. */
    const struct explained_test *explained;
    const struct traced *traced;
};

/* herd7's layout. */
void report_text(FILE *, const struct report *);

/* One object on one line. */
void report_json(FILE *, const struct report *);

/* Never, Sometimes or Always. */
const char *report_observation(const struct verdict *);

/* How many states bear the question out: for ~exists those that don't fulfil the proposition. And the others.
 */
void report_witnesses(const struct report *, uint64_t *positive, uint64_t *negative);

/* Pieces for readers of herd's logs. A column's name: 0:r0, x, s[1]. The condition, with signed numbers. */
struct lm_atom;
char *report_column(struct arena *, const struct lm_test *, const struct lm_atom *);
void report_condition(FILE *, struct arena *, const struct lm_test *);
/* Allowed, Forbidden or Required. */
const char *report_kind(const struct lm_test *);

#endif
