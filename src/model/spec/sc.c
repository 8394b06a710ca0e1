/* Sequentially consistent locations (section 8): every call is one event with the stamp aMF. */
#include "model/execution.h"

struct call_result sc_call(struct execution *x, unsigned t, const struct op *op, unsigned call, bool success)
{
    struct event e = event_of(LIB_SC, S_MF, t, op, call);
    struct call_result result = {true, (int)x->n};
    switch (op->kind) {
    case OP_SC_READ:
        execution_add_read(x, e, op->loc);
        break;
    case OP_SC_WRITE:
        execution_add_written(x, e, op->loc, op->v);
        result.read = NO_EVENT;
        break;
    case OP_SC_CAS:
        e.need = success ? CMP_EQ : CMP_NE;
        e.need_v = op->e;
        e.reads = true;
        if (success)
            execution_add_written(x, e, op->loc, op->v);
        else
            execution_add_read(x, e, op->loc);
        break;
    default:
        e.reads = true;
        execution_add_copied(x, e, op->loc, result.read, op->v);
        break;
    }
    return result;
}
