/* Which orders of the program a run does not keep, if that is why it could end as it did. */
#ifndef REMORA_VERIFY_RUN_ORDER_H
#define REMORA_VERIFY_RUN_ORDER_H

#include "search/explain_words.h"
#include "search/reordering.h"
#include "verify/run_story.h"

/* One event of the run: an operation's read, write or result. */
struct run_event {
    uint32_t operation,
        at; /* the step in which it takes effect; behind the end of the run: story.n_steps and more */
};

struct run_order {
    const struct event *events; /* of section 3; their `call` is the operation */
    const struct run_event *of;
    unsigned n_events;
    struct reordering lost; /* cycle, lost, too_many */
};

struct run_order run_order_of(struct arena *, const struct story *);

#endif
