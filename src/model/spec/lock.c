/* Weak, strong and node locks (section 7): a release is before every acquire that is lo-later than the
 * acquire it matches. */
#include "model/execution.h"

static bool is_acquire(const struct event *e, unsigned object)
{
    return e->lib == LIB_LOCK && e->type == S_MF && e->object == object;
}

static void acquire(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    struct event event = event_of(LIB_LOCK, S_MF, t, op, call);
    event.object = op->object;
    unsigned e = execution_add(x, &event);
    for (unsigned other = 0; other < e; other++)
        if (is_acquire(&x->events[other], op->object))
            execution_open_pair(x, PAIR_LO, other, e);
}

static struct event *matching_acquire(struct execution *x, unsigned t, unsigned object)
{
    struct event *found = NULL;
    FOR_BITS(e, x->of_thread + (size_t)t * x->words, x->words)
    if (is_acquire(&x->events[e], object) && x->events[e].partner == NO_EVENT)
        found = &x->events[e];
    return found;
}

static unsigned release_event(struct execution *x, unsigned t, const struct op *op, unsigned call,
                              enum stamp stamp, unsigned node)
{
    struct event event = event_of(LIB_LOCK, stamp, t, op, call);
    event.node = (uint8_t)node;
    event.object = op->object;
    return execution_add(x, &event);
}

static bool release(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    const struct prog_lock *lock = &x->program->locks[op->object];
    struct event *matched = matching_acquire(x, t, op->object);
    if (!matched)
        return false;
    unsigned first, count = 1;
    switch (lock->kind) {
    case LOCK_WEAK:
        first = release_event(x, t, op, call, S_CW, 0);
        break;
    case LOCK_STRONG:
        first = x->n;
        count = x->program->n_nodes;
        for (unsigned n = 0; n < count; n++)
            release_event(x, t, op, call, S_GF, n);
        break;
    default: {
        unsigned fence = release_event(x, t, op, call, S_RF, lock->node);
        first = release_event(x, t, op, call, S_NRW, lock->node);
        execution_edge(x, EDGE_ISO, fence, first, IN_HB);
        break;
    }
    }
    matched->partner = (int16_t)first;
    matched->partners = (uint16_t)count;
    return true;
}

struct call_result lock_call(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    struct call_result result = {true, NO_EVENT};
    if (op->kind == OP_ACQUIRE)
        acquire(x, t, op, call);
    else
        result.possible = release(x, t, op, call);
    return result;
}
