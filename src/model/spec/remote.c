/* The CPU and the NIC: RDMA-TSO (section 3) and RDMA-WAIT (section 5). Both make the same subevents; they
 * differ in how completions are taken (poll, wait) and in what ties the halves of an operation together
 * (program order there, iso here). */
#include "model/execution.h"

enum role {
    LOAD,
    STORE,
    LOCKED,
    FENCE,
    TAKE,
    LOCAL_READ,
    REMOTE_WRITE,
    ATOMIC_READ,
    ATOMIC_WRITE,
    REMOTE_READ,
    LOCAL_WRITE,
    RFENCE
};

static const uint8_t tso_types[] = {T_LR,  T_LW,  T_CAS, T_F,   T_P,   T_NLR,
                                    T_NRW, T_NAR, T_NAW, T_NRR, T_NLW, T_NF};
static const uint8_t wait_types[] = {S_CR,  S_CW,  S_CAS, S_MF,  S_WT,  S_NLR,
                                     S_NRW, S_NAR, S_NRW, S_NRR, S_NLW, S_RF};

struct call {
    struct execution *x;
    const struct op *op;
    unsigned t, number;
    bool tso;
};

static struct event make(const struct call *c, enum role role)
{
    uint8_t type = c->tso ? tso_types[role] : wait_types[role];
    return event_of(c->tso ? LIB_TSO : LIB_WAIT, type, c->t, c->op, c->number);
}

static bool is_of(const struct call *c, const struct event *e, enum role role)
{
    return e->lib == (c->tso ? LIB_TSO : LIB_WAIT) &&
           e->type == (c->tso ? tso_types[role] : wait_types[role]);
}

/* iso: the halves of one operation. In section 3 program order does it. */
static void tie(const struct call *c, unsigned a, unsigned b)
{
    if (!c->tso)
        execution_edge(c->x, EDGE_ISO, a, b, IN_IB);
}

/* nfo: the NIC does not overlap, on one queue pair, a local read with a local write, nor a remote read with a
 * remote write. */
static bool must_not_overlap(const struct call *c, const struct event *a, const struct event *b)
{
    bool remote_read_a = is_of(c, a, REMOTE_READ) || is_of(c, a, ATOMIC_READ);
    bool remote_read_b = is_of(c, b, REMOTE_READ) || is_of(c, b, ATOMIC_READ);
    bool remote_write_a = is_of(c, a, REMOTE_WRITE) || is_of(c, a, ATOMIC_WRITE);
    bool remote_write_b = is_of(c, b, REMOTE_WRITE) || is_of(c, b, ATOMIC_WRITE);
    return (is_of(c, a, LOCAL_READ) && is_of(c, b, LOCAL_WRITE)) ||
           (is_of(c, a, LOCAL_WRITE) && is_of(c, b, LOCAL_READ)) || (remote_read_a && remote_write_b) ||
           (remote_write_a && remote_read_b);
}

static unsigned settle(const struct call *c, unsigned e)
{
    struct execution *x = c->x;
    unsigned words = x->words;
    FOR_BITS(other, x->of_thread + (size_t)c->t * words, words)
    {
        if (other == e || x->events[other].node != x->events[e].node ||
            !must_not_overlap(c, &x->events[other], &x->events[e]))
            continue;
        if (bit_test(order_after(&x->ib, other, words), e))
            execution_edge(x, EDGE_NFO, other, e, IN_IB | IN_HB);
        else
            execution_open_pair(x, PAIR_NFO, other, e);
    }
    return e;
}

/* rao: remote RMWs towards one node are executed one after the other. */
static void order_atomics(const struct call *c, unsigned e)
{
    struct execution *x = c->x;
    for (unsigned other = 0; other < e; other++)
        if (is_of(c, &x->events[other], ATOMIC_READ) && x->events[other].node == x->events[e].node)
            execution_open_pair(x, PAIR_RAO, other, e);
}

static void need(struct event *e, enum op_cmp cmp, uint64_t value)
{
    e->need = (uint8_t)cmp;
    e->need_v = value;
}

/* --- CPU --- */

static int cpu_load(const struct call *c)
{
    struct event e = make(c, LOAD);
    if (c->op->kind == OP_AWAIT)
        need(&e, c->op->cmp, c->op->v);
    return (int)execution_add_read(c->x, e, c->op->loc);
}

static int cpu_locked(const struct call *c)
{
    struct event e = make(c, LOCKED);
    int self = (int)c->x->n;
    e.reads = true;
    if (c->op->kind == OP_CAS)
        need(&e, CMP_EQ, c->op->e);
    if (c->op->kind == OP_FAA)
        execution_add_copied(c->x, e, c->op->loc, self, c->op->v);
    else
        execution_add_written(c->x, e, c->op->loc, c->op->v);
    return self;
}

static int cpu_failed_cas(const struct call *c)
{
    struct event fence = make(c, FENCE), read = make(c, LOAD);
    need(&read, CMP_NE, c->op->e);
    unsigned f = execution_add(c->x, &fence);
    unsigned r = execution_add_read(c->x, read, c->op->loc);
    tie(c, f, r);
    return (int)r;
}

/* --- NIC --- */

/* An inline value is read from a fresh place that holds it. */
static unsigned local_read(const struct call *c)
{
    struct event e = make(c, LOCAL_READ);
    if (c->op->local != PROG_NO_LOC)
        return settle(c, execution_add_read(c->x, e, c->op->local));
    e.reads = e.read_known = true;
    e.read = c->op->v;
    e.rf = RF_INIT;
    return settle(c, execution_add(c->x, &e));
}

static void put(const struct call *c)
{
    unsigned r = local_read(c);
    unsigned w = settle(c, execution_add_copied(c->x, make(c, REMOTE_WRITE), c->op->loc, (int)r, 0));
    tie(c, r, w);
}

static void get(const struct call *c)
{
    unsigned r = settle(c, execution_add_read(c->x, make(c, REMOTE_READ), c->op->loc));
    unsigned w = settle(c, execution_add_copied(c->x, make(c, LOCAL_WRITE), c->op->local, (int)r, 0));
    tie(c, r, w);
}

static void remote_rmw(const struct call *c, bool success)
{
    struct execution *x = c->x;
    bool cas = c->op->kind == OP_RCAS;
    struct event read = make(c, ATOMIC_READ), write = make(c, ATOMIC_WRITE);
    if (cas)
        need(&read, success ? CMP_EQ : CMP_NE, c->op->e);
    unsigned r = settle(c, execution_add_read(x, read, c->op->loc));
    order_atomics(c, r);
    if (!cas || success) {
        unsigned w = cas ? execution_add_written(x, write, c->op->loc, c->op->v)
                         : execution_add_copied(x, write, c->op->loc, (int)r, c->op->v);
        x->events[r].partner = (int16_t)settle(c, w);
        tie(c, r, w);
    }
    unsigned w = settle(c, execution_add_copied(x, make(c, LOCAL_WRITE), c->op->local, (int)r, 0));
    tie(c, r, w);
}

/* --- completions --- */

static bool is_completion(const struct call *c, const struct event *e)
{
    return is_of(c, e, LOCAL_WRITE) || is_of(c, e, REMOTE_WRITE);
}

/* The n-th poll of a queue pair takes the completion of its n-th operation. Without such an operation before
 * it, it blocks. */
static bool poll(const struct call *c)
{
    struct execution *x = c->x;
    unsigned polls = 0, completions = 0, words = x->words;
    int taken = NO_EVENT;
    const uint64_t *thread = x->of_thread + (size_t)c->t * words;
    FOR_BITS(e, thread, words)
    polls += is_of(c, &x->events[e], TAKE) && x->events[e].node == c->op->node;
    FOR_BITS(e, thread, words)
    if (is_completion(c, &x->events[e]) && x->events[e].node == c->op->node && completions++ == polls)
        taken = (int)e;
    if (taken == NO_EVENT)
        return false;
    struct event event = make(c, TAKE);
    unsigned p = execution_add(x, &event);
    bool read = is_of(c, &x->events[taken], LOCAL_WRITE);
    execution_edge(x, EDGE_PF, (unsigned)taken, p, read ? IN_IB | IN_HB : IN_IB);
    return true;
}

/* pfg and pfp: from the writes of the operations with this work id. */
static void wait(const struct call *c)
{
    struct execution *x = c->x;
    struct event event = make(c, TAKE);
    unsigned e = execution_add(x, &event), words = x->words;
    FOR_BITS(w, x->of_thread + (size_t)c->t * words, words)
    {
        if (!is_completion(c, &x->events[w]) || x->events[w].wid != c->op->wid)
            continue;
        bool read = is_of(c, &x->events[w], LOCAL_WRITE);
        execution_edge(x, EDGE_PF, w, e, read ? IN_IB | IN_HB : IN_IB);
    }
}

struct call_result remote_call(struct execution *x, unsigned t, const struct op *op, unsigned number,
                               bool success)
{
    struct call c = {x, op, t, number, x->program->tso};
    struct call_result result = {true, NO_EVENT};
    struct event e;
    switch (op->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        result.read = cpu_load(&c);
        break;
    case OP_STORE:
        execution_add_written(x, make(&c, STORE), op->loc, op->v);
        break;
    case OP_CAS:
        result.read = success ? cpu_locked(&c) : cpu_failed_cas(&c);
        break;
    case OP_FAA:
    case OP_XCHG:
        result.read = cpu_locked(&c);
        break;
    case OP_MFENCE:
    case OP_RFENCE:
        e = make(&c, op->kind == OP_MFENCE ? FENCE : RFENCE);
        execution_add(x, &e);
        break;
    case OP_PUT:
        put(&c);
        break;
    case OP_GET:
        get(&c);
        break;
    case OP_RCAS:
    case OP_RFAA:
        remote_rmw(&c, success);
        break;
    case OP_POLL:
        result.possible = poll(&c);
        break;
    default:
        wait(&c);
        break;
    }
    return result;
}
