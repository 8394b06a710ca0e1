/* Shared variables (section 6): a copy on each node, broadcasts, the global fence. */
#include "model/execution.h"

static void broadcast(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    for (unsigned n = 0; n < x->program->n_nodes; n++) {
        if (!(op->nodes >> n & 1))
            continue;
        struct event read = event_of(LIB_SV, S_NLR, t, op, call),
                     write = event_of(LIB_SV, S_NRW, t, op, call);
        read.node = write.node = (uint8_t)n;
        unsigned r = execution_add_read(x, read, op->loc);
        unsigned w = execution_add_copied(x, write, prog_copy(x->program, t, op->loc, n), (int)r, 0);
        execution_edge(x, EDGE_ISO, r, w, IN_HB);
    }
}

/* pf: the sources of the thread's earlier broadcasts with this id have been read. */
static void wait(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    struct event event = event_of(LIB_SV, S_WT, t, op, call);
    unsigned e = execution_add(x, &event), words = x->words;
    FOR_BITS(r, x->of_thread + (size_t)t * words, words)
    if (x->events[r].lib == LIB_SV && x->events[r].type == S_NLR && x->events[r].wid == op->wid)
        execution_edge(x, EDGE_PF, r, e, IN_HB);
}

static void global_fence(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    for (unsigned n = 0; n < x->program->n_nodes; n++) {
        if (!(op->nodes >> n & 1))
            continue;
        struct event event = event_of(LIB_SV, S_GF, t, op, call);
        event.node = (uint8_t)n;
        execution_add(x, &event);
    }
}

struct call_result sv_call(struct execution *x, unsigned t, const struct op *op, unsigned call)
{
    struct call_result result = {true, NO_EVENT};
    struct event read = event_of(LIB_SV, S_CR, t, op, call);
    switch (op->kind) {
    case OP_AWAIT:
        read.need = op->cmp;
        read.need_v = op->v;
        result.read = (int)execution_add_read(x, read, op->loc);
        break;
    case OP_SV_READ:
        result.read = (int)execution_add_read(x, read, op->loc);
        break;
    case OP_SV_WRITE:
        execution_add_written(x, event_of(LIB_SV, S_CW, t, op, call), op->loc, op->v);
        break;
    case OP_SV_BCAST:
        broadcast(x, t, op, call);
        break;
    case OP_SV_WAIT:
        wait(x, t, op, call);
        break;
    default:
        global_fence(x, t, op, call);
        break;
    }
    return result;
}
