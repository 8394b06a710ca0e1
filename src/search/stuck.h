/* What tests can be seen to do with their runs before any is tried. */
#ifndef REMORA_SEARCH_STUCK_H
#define REMORA_SEARCH_STUCK_H

#include "litmus/ast.h"

/* Can a run get stuck? Errs only towards "yes". */
bool test_can_get_stuck(const struct lm_test *);
/* Can a run be dropped, by an assume? */
bool test_can_drop(const struct lm_test *);

#endif
