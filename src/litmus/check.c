/* Limits, and the warnings of remora-litmus(5): registers that are never written, waits for nothing,
 * unused declarations. The checks of locks and of spin loops are in files of their own. */
#include "litmus/check.h"

#include "base/arena.h"
#include "litmus/names.h"
#include "litmus/raw.h"

#include <stdlib.h>

void check_each_register(const struct lm_expr *expr, void (*reg)(void *, const struct lm_expr *),
                         void *context)
{
    if (!expr)
        return;
    if (expr->kind == LM_REG)
        reg(context, expr);
    check_each_register(expr->a, reg, context);
    check_each_register(expr->b, reg, context);
}

/* Statements of a block after unrolling, or something above the limit. A round of a repeat is at least one,
 * so that repeats of nothing, nested within each other, are bounded too. */
static uint64_t count_statements(const struct lm_stmt *block)
{
    uint64_t n = 0;
    for (const struct lm_stmt *s = block; s && n <= CHECK_MAX_STATEMENTS; s = s->next) {
        uint64_t inner = count_statements(s->body) + count_statements(s->other);
        if (s->kind != LM_REPEAT)
            n += 1 + inner;
        else if (s->count > CHECK_MAX_STATEMENTS / (inner + !inner))
            n += CHECK_MAX_STATEMENTS + 1;
        else
            n += s->count * (inner + !inner);
    }
    return n;
}

static bool check_size(struct source *source, const struct lm_test *test)
{
    bool ok = true;
    for (unsigned t = 0; t < test->n_threads; t++) {
        if (count_statements(test->threads[t].body) <= CHECK_MAX_STATEMENTS)
            continue;
        source_error(source, test->threads[t].pos, NULL,
                     "P%u has more than %d statements (those of a repeat count once for each round)", t,
                     CHECK_MAX_STATEMENTS);
        ok = false;
    }
    return ok;
}

/* What becomes of each register and work id of one thread. */
struct uses {
    struct lm_pos *read; /* where a register is first read; line 0: nowhere */
    bool *written;
    bool *carried, *sv_carried; /* work ids */
    bool *declared;             /* declarations that are mentioned, of the whole test */
};

static void note_read(void *context, const struct lm_expr *expr)
{
    struct uses *uses = context;
    if (!uses->read[expr->reg].line)
        uses->read[expr->reg] = expr->pos;
}

static void note_block(struct uses *uses, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        check_each_register(s->e, note_read, uses);
        check_each_register(s->v, note_read, uses);
        if (s->reg != LM_NO_REG)
            uses->written[s->reg] = true;
        if (s->decl)
            uses->declared[s->decl->index] = true;
        if (s->local)
            uses->declared[s->local->index] = true;
        if (s->wid != LM_NO_WID && s->kind == LM_BCAST)
            uses->sv_carried[s->wid] = true;
        else if (s->wid != LM_NO_WID && s->kind != LM_WAIT && s->kind != LM_SVWAIT)
            uses->carried[s->wid] = true;
        note_block(uses, s->body);
        note_block(uses, s->other);
    }
}

static const char *register_hint(struct source *source, const struct lm_test *test,
                                 const struct lm_thread *thread, const struct uses *uses, const char *name)
{
    if (!source_has_room(source, LM_WARNING))
        return NULL;
    struct guess guess = guess_start(name);
    for (unsigned i = 0; i < test->n_decls; i++)
        guess_consider(&guess, test->decls[i]->name);
    for (unsigned reg = 0; reg < thread->n_regs; reg++)
        if (uses->written[reg])
            guess_consider(&guess, thread->regs[reg]);
    return guess_hint(&guess, source->arena);
}

static void warn_waits(struct source *source, const struct lm_thread *thread, const struct uses *uses,
                       const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        if (s->kind == LM_WAIT && !uses->carried[s->wid])
            source_warning(source, s->pos, NULL, "no operation of this thread has the work id `%s`",
                           thread->wids[s->wid]);
        if (s->kind == LM_SVWAIT && !uses->sv_carried[s->wid])
            source_warning(source, s->pos, NULL, "no bcast of this thread has the work id `%s`",
                           thread->svwids[s->wid]);
        warn_waits(source, thread, uses, s->body);
        warn_waits(source, thread, uses, s->other);
    }
}

static void warn_registers(struct source *source, const struct lm_test *test, const struct lm_thread *thread,
                           const struct uses *uses)
{
    for (unsigned reg = 0; reg < thread->n_regs; reg++)
        if (uses->read[reg].line && !uses->written[reg])
            source_warning(source, uses->read[reg],
                           register_hint(source, test, thread, uses, thread->regs[reg]),
                           "register `%s` is read but never written: it is 0", thread->regs[reg]);
}

static void warn_condition_register(struct source *source, const struct lm_test *test,
                                    const struct uses *uses, const struct lm_atom *atom)
{
    const struct lm_thread *thread = &test->threads[atom->thread];
    if (uses[atom->thread].written[atom->reg])
        return;
    const char *name = thread->regs[atom->reg];
    source_warning(source, atom->pos, register_hint(source, test, thread, &uses[atom->thread], name),
                   "register `%u:%s` is never written: it is 0", atom->thread, name);
}

static void note_atom(struct source *source, const struct lm_test *test, const struct uses *uses,
                      const struct lm_atom *atom)
{
    if (atom->is_reg)
        warn_condition_register(source, test, uses, atom);
    else
        uses[0].declared[atom->decl->index] = true;
}

static void note_condition(struct source *source, const struct lm_test *test, const struct uses *uses,
                           const struct lm_cond *cond)
{
    if (!cond)
        return;
    if (cond->kind == LM_C_EQ)
        note_atom(source, test, uses, &cond->atom);
    note_condition(source, test, uses, cond->a);
    note_condition(source, test, uses, cond->b);
}

static void warn_unused(struct source *source, const struct lm_test *test, const bool *declared)
{
    static const char *const kinds[] = {
        [LM_LOC] = "location", [LM_SHARED] = "shared variable", [LM_WLOCK] = "wlock", [LM_SLOCK] = "slock",
        [LM_NLOCK] = "nlock",  [LM_SC] = "sc location",
    };
    for (unsigned i = 0; i < test->n_decls; i++)
        if (!declared[i])
            source_warning(source, test->decls[i]->pos, NULL, "%s `%s` is not used",
                           kinds[test->decls[i]->kind], test->decls[i]->name);
}

static struct uses *note_threads(const struct lm_test *test)
{
    struct uses *uses = ARENA_ARRAY(test->arena, struct uses, test->n_threads);
    bool *declared = ARENA_ARRAY(test->arena, bool, test->n_decls);
    for (unsigned t = 0; t < test->n_threads; t++) {
        const struct lm_thread *thread = &test->threads[t];
        uses[t].read = ARENA_ARRAY(test->arena, struct lm_pos, thread->n_regs);
        uses[t].written = ARENA_ARRAY(test->arena, bool, thread->n_regs);
        uses[t].carried = ARENA_ARRAY(test->arena, bool, thread->n_wids);
        uses[t].sv_carried = ARENA_ARRAY(test->arena, bool, thread->n_svwids);
        uses[t].declared = declared;
        note_block(&uses[t], thread->body);
    }
    return uses;
}

static void warn_all(struct source *source, const struct lm_test *test)
{
    struct uses *uses = note_threads(test);
    for (unsigned t = 0; t < test->n_threads; t++) {
        warn_registers(source, test, &test->threads[t], &uses[t]);
        warn_waits(source, &test->threads[t], &uses[t], test->threads[t].body);
    }
    for (unsigned i = 0; i < test->n_locations; i++)
        note_atom(source, test, uses, &test->locations[i]);
    note_condition(source, test, uses, test->cond);
    warn_unused(source, test, uses[0].declared);
}

void check_test(struct source *source, struct lm_test *test)
{
    if (!check_size(source, test))
        return;
    check_locks(source, test);
    check_spins(source, test);
    if (test->syntax == LM_NATIVE) /* x86 tests declare and initialise what they please */
        warn_all(source, test);
}
