/* Equality of syntax trees, field by field; positions, the file and its syntax are left out. */
#include "same.h"

#include <string.h>

static bool same_names(const char *const *a, unsigned n, const char *const *b, unsigned m)
{
    if (n != m)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (strcmp(a[i], b[i]))
            return false;
    return true;
}

static bool same_decl(const struct lm_decl *a, const struct lm_decl *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && !strcmp(a->name, b->name) && a->index == b->index && a->node == b->node &&
           a->init == b->init;
}

static bool same_expr(const struct lm_expr *a, const struct lm_expr *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && a->op == b->op && a->value == b->value && a->reg == b->reg &&
           same_expr(a->a, b->a) && same_expr(a->b, b->b);
}

static bool same_block(const struct lm_stmt *a, const struct lm_stmt *b)
{
    for (; a && b; a = a->next, b = b->next) {
        bool same = a->kind == b->kind && a->reg == b->reg && same_decl(a->decl, b->decl) &&
                    same_decl(a->local, b->local) && same_expr(a->e, b->e) && same_expr(a->v, b->v) &&
                    a->cmp == b->cmp && a->wid == b->wid && a->node == b->node && a->nodes == b->nodes &&
                    a->all_nodes == b->all_nodes && a->count == b->count && same_block(a->body, b->body) &&
                    same_block(a->other, b->other);
        if (!same)
            return false;
    }
    return !a && !b;
}

static bool same_thread(const struct lm_thread *a, const struct lm_thread *b)
{
    return a->node == b->node && same_names(a->regs, a->n_regs, b->regs, b->n_regs) &&
           !memcmp(a->reg_init, b->reg_init, a->n_regs * sizeof *a->reg_init) &&
           same_names(a->wids, a->n_wids, b->wids, b->n_wids) &&
           same_names(a->svwids, a->n_svwids, b->svwids, b->n_svwids) && same_block(a->body, b->body);
}

static bool same_atom(const struct lm_atom *a, const struct lm_atom *b)
{
    return a->is_reg == b->is_reg && a->thread == b->thread && a->reg == b->reg &&
           same_decl(a->decl, b->decl) && a->node == b->node;
}

static bool same_cond(const struct lm_cond *a, const struct lm_cond *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && (a->kind != LM_C_EQ || same_atom(&a->atom, &b->atom)) &&
           a->value == b->value && same_cond(a->a, b->a) && same_cond(a->b, b->b);
}

bool same_test(const struct lm_test *a, const struct lm_test *b)
{
    bool same = !strcmp(a->name, b->name) && a->arch == b->arch &&
                same_names(a->docs, a->n_docs, b->docs, b->n_docs) && a->nodes == b->nodes &&
                a->n_decls == b->n_decls && a->n_threads == b->n_threads &&
                a->n_locations == b->n_locations && a->quantifier == b->quantifier &&
                a->has_libraries == b->has_libraries;
    for (unsigned i = 0; same && i < a->n_decls; i++)
        same = same_decl(a->decls[i], b->decls[i]);
    for (unsigned t = 0; same && t < a->n_threads; t++)
        same = same_thread(&a->threads[t], &b->threads[t]);
    for (unsigned i = 0; same && i < a->n_locations; i++)
        same = same_atom(&a->locations[i], &b->locations[i]);
    return same && same_cond(a->cond, b->cond);
}
