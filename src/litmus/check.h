/* The checks that need a whole thread or a whole test; each its own file. They run on tests whose names are
 * all resolved. */
#ifndef REMORA_LITMUS_CHECK_H
#define REMORA_LITMUS_CHECK_H

#include "litmus/ast.h"
#include "litmus/source.h"

enum { CHECK_MAX_STATEMENTS = 10000 /* of a thread, repeats unrolled */ };

/* Calls `reg` for every register that an expression reads. */
void check_each_register(const struct lm_expr *, void (*reg)(void *context, const struct lm_expr *),
                         void *context);

/* Locks are acquired only when free of this thread, and released only when held, on every path
 * (check_locks.c). */
void check_locks(struct source *, const struct lm_test *);

/* Spin bodies have no effect that others see, and carry nothing over to the next iteration (check_spin.c). */
void check_spins(struct source *, const struct lm_test *);

#endif
