/* The proposition of a test, made ready to be evaluated over rows of outcomes. */
#ifndef REMORA_SEARCH_CONDITION_H
#define REMORA_SEARCH_CONDITION_H

#include "litmus/ast.h"

struct arena;
struct condition;

/* Atoms are looked up among the columns once, here. Every atom of the proposition must be one of the columns.
 */
struct condition *condition_prepare(struct arena *, const struct lm_cond *, const struct lm_atom *columns,
                                    unsigned n_columns);
bool condition_holds(const struct condition *, const uint64_t *row);

/* Two atoms that denote the same register or the same (copy of a) location. */
bool same_atom(const struct lm_atom *, const struct lm_atom *);

#endif
