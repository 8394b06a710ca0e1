/* From the syntax tree of a litmus test to flat code (code.h). */
#include "run/code.h"

#include "base/arena.h"
#include "search/ir.h"

#include <remora/wait.h>

#include <stdlib.h>
#include <string.h>

struct compiler {
    struct arena *arena;
    const struct lm_test *test;
    struct test_code *out;
    struct thread_code *thread;
    const struct lm_thread *source;
    const char *why;
};

/* ---- Registers ---- */

static uint16_t new_register(struct compiler *c, uint64_t value)
{
    struct thread_code *t = c->thread;
    if (t->n_regs == CODE_MAX_REGS) {
        c->why = "a thread with more than 4,096 registers and constants";
        return 0;
    }
    if (t->n_regs == t->reg_capacity) {
        uint32_t capacity = t->reg_capacity ? 2 * t->reg_capacity : 32;
        uint64_t *regs = ARENA_ARRAY(c->arena, uint64_t, capacity);
        if (t->n_regs)
            memcpy(regs, t->regs, t->n_regs * sizeof *regs);
        t->regs = regs;
        t->reg_capacity = capacity;
    }
    t->regs[t->n_regs] = value;
    return (uint16_t)t->n_regs++;
}

static struct instruction *emit(struct compiler *c, enum code_kind kind)
{
    struct thread_code *t = c->thread;
    if (t->n_code == t->capacity) {
        uint32_t capacity = t->capacity ? 2 * t->capacity : 32;
        struct instruction *code = ARENA_ARRAY(c->arena, struct instruction, capacity);
        if (t->n_code)
            memcpy(code, t->code, t->n_code * sizeof *code);
        t->code = code;
        t->capacity = capacity;
    }
    struct instruction *i = &t->code[t->n_code++];
    *i = (struct instruction){.kind = (uint16_t)kind};
    return i;
}

static bool is_closed(const struct lm_expr *e)
{
    return e->kind == LM_INT || (e->kind != LM_REG && is_closed(e->a) && (!e->b || is_closed(e->b)));
}

/* The register that holds the expression's value: all expressions are free of effects, so that both sides of
 * && and || may be computed. */
static uint16_t value_of(struct compiler *c, const struct lm_expr *e)
{
    if (!e)
        return 0;
    if (is_closed(e))
        return new_register(c, ir_evaluate(e, NULL));
    if (e->kind == LM_REG)
        return (uint16_t)e->reg;
    uint16_t a = value_of(c, e->a), b = e->kind == LM_BINARY ? value_of(c, e->b) : 0;
    uint16_t dst = new_register(c, 0);
    struct instruction *i = emit(c, e->kind == LM_UNARY ? CODE_UNARY : CODE_BINARY);
    i->alu = (uint16_t)e->op;
    i->dst = dst;
    i->a = a;
    i->b = b;
    return dst;
}

/* Where a result goes that nobody wants. */
static uint16_t result_register(struct compiler *c, uint32_t reg)
{
    return reg == LM_NO_REG ? new_register(c, 0) : (uint16_t)reg;
}

/* ---- Statements ---- */

/* Work ids of wait and of sv are two name spaces, and behind them comes one that nothing waits for. */
static uint16_t work_of(const struct compiler *c, uint32_t wid, bool sv)
{
    if (wid == LM_NO_WID)
        return (uint16_t)(c->source->n_wids + c->source->n_svwids);
    return (uint16_t)(sv ? c->source->n_wids + wid : wid);
}

static uint32_t offset_of(const struct compiler *c, const struct lm_decl *decl)
{
    return decl ? c->out->places[decl->index] : 0;
}

/* An instruction with the statement's values, result and local location. */
static struct instruction *emit_access(struct compiler *c, enum code_kind kind, const struct lm_stmt *s,
                                       const struct lm_decl *local, const struct lm_expr *first,
                                       const struct lm_expr *second)
{
    uint16_t a = value_of(c, first), b = value_of(c, second);
    uint16_t dst = result_register(c, s->reg);
    struct instruction *i = emit(c, kind);
    i->a = a;
    i->b = b;
    i->dst = dst;
    i->local = offset_of(c, local);
    return i;
}

static void compile_remote(struct compiler *c, enum code_kind kind, const struct lm_stmt *s)
{
    bool swaps = kind == CODE_RCAS;
    struct instruction *i = emit_access(c, kind, s, s->local, swaps ? s->e : s->v, swaps ? s->v : NULL);
    i->remote = offset_of(c, s->decl);
    i->node = s->decl->node;
    i->work = work_of(c, s->wid, false);
}

static void compile_object(struct compiler *c, enum code_kind kind, const struct lm_stmt *s)
{
    bool swaps = kind == CODE_SC_CAS;
    const struct lm_expr *first = swaps ? s->e : s->v ? s->v : s->e;
    emit_access(c, kind, s, NULL, first, swaps ? s->v : NULL)->object = c->out->places[s->decl->index];
}

static void compile_block(struct compiler *c, const struct lm_stmt *s);

static void compile_if(struct compiler *c, const struct lm_stmt *s)
{
    uint16_t condition = value_of(c, s->e);
    uint32_t branch = c->thread->n_code, leave;
    emit(c, CODE_BRANCH)->a = condition;
    compile_block(c, s->body);
    leave = c->thread->n_code;
    if (s->other)
        emit(c, CODE_GOTO);
    c->thread->code[branch].target = c->thread->n_code;
    if (s->other) {
        compile_block(c, s->other);
        c->thread->code[leave].target = c->thread->n_code;
    }
}

static void compile_do(struct compiler *c, const struct lm_stmt *s)
{
    uint32_t head = c->thread->n_code;
    compile_block(c, s->body);
    uint16_t condition = value_of(c, s->e);
    struct instruction *i = emit(c, CODE_UNTIL);
    i->a = condition;
    i->target = head;
}

static void compile_set(struct compiler *c, enum code_kind kind, const struct lm_stmt *s)
{
    uint64_t all = c->test->nodes == 64 ? UINT64_MAX : (UINT64_C(1) << c->test->nodes) - 1;
    struct instruction *i = emit(c, kind);
    i->nodes = s->all_nodes ? all : s->nodes;
    i->local = offset_of(c, s->decl);
    i->work = work_of(c, s->wid, true);
}

static void compile_node(struct compiler *c, enum code_kind kind, const struct lm_stmt *s)
{
    emit(c, kind)->node = s->node;
}

static void compile_wait(struct compiler *c, const struct lm_stmt *s)
{
    emit(c, CODE_WAIT)->work = work_of(c, s->wid, s->kind == LM_SVWAIT);
}

static void compile_stmt(struct compiler *c, const struct lm_stmt *s)
{
    bool sv = s->decl && s->decl->kind == LM_SHARED;
    switch (s->kind) {
    case LM_ASSIGN:
        emit_access(c, CODE_MOVE, s, NULL, s->e, NULL);
        break;
    case LM_LOAD:
        emit_access(c, sv ? CODE_SV_READ : CODE_LOAD, s, s->decl, NULL, NULL);
        break;
    case LM_STORE:
        emit_access(c, sv ? CODE_SV_WRITE : CODE_STORE, s, s->decl, s->e, NULL);
        break;
    case LM_CAS:
        emit_access(c, CODE_CAS, s, s->decl, s->e, s->v);
        break;
    case LM_FAA:
        emit_access(c, CODE_FAA, s, s->decl, s->v, NULL);
        break;
    case LM_XCHG:
        emit_access(c, CODE_XCHG, s, s->decl, s->v, NULL);
        break;
    case LM_MFENCE:
        emit(c, CODE_MFENCE);
        break;
    case LM_PUT:
        compile_remote(c, s->local ? CODE_PUT : CODE_PUT_VALUE, s);
        break;
    case LM_GET:
        compile_remote(c, CODE_GET, s);
        break;
    case LM_RCAS:
        compile_remote(c, CODE_RCAS, s);
        break;
    case LM_RFAA:
        compile_remote(c, CODE_RFAA, s);
        break;
    case LM_RFENCE:
        compile_node(c, CODE_RFENCE, s);
        break;
    case LM_POLL:
        compile_node(c, CODE_POLL, s);
        break;
    case LM_WAIT:
    case LM_SVWAIT:
        compile_wait(c, s);
        break;
    case LM_BCAST:
        compile_set(c, CODE_BCAST, s);
        break;
    case LM_GFENCE:
        compile_set(c, CODE_GFENCE, s);
        break;
    case LM_ACQUIRE:
        compile_object(c, CODE_ACQUIRE, s);
        break;
    case LM_RELEASE:
        compile_object(c, CODE_RELEASE, s);
        break;
    case LM_SC_READ:
        compile_object(c, CODE_SC_READ, s);
        break;
    case LM_SC_WRITE:
        compile_object(c, CODE_SC_WRITE, s);
        break;
    case LM_SC_CAS:
        compile_object(c, CODE_SC_CAS, s);
        break;
    case LM_SC_FAA:
        compile_object(c, CODE_SC_FAA, s);
        break;
    case LM_IF:
        compile_if(c, s);
        break;
    case LM_ASSUME:
        emit_access(c, CODE_ASSUME, s, NULL, s->e, NULL);
        break;
    case LM_AWAIT:
        emit_access(c, CODE_AWAIT, s, s->decl, s->e, NULL)->alu = (uint16_t)s->cmp;
        break;
    case LM_DO:
        compile_do(c, s);
        break;
    case LM_REPEAT:
        for (uint64_t i = 0; i < s->count && !c->why; i++)
            compile_block(c, s->body);
        break;
    }
}

static void compile_block(struct compiler *c, const struct lm_stmt *s)
{
    for (; s && !c->why; s = s->next)
        compile_stmt(c, s);
}

static void compile_thread(struct compiler *c, unsigned t)
{
    c->thread = &c->out->threads[t];
    c->source = &c->test->threads[t];
    c->thread->node = c->source->node;
    c->thread->works = c->source->n_wids + c->source->n_svwids + 1;
    if (c->thread->works > REM_WORK_IDS)
        c->why = "a thread with more than 59 work ids";
    for (unsigned r = 0; r < c->source->n_regs && !c->why; r++)
        new_register(c, c->source->reg_init ? c->source->reg_init[r] : 0);
    if (c->why)
        return;
    compile_block(c, c->source->body);
    emit(c, CODE_END);
}

/* Locations and copies of shared variables share an instance's memory; locks and sc locations are objects of
 * the library. */
static void number_declarations(struct compiler *c)
{
    struct test_code *out = c->out;
    unsigned n = c->test->n_decls;
    out->places = ARENA_ARRAY(c->arena, uint32_t, n);
    out->words = ARENA_ARRAY(c->arena, const struct lm_decl *, n);
    out->locks = ARENA_ARRAY(c->arena, const struct lm_decl *, n);
    out->scs = ARENA_ARRAY(c->arena, const struct lm_decl *, n);
    for (unsigned i = 0; i < n; i++) {
        const struct lm_decl *decl = c->test->decls[i];
        if (decl->kind == LM_LOC || decl->kind == LM_SHARED) {
            out->places[i] = WORD_STEP * out->n_words;
            out->words[out->n_words++] = decl;
        } else if (decl->kind == LM_SC) {
            out->places[i] = out->n_scs;
            out->scs[out->n_scs++] = decl;
        } else {
            out->places[i] = out->n_locks;
            out->locks[out->n_locks++] = decl;
        }
    }
    if (out->n_locks > CODE_MAX_LOCKS)
        c->why = "more than 64 locks";
}

struct test_code *code_compile(struct arena *arena, const struct lm_test *test, const char **why)
{
    struct test_code *out = ARENA_NEW(arena, struct test_code);
    struct compiler c = {.arena = arena, .test = test, .out = out};
    out->test = test;
    out->tso = test->arch == LM_RDMA_TSO;
    out->threads = ARENA_ARRAY(arena, struct thread_code, test->n_threads);
    number_declarations(&c);
    for (unsigned t = 0; t < test->n_threads && !c.why; t++)
        compile_thread(&c, t);
    *why = c.why;
    return c.why ? NULL : out;
}
