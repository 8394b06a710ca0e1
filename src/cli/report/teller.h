/* What the parts of an explanation in words share: why.c (the whole, and the words), why_allowed.c, why_forbidden.c. */
#ifndef REMORA_CLI_REPORT_TELLER_H
#define REMORA_CLI_REPORT_TELLER_H

#include "search/explain.h"

#include <stdio.h>

enum { WHY_WIDTH = 100 };

struct teller {
    FILE *out;
    struct arena *arena;
    const struct explanation *e;
    uint32_t said;                  /* kinds of edges that were named */
    uint64_t events[REL_MAX_WORDS]; /* that were named by their stamps */
};

/* The event's line; it is named by its stamp, which the words then tell. */
const char *tell_event(struct teller *, unsigned event);
/* The reason of a step, below its event; `next` is the event at its end. */
void tell_reason(struct teller *, unsigned indent, const struct cycle_step *, const char *next);

/* The i-th of A, B, …, Z, AA, AB, …: steps of circles, which so are not taken for the numbered ones of a run. */
const char *letter_of_step(struct arena *, unsigned i);

void tell_allowed(struct teller *);
void tell_forbidden(struct teller *);

/* What to put into the program so that b stays behind a, an earlier event of its thread: where, and what it does. */
const char *remedy_words(struct arena *, const struct explanation *, unsigned a, unsigned b);

#endif
