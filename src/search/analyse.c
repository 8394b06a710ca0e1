/* Static facts about a compiled test that let the engines do less: which locations a thread may still touch,
 * which registers still matter, which threads run the same code. All jumps go forward, so one pass from the
 * end suffices. */
#include "base/arena.h"
#include "search/ir.h"

#include <string.h>

static void add_loc(uint64_t *set, uint16_t loc)
{
    if (loc != PROG_NO_LOC)
        set[loc / 64] |= UINT64_C(1) << (loc % 64);
}

static void add_remote(const struct op *op, struct future *f)
{
    uint64_t node = UINT64_C(1) << op->node;
    f->nic_nodes |= node;
    switch (op->kind) {
    case OP_PUT:
        add_loc(f->nic_reads, op->local);
        add_loc(f->nic_writes, op->loc);
        f->put_nodes |= node;
        break;
    case OP_GET:
        add_loc(f->nic_reads, op->loc);
        add_loc(f->nic_writes, op->local);
        break;
    case OP_RCAS:
    case OP_RFAA:
        add_loc(f->nic_reads, op->loc);
        add_loc(f->nic_writes, op->loc);
        add_loc(f->nic_writes, op->local);
        f->rmw_nodes |= node;
        break;
    default:
        break;
    }
}

static void add_operation(const struct program *p, unsigned t, const struct op *op, struct future *f)
{
    switch (op->kind) {
    case OP_LOAD:
    case OP_SV_READ:
    case OP_SC_READ:
        add_loc(f->cpu_reads, op->loc);
        break;
    case OP_AWAIT:
        add_loc(f->cpu_reads, op->loc);
        for (unsigned i = 0; i < op->n_any; i++)
            add_loc(f->cpu_reads, op->any[i]);
        break;
    case OP_STORE:
    case OP_SV_WRITE:
    case OP_SC_WRITE:
        add_loc(f->cpu_writes, op->loc);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
    case OP_SC_CAS:
    case OP_SC_FAA:
        add_loc(f->cpu_reads, op->loc);
        add_loc(f->cpu_writes, op->loc);
        break;
    case OP_SV_BCAST:
        add_loc(f->nic_reads, op->loc);
        for (unsigned n = 0; n < p->n_nodes; n++)
            if (op->nodes >> n & 1)
                add_loc(f->nic_writes, prog_copy(p, t, op->loc, n));
        break;
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
    case OP_RFENCE:
        add_remote(op, f);
        break;
    default:
        break;
    }
}

static void join(struct future *into, const struct future *from, unsigned words)
{
    for (unsigned w = 0; w < words; w++) {
        into->cpu_reads[w] |= from->cpu_reads[w];
        into->cpu_writes[w] |= from->cpu_writes[w];
        into->nic_reads[w] |= from->nic_reads[w];
        into->nic_writes[w] |= from->nic_writes[w];
    }
    into->nic_nodes |= from->nic_nodes;
    into->put_nodes |= from->put_nodes;
    into->rmw_nodes |= from->rmw_nodes;
}

static void find_futures(struct ir_program *ir, unsigned t)
{
    struct ir_thread *thread = &ir->threads[t];
    unsigned words = ir->base.loc_words;
    thread->futures = ARENA_ARRAY(ir->arena, struct future, thread->n_code);
    uint64_t *sets = ARENA_ARRAY(ir->arena, uint64_t, (size_t)thread->n_code * words * 4);
    for (uint32_t i = thread->n_code; i-- > 0;) {
        struct future *f = &thread->futures[i];
        const struct ir *code = &thread->code[i];
        uint64_t *own = sets + (size_t)i * words * 4;
        f->cpu_reads = own;
        f->cpu_writes = own + words;
        f->nic_reads = own + 2 * words;
        f->nic_writes = own + 3 * words;
        if (code->kind == IR_OP)
            add_operation(&ir->base, t, &code->op, f);
        if (code->kind != IR_END && code->kind != IR_GOTO)
            join(f, &thread->futures[i + 1], words);
        if (code->kind == IR_GOTO || code->kind == IR_BRANCH)
            join(f, &thread->futures[code->target], words);
    }
}

static void add_reads(const struct lm_expr *e, uint64_t *set)
{
    if (!e)
        return;
    if (e->kind == LM_REG)
        set[e->reg / 64] |= UINT64_C(1) << (e->reg % 64);
    add_reads(e->a, set);
    add_reads(e->b, set);
}

static void find_live(struct ir_program *ir, unsigned t, const struct observable *shown, unsigned n_shown)
{
    struct ir_thread *thread = &ir->threads[t];
    unsigned words = thread->live_words = (ir->base.n_regs[t] + 63u) / 64;
    thread->live = ARENA_ARRAY(ir->arena, uint64_t, (size_t)thread->n_code * words + 1);
    for (uint32_t i = thread->n_code; i-- > 0;) {
        const struct ir *code = &thread->code[i];
        uint64_t *live = thread->live + (size_t)i * words;
        if (code->kind != IR_END && code->kind != IR_GOTO)
            memcpy(live, live + words, words * sizeof *live);
        if (code->kind == IR_GOTO || code->kind == IR_BRANCH)
            for (unsigned w = 0; w < words; w++)
                live[w] |= thread->live[(size_t)code->target * words + w];
        if ((code->kind == IR_OP || code->kind == IR_SET) && code->dst != LM_NO_REG)
            live[code->dst / 64] &= ~(UINT64_C(1) << (code->dst % 64));
        add_reads(code->e, live);
        add_reads(code->v, live);
        for (unsigned k = 0; code->kind == IR_END && k < n_shown; k++)
            if (shown[k].is_reg && shown[k].thread == t)
                live[shown[k].index / 64] |= UINT64_C(1) << (shown[k].index % 64);
    }
}

void ir_analyse(struct ir_program *ir, const struct observable *shown, unsigned n_shown)
{
    for (unsigned t = 0; t < ir->base.n_threads; t++) {
        find_futures(ir, t);
        find_live(ir, t, shown, n_shown);
    }
}

static bool same_expr(const struct lm_expr *a, const struct lm_expr *b)
{
    if (!a || !b)
        return a == b;
    return a->kind == b->kind && a->op == b->op && a->value == b->value && a->reg == b->reg &&
           same_expr(a->a, b->a) && same_expr(a->b, b->b);
}

static bool same_code(const struct ir_program *ir, unsigned t, unsigned u)
{
    const struct ir_thread *a = &ir->threads[t], *b = &ir->threads[u];
    if (a->n_code != b->n_code || ir->base.n_regs[t] != ir->base.n_regs[u])
        return false;
    for (uint32_t i = 0; i < a->n_code; i++) {
        const struct ir *x = &a->code[i], *y = &b->code[i];
        const struct op *p = &x->op, *q = &y->op;
        if (x->kind != y->kind || x->dst != y->dst || x->target != y->target || p->kind != q->kind ||
            p->cmp != q->cmp || p->wid != q->wid || p->node != q->node || p->object != q->object ||
            p->nodes != q->nodes || p->n_any != q->n_any || p->loc != q->loc || p->local != q->local ||
            !same_expr(x->e, y->e) || !same_expr(x->v, y->v))
            return false;
        for (unsigned k = 0; k < p->n_any; k++)
            if (p->any[k] != q->any[k])
                return false;
    }
    return true;
}

static bool same_shown(unsigned t, unsigned u, const struct observable *shown, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        if (!shown[k].is_reg || (shown[k].thread != t && shown[k].thread != u))
            continue;
        unsigned other = shown[k].thread == t ? u : t;
        bool found = false;
        for (unsigned i = 0; i < n && !found; i++)
            found = shown[i].is_reg && shown[i].thread == other && shown[i].index == shown[k].index;
        if (!found)
            return false;
    }
    return true;
}

static bool owns_locations(const struct program *p, unsigned t)
{
    for (unsigned l = 0; l < p->n_locs; l++)
        if (p->locs[l].owner == t)
            return true;
    return false;
}

void ir_classify(struct ir_program *ir, const struct observable *shown, unsigned n_shown)
{
    struct program *p = &ir->base;
    for (unsigned t = 0; t < p->n_threads; t++) {
        p->thread_class[t] = (uint8_t)t;
        if (owns_locations(p, t))
            continue; /* exchanging private locations too is left undone */
        for (unsigned u = 0; u < t; u++)
            if (p->thread_class[u] == u && p->thread_node[t] == p->thread_node[u] && same_code(ir, t, u) &&
                same_shown(t, u, shown, n_shown)) {
                p->thread_class[t] = (uint8_t)u;
                break;
            }
    }
}
