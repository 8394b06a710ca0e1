/* Are two tests the same, but for where things stand in the source? */
#ifndef REMORA_TESTS_SAME_H
#define REMORA_TESTS_SAME_H

#include "litmus/ast.h"

#include <stdbool.h>

bool same_test(const struct lm_test *, const struct lm_test *);

#endif
