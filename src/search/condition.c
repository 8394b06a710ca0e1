/* Evaluation of a test's proposition (remora-litmus(5), CONDITION) over rows of outcomes. The tree is
 * copied once with atoms replaced by column numbers, so that hundreds of thousands of rows cost no look-ups.
 */
#include "search/condition.h"

#include "base/arena.h"

#include <stdlib.h>

struct condition {
    enum lm_cond_kind kind;
    unsigned column; /* LM_C_EQ */
    uint64_t value;
    const struct condition *a, *b;
};

bool same_atom(const struct lm_atom *a, const struct lm_atom *b)
{
    if (a->is_reg || b->is_reg)
        return a->is_reg && b->is_reg && a->thread == b->thread && a->reg == b->reg;
    return a->decl == b->decl && (a->decl->kind != LM_SHARED || a->node == b->node);
}

static unsigned column_of(const struct lm_atom *atom, const struct lm_atom *columns, unsigned n_columns)
{
    for (unsigned i = 0; i < n_columns; i++)
        if (same_atom(atom, &columns[i]))
            return i;
    abort(); /* observed_atoms names every atom of the condition */
}

struct condition *condition_prepare(struct arena *arena, const struct lm_cond *cond,
                                    const struct lm_atom *columns, unsigned n_columns)
{
    if (!cond)
        return NULL;
    struct condition *copy = ARENA_NEW(arena, struct condition);
    copy->kind = cond->kind;
    copy->value = cond->value;
    if (cond->kind == LM_C_EQ)
        copy->column = column_of(&cond->atom, columns, n_columns);
    if (cond->kind == LM_C_AND || cond->kind == LM_C_OR || cond->kind == LM_C_NOT)
        copy->a = condition_prepare(arena, cond->a, columns, n_columns);
    if (cond->kind == LM_C_AND || cond->kind == LM_C_OR)
        copy->b = condition_prepare(arena, cond->b, columns, n_columns);
    return copy;
}

bool condition_holds(const struct condition *cond, const uint64_t *row)
{
    if (!cond)
        return true;
    switch (cond->kind) {
    case LM_C_TRUE:
        return true;
    case LM_C_FALSE:
        return false;
    case LM_C_EQ:
        return row[cond->column] == cond->value;
    case LM_C_AND:
        return condition_holds(cond->a, row) && condition_holds(cond->b, row);
    case LM_C_OR:
        return condition_holds(cond->a, row) || condition_holds(cond->b, row);
    case LM_C_NOT:
        return !condition_holds(cond->a, row);
    }
    abort();
}
