/* The condition and the `locations` list: atoms to registers, locations and copies; wide conjunctions and
 * disjunctions to balanced binary trees, so that a condition with n parts is only log n deep. */
#include "litmus/resolve.h"

#include "base/arena.h"

static bool resolve_register(struct resolver *r, const struct raw_atom *raw, struct lm_atom *atom)
{
    if (raw->thread.value >= r->test->n_threads) {
        const char *hint = RESOLVE_PRINTF(r, "the last thread is P%u", r->test->n_threads - 1);
        source_error(r->source, raw->thread.pos, hint, "there is no thread %llu",
                     (unsigned long long)raw->thread.value);
        return false;
    }
    unsigned thread = (unsigned)raw->thread.value;
    const struct lm_decl *decl = resolve_find(r, raw->name.text);
    if (decl) {
        const char *hint = RESOLVE_PRINTF(r, decl->kind == LM_SHARED ? "write %s@%llu" : "write %s",
                                          decl->name, (unsigned long long)r->test->threads[thread].node);
        source_error(r->source, raw->name.pos, hint, "`%s` is %s, not a register", raw->name.text,
                     resolve_kind_name(decl->kind));
        return false;
    }
    atom->is_reg = true;
    atom->thread = thread;
    atom->reg = names_add(&r->threads[thread].regs, r->test->arena, raw->name.text);
    return true;
}

static bool resolve_copy(struct resolver *r, const struct raw_atom *raw, struct lm_atom *atom)
{
    const struct lm_decl *decl = atom->decl;
    if (decl->kind == LM_SHARED && !raw->has_copy) {
        const char *hint = RESOLVE_PRINTF(r, "%s@0 is the copy on node 0", decl->name);
        source_error(r->source, raw->name.pos, hint, "`%s` is a shared variable: say which copy", decl->name);
        return false;
    }
    if (decl->kind != LM_SHARED && raw->has_copy) {
        const char *hint = RESOLVE_PRINTF(r, "write %s", decl->name);
        source_error(r->source, raw->name.pos, hint, "`%s` is %s and has no copies", decl->name,
                     resolve_kind_name(decl->kind));
        return false;
    }
    return !raw->has_copy || resolve_node(r, &raw->copy, &atom->node);
}

static bool resolve_atom(struct resolver *r, const struct raw_atom *raw, struct lm_atom *atom)
{
    *atom = (struct lm_atom){.pos = raw->has_thread ? raw->thread.pos : raw->name.pos};
    if (raw->has_thread)
        return resolve_register(r, raw, atom);
    atom->decl = resolve_find(r, raw->name.text);
    if (!atom->decl) {
        const char *hint = RESOLVE_PRINTF(r, "a register is written with its thread: 0:%s", raw->name.text);
        source_error(r->source, raw->name.pos, resolve_hint(r, raw->name.text, hint), "`%s` is not declared",
                     raw->name.text);
        return false;
    }
    if (atom->decl->kind != LM_LOC && atom->decl->kind != LM_SC && atom->decl->kind != LM_SHARED) {
        source_error(r->source, raw->name.pos, NULL, "`%s` is %s: a lock has no value", atom->decl->name,
                     resolve_kind_name(atom->decl->kind));
        return false;
    }
    return resolve_copy(r, raw, atom);
}

static struct lm_cond *resolve_prop(struct resolver *r, const struct raw_cond *raw);

static struct lm_cond *balance(struct resolver *r, enum lm_cond_kind kind, struct lm_cond **parts, size_t n)
{
    if (n == 1)
        return parts[0];
    struct lm_cond *cond = ARENA_NEW(r->test->arena, struct lm_cond);
    cond->kind = kind;
    cond->a = balance(r, kind, parts, (n + 1) / 2);
    cond->b = balance(r, kind, parts + (n + 1) / 2, n / 2);
    return cond;
}

static struct lm_cond *resolve_parts(struct resolver *r, const struct raw_cond *raw)
{
    size_t n = 0;
    for (const struct raw_cond *part = raw->parts; part; part = part->next)
        n++;
    struct lm_cond **parts = ARENA_ARRAY(r->test->arena, struct lm_cond *, n);
    n = 0;
    for (const struct raw_cond *part = raw->parts; part; part = part->next)
        parts[n++] = resolve_prop(r, part);
    return balance(r, raw->kind, parts, n);
}

static struct lm_cond *resolve_prop(struct resolver *r, const struct raw_cond *raw)
{
    if (raw->kind == LM_C_AND || raw->kind == LM_C_OR)
        return resolve_parts(r, raw);
    struct lm_cond *cond = ARENA_NEW(r->test->arena, struct lm_cond);
    cond->kind = raw->kind;
    cond->value = raw->value;
    if (raw->kind == LM_C_EQ)
        resolve_atom(r, raw->atom, &cond->atom);
    else if (raw->kind == LM_C_NOT)
        cond->a = resolve_prop(r, raw->parts);
    return cond;
}

void resolve_condition(struct resolver *r)
{
    unsigned n = 0;
    for (const struct raw_atom *raw = r->raw->locations; raw; raw = raw->next)
        n++;
    r->test->locations = ARENA_ARRAY(r->test->arena, struct lm_atom, n);
    r->test->n_locations = n;
    n = 0;
    for (const struct raw_atom *raw = r->raw->locations; raw; raw = raw->next)
        resolve_atom(r, raw, &r->test->locations[n++]);
    r->test->quantifier = r->raw->quantifier;
    r->test->cond = resolve_prop(r, r->raw->cond);
}
