/* Two engines that answer the same question, run in turns so that the faster one of the test at hand decides.
 */
#ifndef REMORA_SEARCH_PORTFOLIO_H
#define REMORA_SEARCH_PORTFOLIO_H

#include "search/engine.h"

enum decider { BY_OPERATIONAL, BY_DECLARATIVE };

/* Only for RDMA_TSO tests, where both engines have the same outcomes. The queries ask for the same
 * observables. */
struct result explore_fastest(const struct query *operational, const struct query *declarative,
                              const struct operational_options *, enum decider *);

#endif
