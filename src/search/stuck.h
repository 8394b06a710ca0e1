/* Can a run of this test get stuck? A syntactic answer that errs only towards "yes". */
#ifndef REMORA_SEARCH_STUCK_H
#define REMORA_SEARCH_STUCK_H

#include "litmus/ast.h"

bool test_can_get_stuck(const struct lm_test *);

#endif
