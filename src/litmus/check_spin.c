/* Spin loops (remora-litmus(5), `do … until`): only the iteration that ends a loop is explored. That is
 * sound when an iteration that fails leaves nothing behind, so it is an error if
 *   - the body has an effect that another thread could see;
 *   - a get of the body is not waited (polled) for in the body, or lands in a location that another thread
 *     accesses or that an earlier put of this thread still has to read;
 *   - a poll of the body may take the completion of an operation before the loop;
 *   - a register that the body writes, or the destination of one of its gets, may be read before the
 * iteration has written it, or may be left unwritten by an iteration: its value would come from an earlier
 * one. sc_read is allowed: its lock is held during the call only. */
#include "litmus/check.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* What the statements before a loop may leave unfinished. */
struct past {
    bool *put_from;                 /* by declaration: a put reads it */
    int64_t unpolled[LM_MAX_NODES]; /* operations towards each node, or UNKNOWN */
};
enum { UNKNOWN = -1 };

/* Things that hold a value: the registers of the thread, then the declarations of the test. */
struct spin {
    struct source *source;
    const struct lm_test *test;
    unsigned thread;
    const uint64_t *accessed; /* by declaration: which threads name it */
    const struct past *past;
    size_t n_things;
    bool *changes;        /* by thing: the body writes it */
    unsigned char *fresh; /* by thing: this iteration has surely written it */
    struct pending *gets; /* gets of the body, not yet waited for */
};

struct pending {
    const struct lm_stmt *get;
    struct pending *next;
};

static size_t thing_of(const struct spin *spin, const struct lm_decl *decl)
{
    return spin->test->threads[spin->thread].n_regs + decl->index;
}

static void note_changes(struct spin *spin, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        if (s->reg != LM_NO_REG)
            spin->changes[s->reg] = true;
        if (s->kind == LM_GET)
            spin->changes[thing_of(spin, s->local)] = true;
        note_changes(spin, s->body);
        note_changes(spin, s->other);
    }
}

static void read_register(void *context, const struct lm_expr *expr)
{
    struct spin *spin = context;
    if (spin->changes[expr->reg] && !spin->fresh[expr->reg])
        source_error(spin->source, expr->pos, "repeat (n) { … } runs every iteration",
                     "`%s` may have its value from an earlier iteration of the spin loop",
                     spin->test->threads[spin->thread].regs[expr->reg]);
}

static void read_location(struct spin *spin, const struct lm_stmt *s)
{
    size_t thing = thing_of(spin, s->decl);
    if (spin->changes[thing] && !spin->fresh[thing])
        source_error(spin->source, s->pos, "wait for the get before the location is read",
                     "`%s` may have its value from an earlier iteration of the spin loop", s->decl->name);
}

static void add_get(struct spin *spin, const struct lm_stmt *s)
{
    if (s->wid == LM_NO_WID && spin->test->arch == LM_RDMA_WAIT)
        source_error(spin->source, s->pos, "give it a work id, and wait for that in the body",
                     "a get in a spin loop must be waited for in the loop");
    if (spin->accessed[s->local->index] & ~(UINT64_C(1) << spin->thread))
        source_error(spin->source, s->pos, "get into a location that only this thread uses",
                     "a get in a spin loop writes `%s`, which another thread uses", s->local->name);
    if (spin->past->put_from[s->local->index])
        source_error(spin->source, s->pos, "get into a location of its own",
                     "a get in a spin loop writes `%s`, which an earlier put may still have to read",
                     s->local->name);
    struct pending *pending = xmalloc(sizeof *pending), **end = &spin->gets;
    *pending = (struct pending){.get = s};
    while (*end)
        end = &(*end)->next;
    *end = pending;
    spin->fresh[thing_of(spin, s->local)] = false;
}

static void finish(struct spin *spin, struct pending **at)
{
    struct pending *done = *at;
    *at = done->next;
    spin->fresh[thing_of(spin, done->get->local)] = true;
    free(done);
}

static void finish_wait(struct spin *spin, uint32_t wid)
{
    for (struct pending **at = &spin->gets; *at;) {
        if ((*at)->get->wid == wid)
            finish(spin, at);
        else
            at = &(*at)->next;
    }
}

static void finish_poll(struct spin *spin, const struct lm_stmt *poll)
{
    if (spin->past->unpolled[poll->node])
        source_error(spin->source, poll->pos, "poll for those before the loop",
                     "this poll in a spin loop may be for an operation towards node %u before the loop",
                     poll->node);
    for (struct pending **at = &spin->gets; *at; at = &(*at)->next) {
        if ((*at)->get->decl->node == poll->node) {
            finish(spin, at);
            return;
        }
    }
    source_error(spin->source, poll->pos, "every iteration must poll just what it has issued",
                 "a poll in a spin loop must be for a get of the loop");
}

static void walk(struct spin *spin, const struct lm_stmt *block);

/* Gets may be issued or waited for in a branch only if they are both: what is pending may not depend on the
 * branch. */
static void walk_if(struct spin *spin, const struct lm_stmt *s)
{
    struct pending *before = spin->gets;
    unsigned char *fresh = xmalloc(spin->n_things);
    memcpy(fresh, spin->fresh, spin->n_things);
    const struct lm_stmt *branches[] = {s->body, s->other};
    unsigned char *after[2];
    for (int i = 0; i < 2; i++) {
        spin->gets = NULL;
        after[i] = spin->fresh;
        if (i == 1)
            after[i] = spin->fresh = fresh;
        walk(spin, branches[i]);
        for (; spin->gets; finish(spin, &spin->gets))
            source_error(spin->source, spin->gets->get->pos, "wait for it in the same branch",
                         "a get in a branch in a spin loop must be waited for in that branch");
    }
    spin->gets = before;
    spin->fresh = after[0];
    for (size_t i = 0; i < spin->n_things; i++)
        after[0][i] &= after[1][i];
    free(fresh);
}

static const char *visible_effect(const struct lm_stmt *s)
{
    switch (s->kind) {
    case LM_STORE:
        return "a store";
    case LM_CAS:
        return "cas";
    case LM_FAA:
        return "faa";
    case LM_XCHG:
        return "xchg";
    case LM_PUT:
        return "put";
    case LM_RCAS:
        return "rcas";
    case LM_RFAA:
        return "rfaa";
    case LM_BCAST:
        return "bcast";
    case LM_ACQUIRE:
        return "acquire";
    case LM_RELEASE:
        return "release";
    case LM_SC_WRITE:
        return "sc_write";
    case LM_SC_CAS:
        return "sc_cas";
    case LM_SC_FAA:
        return "sc_faa";
    default:
        return NULL;
    }
}

static void walk_statement(struct spin *spin, const struct lm_stmt *s)
{
    const char *effect = visible_effect(s);
    if (effect)
        source_error(spin->source, s->pos, "a spin loop may only look; repeat (n) { … } runs every iteration",
                     "%s in a spin loop: other threads could see it", effect);
    if (s->kind != LM_DO) {
        check_each_register(s->e, read_register, spin);
        check_each_register(s->v, read_register, spin);
    }
    switch (s->kind) {
    case LM_LOAD:
    case LM_AWAIT:
        read_location(spin, s);
        break;
    case LM_GET:
        add_get(spin, s);
        break;
    case LM_WAIT:
        finish_wait(spin, s->wid);
        break;
    case LM_POLL:
        finish_poll(spin, s);
        break;
    case LM_IF:
        walk_if(spin, s);
        break;
    case LM_DO:
        walk(spin, s->body);
        check_each_register(s->e, read_register, spin);
        break;
    case LM_REPEAT:
        walk(spin, s->body);
        break;
    default:
        break;
    }
    if (s->reg != LM_NO_REG)
        spin->fresh[s->reg] = true;
}

static void walk(struct spin *spin, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next)
        walk_statement(spin, s);
}

/* What an iteration may leave unwritten. */
static void check_left_over(struct spin *spin, const struct lm_stmt *loop)
{
    const struct lm_thread *thread = &spin->test->threads[spin->thread];
    for (; spin->gets; finish(spin, &spin->gets))
        if (spin->gets->get->wid != LM_NO_WID || spin->test->arch == LM_RDMA_TSO)
            source_error(spin->source, spin->gets->get->pos, NULL,
                         "a get in a spin loop must be %s for in the loop",
                         spin->test->arch == LM_RDMA_TSO ? "polled" : "waited");
    for (size_t i = 0; i < spin->n_things; i++) {
        if (!spin->changes[i] || spin->fresh[i])
            continue;
        const char *name = i < thread->n_regs ? thread->regs[i] : spin->test->decls[i - thread->n_regs]->name;
        source_error(spin->source, loop->pos, "write it in every iteration, or outside the loop",
                     "`%s` is written in some iterations of the spin loop only", name);
    }
}

static void check_loop(struct source *source, const struct lm_test *test, unsigned thread,
                       const uint64_t *accessed, const struct past *past, const struct lm_stmt *loop)
{
    struct spin spin = {.source = source, .test = test, .thread = thread, .accessed = accessed, .past = past};
    spin.n_things = (size_t)test->threads[thread].n_regs + test->n_decls;
    spin.changes = xcalloc(spin.n_things, sizeof *spin.changes);
    spin.fresh = xcalloc(spin.n_things, 1);
    note_changes(&spin, loop->body);
    walk(&spin, loop->body);
    check_each_register(loop->e, read_register, &spin);
    check_left_over(&spin, loop);
    free(spin.changes);
    free(spin.fresh);
}

struct checker {
    struct source *source;
    const struct lm_test *test;
    unsigned thread;
    uint64_t *accessed;
};

static void note_past(struct past *past, const struct lm_stmt *s)
{
    if (s->kind == LM_PUT && s->local)
        past->put_from[s->local->index] = true;
    if (s->kind == LM_PUT || s->kind == LM_GET || s->kind == LM_RCAS || s->kind == LM_RFAA)
        past->unpolled[s->decl->node] += past->unpolled[s->decl->node] != UNKNOWN;
    if (s->kind == LM_POLL && past->unpolled[s->node] > 0)
        past->unpolled[s->node]--;
}

static void check_block(const struct checker *checker, struct past *past, const struct lm_stmt *block);

static void check_branches(const struct checker *checker, struct past *past, const struct lm_stmt *s)
{
    struct past other = *past; /* shares put_from, which only grows */
    check_block(checker, past, s->body);
    check_block(checker, &other, s->other);
    for (unsigned node = 0; node < LM_MAX_NODES; node++)
        if (past->unpolled[node] != other.unpolled[node])
            past->unpolled[node] = UNKNOWN;
}

/* Two rounds show whether a round changes what is left unpolled; if so, it is not known how much is after the
 * last. */
static void check_rounds(const struct checker *checker, struct past *past, const struct lm_stmt *s)
{
    check_block(checker, past, s->body);
    if (s->count == 1)
        return;
    struct past first = *past;
    check_block(checker, past, s->body);
    for (unsigned node = 0; node < LM_MAX_NODES; node++)
        if (past->unpolled[node] != first.unpolled[node])
            past->unpolled[node] = UNKNOWN;
}

/* Outermost loops first; a loop within a loop is checked as part of it and by itself. */
static void check_block(const struct checker *checker, struct past *past, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        note_past(past, s);
        if (s->kind == LM_IF)
            check_branches(checker, past, s);
        if (s->kind == LM_REPEAT)
            check_rounds(checker, past, s);
        if (s->kind != LM_DO)
            continue;
        check_loop(checker->source, checker->test, checker->thread, checker->accessed, past, s);
        check_block(checker, past, s->body);
    }
}

static void note_accesses(uint64_t *accessed, unsigned thread, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        if (s->decl)
            accessed[s->decl->index] |= UINT64_C(1) << thread;
        if (s->local)
            accessed[s->local->index] |= UINT64_C(1) << thread;
        note_accesses(accessed, thread, s->body);
        note_accesses(accessed, thread, s->other);
    }
}

void check_spins(struct source *source, const struct lm_test *test)
{
    struct checker checker = {.source = source, .test = test};
    checker.accessed = xcalloc(test->n_decls, sizeof *checker.accessed);
    for (unsigned t = 0; t < test->n_threads; t++)
        note_accesses(checker.accessed, t, test->threads[t].body);
    for (; checker.thread < test->n_threads; checker.thread++) {
        struct past past = {.put_from = xcalloc(test->n_decls, sizeof *past.put_from)};
        check_block(&checker, &past, test->threads[checker.thread].body);
        free(past.put_from);
    }
    free(checker.accessed);
}
