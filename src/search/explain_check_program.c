/* Do the events of an explanation belong to a run of the program? Each thread is run again with the values that
 * its reads are said to have, and each call must have the events that the tables of sections 3 and 5 to 8 give
 * it. */
#include "base/arena.h"
#include "search/explain_check.h"

#include <stdlib.h>

enum { ANY = -1 };

/* What an event of a call must be. */
struct expected {
    int tso, stamp; /* its type in section 3; its stamp */
    int lib;
    int node;
    int read, written; /* the location, or NO_LOCATION */
};

enum { NO_LOCATION = -1, INLINE = PROG_NO_LOC, MAX_EXPECTED = 2 * PROG_MAX_NODES };

struct call {
    const struct program *program;
    const struct op *op;
    unsigned thread;
    const struct event *events[MAX_EXPECTED];
    unsigned n_events;
    struct expected expected[MAX_EXPECTED];
    unsigned n_expected;
    int lib;
};

static void expect(struct call *c, int tso, int stamp, int node, int read, int written)
{
    c->expected[c->n_expected++] = (struct expected){tso, stamp, c->lib, node, read, written};
}

static void expect_rmw(struct call *c, bool success)
{
    const struct op *op = c->op;
    expect(c, T_NAR, S_NAR, op->node, op->loc, NO_LOCATION);
    if (success)
        expect(c, T_NAW, S_NRW, op->node, NO_LOCATION, op->loc);
    expect(c, T_NLW, S_NLW, op->node, NO_LOCATION, op->local);
}

static void expect_release(struct call *c)
{
    const struct prog_lock *lock = &c->program->locks[c->op->object];
    switch (lock->kind) {
    case LOCK_WEAK:
        expect(c, ANY, S_CW, ANY, NO_LOCATION, NO_LOCATION);
        break;
    case LOCK_STRONG:
        for (unsigned n = 0; n < c->program->n_nodes; n++)
            expect(c, ANY, S_GF, (int)n, NO_LOCATION, NO_LOCATION);
        break;
    default:
        expect(c, ANY, S_RF, lock->node, NO_LOCATION, NO_LOCATION);
        expect(c, ANY, S_NRW, lock->node, NO_LOCATION, NO_LOCATION);
        break;
    }
}

static void expect_sv(struct call *c)
{
    const struct op *op = c->op;
    c->lib = LIB_SV;
    for (unsigned n = 0; n < c->program->n_nodes; n++) {
        if (!(op->nodes >> n & 1))
            continue;
        if (op->kind == OP_GFENCE)
            expect(c, ANY, S_GF, (int)n, NO_LOCATION, NO_LOCATION);
        if (op->kind == OP_SV_BCAST) {
            int own = c->program->thread_node[c->thread];
            expect(c, ANY, S_NLR, (int)n, op->loc, NO_LOCATION);
            expect(c, ANY, S_NRW, (int)n, NO_LOCATION, op->loc - own + (int)n);
        }
    }
    if (op->kind == OP_SV_READ || op->kind == OP_AWAIT)
        expect(c, ANY, S_CR, ANY, op->loc, NO_LOCATION);
    if (op->kind == OP_SV_WRITE)
        expect(c, ANY, S_CW, ANY, NO_LOCATION, op->loc);
    if (op->kind == OP_SV_WAIT)
        expect(c, ANY, S_WT, ANY, NO_LOCATION, NO_LOCATION);
}

static void expect_base(struct call *c)
{
    const struct op *op = c->op;
    bool first_is_locked =
        c->n_events == 1; /* a CPU cas succeeds as one event; it fails as a fence and a load */
    c->lib = c->program->tso ? LIB_TSO : LIB_WAIT;
    switch (op->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        expect(c, T_LR, S_CR, ANY, op->loc, NO_LOCATION);
        break;
    case OP_STORE:
        expect(c, T_LW, S_CW, ANY, NO_LOCATION, op->loc);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        if (op->kind != OP_CAS || first_is_locked)
            expect(c, T_CAS, S_CAS, ANY, op->loc, op->loc);
        else {
            expect(c, T_F, S_MF, ANY, NO_LOCATION, NO_LOCATION);
            expect(c, T_LR, S_CR, ANY, op->loc, NO_LOCATION);
        }
        break;
    case OP_MFENCE:
        expect(c, T_F, S_MF, ANY, NO_LOCATION, NO_LOCATION);
        break;
    case OP_PUT:
        expect(c, T_NLR, S_NLR, op->node, op->local, NO_LOCATION);
        expect(c, T_NRW, S_NRW, op->node, NO_LOCATION, op->loc);
        break;
    case OP_GET:
        expect(c, T_NRR, S_NRR, op->node, op->loc, NO_LOCATION);
        expect(c, T_NLW, S_NLW, op->node, NO_LOCATION, op->local);
        break;
    case OP_RCAS:
    case OP_RFAA:
        expect_rmw(c, c->n_events == 3);
        break;
    case OP_RFENCE:
        expect(c, T_NF, S_RF, op->node, NO_LOCATION, NO_LOCATION);
        break;
    case OP_POLL:
        expect(c, T_P, ANY, op->node, NO_LOCATION, NO_LOCATION);
        break;
    case OP_WAIT:
        expect(c, ANY, S_WT, ANY, NO_LOCATION, NO_LOCATION);
        break;
    default:
        break;
    }
}

static void expect_call(struct call *c)
{
    const struct op *op = c->op;
    bool shared = op->kind == OP_AWAIT && c->program->locs[op->loc].kind == LOC_SHARED;
    if (shared || op->kind == OP_SV_READ || op->kind == OP_SV_WRITE || op->kind == OP_SV_BCAST ||
        op->kind == OP_SV_WAIT || op->kind == OP_GFENCE)
        expect_sv(c);
    else if (op->kind == OP_ACQUIRE || op->kind == OP_RELEASE) {
        c->lib = LIB_LOCK;
        if (op->kind == OP_ACQUIRE)
            expect(c, ANY, S_MF, ANY, NO_LOCATION, NO_LOCATION);
        else
            expect_release(c);
    } else if (op->kind == OP_SC_READ || op->kind == OP_SC_WRITE || op->kind == OP_SC_CAS ||
               op->kind == OP_SC_FAA) {
        c->lib = LIB_SC;
        bool writes = op->kind != OP_SC_READ && c->n_events == 1 && c->events[0]->writes;
        expect(c, ANY, S_MF, ANY, op->kind == OP_SC_WRITE ? NO_LOCATION : op->loc,
               writes ? op->loc : NO_LOCATION);
    } else
        expect_base(c);
}

static bool fits(const struct event *e, const struct expected *x)
{
    int type = e->lib == LIB_TSO ? x->tso : x->stamp;
    bool reads = x->read != NO_LOCATION, writes = x->written != NO_LOCATION;
    return e->lib == x->lib && e->type == type && (x->node == ANY || e->node == x->node) &&
           e->reads == reads && e->writes == writes && (!reads || e->loc == x->read) &&
           (!writes || e->loc == x->written);
}

/* The values that the events of one call have in common: section 3, "well formed"; section 5, "values". */
static bool values_fit(const struct call *c)
{
    const struct op *op = c->op;
    const struct event *first = c->events[0], *last = c->events[c->n_events - 1];
    switch (op->kind) {
    case OP_STORE:
    case OP_SV_WRITE:
    case OP_SC_WRITE:
        return first->written == op->v;
    case OP_AWAIT:
        return op_compare(op->cmp, first->read, op->v);
    case OP_XCHG:
        return first->written == op->v;
    case OP_FAA:
    case OP_SC_FAA:
        return first->written == first->read + op->v;
    case OP_CAS:
    case OP_SC_CAS:
        return last->writes ? last->read == op->e && last->written == op->v : last->read != op->e;
    case OP_PUT:
        return last->written == first->read && (op->local != PROG_NO_LOC || first->read == op->v);
    case OP_GET:
        return last->written == first->read;
    case OP_RFAA:
        return c->n_events == 3 && c->events[1]->written == first->read + op->v &&
               last->written == first->read;
    case OP_RCAS:
        return last->written == first->read && (first->read == op->e) == (c->n_events == 3) &&
               (c->n_events != 3 || c->events[1]->written == op->v);
    case OP_SV_BCAST:
        for (unsigned i = 0; i < c->n_events; i += 2)
            if (c->events[i + 1]->written != c->events[i]->read)
                return false;
        return true;
    default:
        return true;
    }
}

static uint64_t result_of(const struct call *c)
{
    uint8_t kind = c->op->kind;
    bool nic = kind == OP_PUT || kind == OP_GET || kind == OP_RCAS || kind == OP_RFAA || kind == OP_SV_BCAST;
    for (unsigned i = 0; i < c->n_events && !nic; i++)
        if (c->events[i]->reads)
            return c->events[i]->read;
    return 0;
}

static const char *check_call(const struct checker *k, struct call *c, unsigned number)
{
    for (unsigned i = 0; i < k->n && c->n_events < MAX_EXPECTED; i++)
        if (k->e->events[i].thread == c->thread && k->e->events[i].call == number)
            c->events[c->n_events++] = &k->e->events[i];
    expect_call(c);
    bool fit = c->n_events == c->n_expected;
    for (unsigned i = 0; fit && i < c->n_events; i++)
        fit = fits(c->events[i], &c->expected[i]) && c->events[i]->wid == c->op->wid &&
              (c->lib != LIB_LOCK || c->events[i]->object == c->op->object);
    if (!fit)
        return arena_printf(k->arena, "call %u of P%u has other events than its library gives it", number,
                            c->thread);
    if (c->n_events && !values_fit(c))
        return arena_printf(k->arena, "the values of call %u of P%u do not agree", number, c->thread);
    return NULL;
}

/* Registers that the row shows. */
static const char *check_registers(const struct checker *k, unsigned t, const uint64_t *regs)
{
    for (unsigned i = 0; i < k->e->n_observables; i++) {
        const struct observable *o = &k->e->observables[i];
        if (o->is_reg && o->thread == t && k->e->row[i] != regs[o->index])
            return arena_printf(k->arena, "a register of P%u ends with another value than shown", t);
    }
    return NULL;
}

static const char *check_thread(const struct checker *k, unsigned t, uint64_t *regs)
{
    const struct program *program = k->e->program;
    uint32_t point = 0;
    unsigned calls = 0, events = 0, all = 0;
    for (;;) {
        struct op op = {0};
        prog_next(program, t, &point, regs, &op);
        if (op.kind == OP_END)
            break;
        if (op.kind == OP_DROP || op.kind == OP_SPIN_FAIL)
            return arena_printf(k->arena, "P%u does not get to its end with these values", t);
        struct call call = {.program = program, .op = &op, .thread = t};
        const char *wrong = op.kind == OP_SPIN_BEGIN ? NULL : check_call(k, &call, calls++);
        if (wrong)
            return wrong;
        events += call.n_events;
        prog_observe(program, t, &point, regs, result_of(&call));
    }
    for (unsigned i = 0; i < k->n; i++)
        all += k->e->events[i].thread == t;
    if (all != events)
        return arena_printf(k->arena, "P%u has events that no call makes", t);
    return check_registers(k, t, regs);
}

const char *check_program(struct checker *k)
{
    const char *wrong = NULL;
    for (unsigned t = 0; t < k->e->program->n_threads && !wrong; t++)
        wrong = check_thread(k, t, ARENA_ARRAY(k->arena, uint64_t, k->e->program->n_regs[t] + 1u));
    return wrong;
}
