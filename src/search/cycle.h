/* The cycle that makes a candidate execution inconsistent. */
#ifndef REMORA_SEARCH_CYCLE_H
#define REMORA_SEARCH_CYCLE_H

#include "search/explain.h"

/* Fills cycle, n_cycle and cycle_of_issue_order from the first refused edge and what had come before it.
 * False: there is none. */
bool find_cycle(struct arena *, struct explanation *);

#endif
