/* Which library a call belongs to. */
#include "model/execution.h"

struct call_result execution_call(struct execution *x, unsigned t, const struct op *op, unsigned call,
                                  bool success)
{
    switch (op->kind) {
    case OP_SV_READ:
    case OP_SV_WRITE:
    case OP_SV_BCAST:
    case OP_SV_WAIT:
    case OP_GFENCE:
        return sv_call(x, t, op, call);
    case OP_AWAIT:
        if (x->program->locs[op->loc].kind == LOC_SHARED)
            return sv_call(x, t, op, call);
        return remote_call(x, t, op, call, success);
    case OP_ACQUIRE:
    case OP_RELEASE:
        return lock_call(x, t, op, call);
    case OP_SC_READ:
    case OP_SC_WRITE:
    case OP_SC_CAS:
    case OP_SC_FAA:
        return sc_call(x, t, op, call, success);
    default:
        return remote_call(x, t, op, call, success);
    }
}
