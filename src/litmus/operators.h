/* What the operators of expressions do, for all who evaluate them. */
#ifndef REMORA_LITMUS_OPERATORS_H
#define REMORA_LITMUS_OPERATORS_H

#include "litmus/ast.h"

/* On 64-bit words; a unary operator takes `a` only. */
static inline uint64_t lm_apply(enum lm_op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case LM_ADD:
        return a + b;
    case LM_SUB:
        return a - b;
    case LM_MUL:
        return a * b;
    case LM_AND:
        return a & b;
    case LM_OR:
        return a | b;
    case LM_XOR:
        return a ^ b;
    case LM_SHL:
        return b < 64 ? a << b : 0;
    case LM_SHR:
        return b < 64 ? a >> b : 0;
    case LM_EQ:
        return a == b;
    case LM_NE:
        return a != b;
    case LM_LT:
        return a < b;
    case LM_LE:
        return a <= b;
    case LM_GT:
        return a > b;
    case LM_GE:
        return a >= b;
    case LM_LAND:
        return a && b;
    case LM_LOR:
        return a || b;
    case LM_LNOT:
        return !a;
    case LM_NOT:
        return ~a;
    case LM_NEG:
        return 0 - a;
    }
    return 0;
}

#endif
