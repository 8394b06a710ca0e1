/* The state of name resolution, shared by resolve.c (declarations and threads), resolve_stmt.c and
 * resolve_cond.c. */
#ifndef REMORA_LITMUS_RESOLVE_H
#define REMORA_LITMUS_RESOLVE_H

#include "litmus/names.h"
#include "litmus/raw.h"

struct thread_names {
    struct names regs, wids, svwids;
};

struct resolver {
    struct source *source;
    const struct raw_test *raw;
    struct lm_test *test;
    struct names decls; /* number: index in test->decls */
    struct thread_names *threads;
    unsigned thread; /* the one whose statements are being resolved */
};

/* The declaration of that name, or NULL. */
struct lm_decl *resolve_find(struct resolver *, const char *name);

/* The nearest name of a declaration as a hint, or `otherwise`. */
const char *resolve_hint(struct resolver *, const char *name, const char *otherwise);

/* "a location", "a shared variable", … */
const char *resolve_kind_name(enum lm_decl_kind);

/* Checks a node number, and widens the test to it if the test doesn't say how many nodes it has. */
bool resolve_node(struct resolver *, const struct raw_integer *, unsigned *node);

struct lm_stmt *resolve_block(struct resolver *, const struct raw_stmt *);
void resolve_condition(struct resolver *);

#define RESOLVE_PRINTF(r, ...) arena_printf((r)->source->arena, __VA_ARGS__)

#endif
