/* What is unusual about an allowed outcome: orders of the program that it shows not to be kept. */
#ifndef REMORA_SEARCH_REORDERING_H
#define REMORA_SEARCH_REORDERING_H

#include "search/explain.h"

struct reordering {
    /* A cycle that the outcome would have if all of program order were kept; steps of program order that is not
     * are `lost`. Shortest with the fewest of these. Empty: the outcome comes about in program order too. */
    struct cycle_step *cycle;
    bool *lost; /* by step */
    unsigned n_cycle;
    bool too_many; /* events: the cycle was not looked for */
    /* The outcome comes about in program order, but not if each statement is one step: others come between its parts. */
    bool interrupted;
    /* All events, in an order that happens-before allows and that follows program order where it can; statement by statement if
     * the outcome comes about so. */
    unsigned *sequence;
};

enum { REORDERING_MOST_EVENTS = 256 };

/* Of an allowed explanation. */
struct reordering find_reordering(struct arena *, const struct explanation *);
/* The cycle alone; needs no more than events and edges. */
struct reordering find_lost_order(struct arena *, const struct explanation *);

#endif
