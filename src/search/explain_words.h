/* What events and orders of the program mean, in words. */
#ifndef REMORA_SEARCH_EXPLAIN_WORDS_H
#define REMORA_SEARCH_EXPLAIN_WORDS_H

#include "model/execution.h"

struct arena;

/* What happens in an event: "the NIC reads its source, x = 1". */
const char *event_words(struct arena *, const struct program *, const struct event *);
/* Two events of one thread, a the earlier: why they stay in this order; why they need not. */
/* … and two of one operation, which are no program order. */
const char *parts_words(const struct event *a, const struct event *b);
const char *kept_words(struct arena *, const struct event *a, const struct event *b);
const char *lost_words(struct arena *arena, const struct event *a, const struct event *b);
/* What would keep them in this order. */
enum remedy { REMEDY_MFENCE, REMEDY_WAIT, REMEDY_RFENCE, REMEDY_GFENCE };
enum remedy lost_remedy(const struct event *a, const struct event *b);
/* What its stamp (event type) is called, and what it stands for: "aNRW_n", "a remote write reaches the memory of node n". */
const char *type_words(struct arena *, const struct event *);
const char *type_meaning(const struct event *);

#endif
