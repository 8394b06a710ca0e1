/* Library calls as their implementations, down to RDMA-TSO: sv (section 6), wlock, slock and nlock (section
 * 7), sc (section 8). Waits stay operations: the machine knows work ids (section 5, "Implementation over
 * RDMA-TSO"). */
#include "base/arena.h"
#include "search/compile.h"

/* --- which libraries a test uses, and by whom --- */

static void note_use(struct compiler *c, const struct lm_stmt *s, unsigned t, uint64_t *gfence_nodes,
                     uint64_t *gfence_users)
{
    uint64_t thread = UINT64_C(1) << t;
    if (s->kind == LM_ACQUIRE || s->kind == LM_RELEASE)
        c->lock_words[s->decl->index].users |= thread;
    if (s->kind >= LM_SC_READ && s->kind <= LM_SC_FAA)
        c->sc_words[s->decl->index].lock.users |= thread;
    if (s->kind == LM_GFENCE || (s->kind == LM_RELEASE && s->decl->kind == LM_SLOCK)) {
        *gfence_nodes |= s->kind == LM_GFENCE && !s->all_nodes ? s->nodes : c->all_nodes;
        *gfence_users |= thread;
    }
}

static void note_uses(struct compiler *c, const struct lm_stmt *s, unsigned t, uint64_t *nodes,
                      uint64_t *users)
{
    for (; s; s = s->next) {
        note_use(c, s, t, nodes, users);
        note_uses(c, s->body, t, nodes, users);
        note_uses(c, s->other, t, nodes, users);
    }
}

/* --- places --- */

static uint16_t private_word(struct compiler *c, const char *name, const char *what, unsigned t)
{
    return add_location(c, arena_printf(c->arena, "%s.%s[%u]", name, what, t), c->ir->base.thread_node[t], t,
                        0);
}

static void declare_lock(struct compiler *c, const struct lm_decl *decl, struct lock_words *words, bool weak)
{
    if (!words->users)
        return;
    words->next = add_location(c, arena_printf(c->arena, "%s.next", decl->name), decl->node, UINT16_MAX, 0);
    if (!weak)
        words->serving =
            add_location(c, arena_printf(c->arena, "%s.serving", decl->name), decl->node, UINT16_MAX, 0);
    for (unsigned t = 0; t < c->test->n_threads; t++) {
        if (!(words->users >> t & 1))
            continue;
        words->ticket[t] = private_word(c, decl->name, "t", t);
        for (unsigned n = 0; weak && n < c->test->nodes; n++) {
            uint16_t copy =
                add_location(c, arena_printf(c->arena, "%s.rel[%u]@%u", decl->name, t, n), n, UINT16_MAX, 0);
            if (n == 0)
                words->release[t] = copy;
        }
    }
}

static void declare_sc(struct compiler *c, const struct lm_decl *decl)
{
    struct sc_words *words = &c->sc_words[decl->index];
    declare_lock(c, decl, &words->lock, false);
    for (unsigned t = 0; t < c->test->n_threads; t++)
        if (words->lock.users >> t & 1) {
            words->in[t] = private_word(c, decl->name, "in", t);
            words->out[t] = private_word(c, decl->name, "out", t);
        }
}

void expand_declare(struct compiler *c)
{
    const struct lm_test *test = c->test;
    uint64_t gfence_nodes = 0, gfence_users = 0;
    c->lock_words = ARENA_ARRAY(c->arena, struct lock_words, test->n_decls);
    c->sc_words = ARENA_ARRAY(c->arena, struct sc_words, test->n_decls);
    for (unsigned t = 0; t < test->n_threads; t++)
        note_uses(c, test->threads[t].body, t, &gfence_nodes, &gfence_users);
    for (unsigned i = 0; i < test->n_decls; i++) {
        const struct lm_decl *decl = test->decls[i];
        if (decl->kind == LM_SC)
            declare_sc(c, decl);
        else if (decl->kind != LM_LOC && decl->kind != LM_SHARED)
            declare_lock(c, decl, &c->lock_words[i], decl->kind != LM_NLOCK);
    }
    for (unsigned n = 0; n < test->nodes; n++)
        if (gfence_nodes >> n & 1)
            c->gfence_remote[n] = add_location(c, arena_printf(c->arena, "gfence@%u", n), n, UINT16_MAX, 0);
    for (unsigned t = 0; t < test->n_threads; t++)
        if (gfence_users >> t & 1)
            c->gfence_local[t] = private_word(c, "gfence", "in", t);
}

/* --- expressions over fresh registers --- */

static uint32_t fresh_reg(struct compiler *c)
{
    return c->n_regs++;
}

static struct lm_expr *reg(struct compiler *c, uint32_t r)
{
    struct lm_expr *e = ARENA_NEW(c->arena, struct lm_expr);
    e->kind = LM_REG;
    e->reg = r;
    return e;
}

static struct lm_expr *integer(struct compiler *c, uint64_t value)
{
    struct lm_expr *e = ARENA_NEW(c->arena, struct lm_expr);
    e->kind = LM_INT;
    e->value = value;
    return e;
}

static struct lm_expr *binary(struct compiler *c, enum lm_op op, struct lm_expr *a, struct lm_expr *b)
{
    struct lm_expr *e = ARENA_NEW(c->arena, struct lm_expr);
    e->kind = LM_BINARY;
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

/* --- single operations --- */

static struct ir *remote(struct compiler *c, enum op_kind kind, uint16_t local, uint16_t loc, uint8_t wid)
{
    struct ir *ir = emit_op(c, kind, loc);
    ir->op.local = local;
    ir->op.wid = wid;
    return ir;
}

static void wait_for(struct compiler *c, uint8_t wid)
{
    emit_op(c, OP_WAIT, PROG_NO_LOC)->op.wid = wid;
}

static uint32_t load(struct compiler *c, uint16_t loc)
{
    uint32_t r = fresh_reg(c);
    emit_op(c, OP_LOAD, loc)->dst = r;
    return r;
}

static void store(struct compiler *c, uint16_t loc, struct lm_expr *value)
{
    emit_op(c, OP_STORE, loc)->v = value;
}

/* --- sv --- */

static void broadcast(struct compiler *c, uint16_t copies, uint64_t nodes, uint8_t wid)
{
    unsigned own = c->ir->base.thread_node[c->t];
    for (unsigned n = 0; n < c->test->nodes; n++)
        if (nodes >> n & 1)
            remote(c, OP_PUT, (uint16_t)(copies + own), (uint16_t)(copies + n), wid);
}

static void global_fence(struct compiler *c, uint64_t nodes)
{
    part_of(c, "global fence: a get from each node, then wait");
    for (unsigned n = 0; n < c->test->nodes; n++)
        if (nodes >> n & 1)
            remote(c, OP_GET, c->gfence_local[c->t], c->gfence_remote[n], WID_GFENCE);
    wait_for(c, WID_GFENCE);
}

/* --- locks --- */

static uint32_t take_ticket(struct compiler *c, const struct lock_words *words)
{
    uint16_t ticket = words->ticket[c->t];
    part_of(c, "take a ticket");
    remote(c, OP_RFAA, ticket, words->next, WID_LOCK)->v = integer(c, 1);
    wait_for(c, WID_LOCK);
    return load(c, ticket);
}

static void acquire_weak(struct compiler *c, const struct lock_words *words)
{
    uint32_t v = take_ticket(c, words);
    part_of(c, "until some rel equals the ticket");
    uint16_t *any = ARENA_ARRAY(c->arena, uint16_t, PROG_MAX_THREADS);
    uint16_t n = 0;
    for (unsigned u = 0; u < c->test->n_threads; u++)
        if (words->users >> u & 1)
            any[n++] = (uint16_t)(words->release[u] + c->ir->base.thread_node[c->t]);
    struct ir *ir = emit_op(c, OP_AWAIT, any[0]);
    ir->op.cmp = CMP_EQ;
    ir->op.any = any;
    ir->op.n_any = n;
    ir->v = reg(c, v);
}

static void release_weak(struct compiler *c, const struct lock_words *words)
{
    unsigned own = c->ir->base.thread_node[c->t];
    part_of(c, "rel = ticket + 1, broadcast");
    uint32_t v = load(c, words->ticket[c->t]);
    store(c, (uint16_t)(words->release[c->t] + own), binary(c, LM_ADD, reg(c, v), integer(c, 1)));
    broadcast(c, words->release[c->t], c->all_nodes & ~(UINT64_C(1) << own), PROG_NO_WID);
}

static void acquire_node(struct compiler *c, const struct lock_words *words)
{
    uint16_t ticket = words->ticket[c->t];
    uint32_t v = take_ticket(c, words);
    part_of(c, "until serving equals the ticket");
    emit(c, IR_SPIN)->op.kind = OP_SPIN_BEGIN;
    remote(c, OP_GET, ticket, words->serving, WID_LOCK);
    wait_for(c, WID_LOCK);
    uint32_t served = load(c, ticket);
    struct ir *until = emit(c, IR_UNTIL);
    until->op.kind = OP_SPIN_FAIL;
    until->e = binary(c, LM_EQ, reg(c, served), reg(c, v));
    part_of(c, "t = ticket + 1");
    store(c, ticket, binary(c, LM_ADD, reg(c, v), integer(c, 1)));
}

static void release_node(struct compiler *c, const struct lock_words *words, unsigned node)
{
    part_of(c, "rfence, then put the next ticket into serving");
    emit_op(c, OP_RFENCE, PROG_NO_LOC)->op.node = (uint8_t)node;
    remote(c, OP_PUT, words->ticket[c->t], words->serving, PROG_NO_WID);
}

static void acquire(struct compiler *c, const struct lm_decl *lock)
{
    const struct lock_words *words = &c->lock_words[lock->index];
    if (lock->kind == LM_NLOCK)
        acquire_node(c, words);
    else
        acquire_weak(c, words);
}

static void release(struct compiler *c, const struct lm_decl *lock)
{
    const struct lock_words *words = &c->lock_words[lock->index];
    if (lock->kind == LM_NLOCK) {
        release_node(c, words, lock->node);
        return;
    }
    if (lock->kind == LM_SLOCK)
        global_fence(c, c->all_nodes);
    release_weak(c, words);
}

/* --- sc --- */

static void sc_access(struct compiler *c, const struct lm_stmt *s)
{
    const struct sc_words *words = &c->sc_words[s->decl->index];
    uint16_t x = (uint16_t)c->first_loc[s->decl->index], in = words->in[c->t], out = words->out[c->t];
    acquire_node(c, &words->lock);
    part_of(c, "the access");
    struct ir *ir;
    switch (s->kind) {
    case LM_SC_READ:
        remote(c, OP_GET, in, x, WID_SC);
        break;
    case LM_SC_WRITE:
        emit_op(c, OP_STORE, out)->v = s->v;
        remote(c, OP_PUT, out, x, PROG_NO_WID);
        break;
    case LM_SC_CAS:
        ir = remote(c, OP_RCAS, in, x, WID_SC);
        ir->e = s->e;
        ir->v = s->v;
        break;
    default:
        remote(c, OP_RFAA, in, x, WID_SC)->v = s->v;
        break;
    }
    release_node(c, &words->lock, s->decl->node);
    if (s->kind == LM_SC_WRITE)
        return;
    part_of(c, "wait for the result");
    wait_for(c, WID_SC);
    emit_op(c, OP_LOAD, in)->dst = s->reg;
}

void expand_call(struct compiler *c, const struct lm_stmt *s, uint8_t wid, uint64_t nodes)
{
    switch (s->kind) {
    case LM_BCAST:
        broadcast(c, (uint16_t)c->first_loc[s->decl->index], nodes, wid);
        break;
    case LM_SVWAIT:
        wait_for(c, wid);
        break;
    case LM_GFENCE:
        global_fence(c, nodes);
        break;
    case LM_ACQUIRE:
        acquire(c, s->decl);
        break;
    case LM_RELEASE:
        release(c, s->decl);
        break;
    default:
        sc_access(c, s);
        break;
    }
}
