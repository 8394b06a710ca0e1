/* Answers the questions of model/program.h from the compiled form of a litmus test. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "litmus/operators.h"
#include "search/ir.h"

static const struct ir_program *ir_of(const struct program *program)
{
    return (const struct ir_program *)program;
}

uint64_t ir_evaluate(const struct lm_expr *e, const uint64_t *regs)
{
    switch (e->kind) {
    case LM_INT:
        return e->value;
    case LM_REG:
        return regs[e->reg];
    case LM_UNARY:
        return lm_apply(e->op, ir_evaluate(e->a, regs), 0);
    default:
        return lm_apply(e->op, ir_evaluate(e->a, regs), ir_evaluate(e->b, regs));
    }
}

static void describe_operation(const struct ir_thread *thread, uint32_t point, const uint64_t *regs,
                               struct op *op)
{
    const struct ir *ir = &thread->code[point];
    const uint64_t *live = thread->live + (size_t)(point + 1) * thread->live_words;
    *op = ir->op;
    op->unused = ir->dst == LM_NO_REG || !(live[ir->dst / 64] >> (ir->dst % 64) & 1);
    if (ir->e)
        op->e = ir_evaluate(ir->e, regs);
    if (ir->v)
        op->v = ir_evaluate(ir->v, regs);
}

static void next(const struct program *program, unsigned t, uint32_t *point, uint64_t *regs, struct op *op)
{
    const struct ir *code = ir_of(program)->threads[t].code;
    for (;;) {
        const struct ir *ir = &code[*point];
        switch (ir->kind) {
        case IR_OP:
            describe_operation(&ir_of(program)->threads[t], *point, regs, op);
            return;
        case IR_SET:
            regs[ir->dst] = ir_evaluate(ir->e, regs);
            ++*point;
            break;
        case IR_BRANCH:
            *point = ir_evaluate(ir->e, regs) ? *point + 1 : ir->target;
            break;
        case IR_GOTO:
            *point = ir->target;
            break;
        case IR_ASSUME:
        case IR_UNTIL:
            if (!ir_evaluate(ir->e, regs)) {
                *op = ir->op;
                return;
            }
            ++*point;
            break;
        case IR_SPIN:
        case IR_END:
            *op = ir->op;
            return;
        }
    }
}

static void observe(const struct program *program, unsigned t, uint32_t *point, uint64_t *regs,
                    uint64_t result)
{
    const struct ir *ir = &ir_of(program)->threads[t].code[*point];
    if (ir->kind == IR_OP && ir->dst != LM_NO_REG)
        regs[ir->dst] = result;
    ++*point;
}

static const struct future *future(const struct program *program, unsigned t, uint32_t point)
{
    return &ir_of(program)->threads[t].futures[point];
}

static const uint64_t *live(const struct program *program, unsigned t, uint32_t point)
{
    const struct ir_thread *thread = &ir_of(program)->threads[t];
    return thread->live + (size_t)point * thread->live_words;
}

static unsigned events_of(const struct program *program, const struct op *op)
{
    switch (op->kind) {
    case OP_PUT:
    case OP_GET:
    case OP_CAS:
    case OP_RELEASE:
        return op->kind == OP_RELEASE && program->n_nodes > 2 ? program->n_nodes : 2;
    case OP_RCAS:
    case OP_RFAA:
        return 3;
    case OP_SV_BCAST:
        return 2 * (unsigned)__builtin_popcountll(op->nodes);
    case OP_GFENCE:
        return (unsigned)__builtin_popcountll(op->nodes);
    default:
        return 1;
    }
}

/* All jumps go forward, so a run passes each instruction at most once. */
static unsigned max_events(const struct program *program, unsigned t)
{
    const struct ir_thread *thread = &ir_of(program)->threads[t];
    unsigned count = 0;
    for (uint32_t i = 0; i < thread->n_code; i++)
        if (thread->code[i].kind == IR_OP)
            count += events_of(program, &thread->code[i].op);
    return count;
}

static const char *describe(const struct program *program, uint32_t where, uint32_t *line)
{
    const struct ir_program *ir = ir_of(program);
    const struct ir_where *place = &ir->wheres[where];
    *line = place->stmt ? place->stmt->pos.line : 0;
    if (!place->stmt)
        return "";
    char *text = lm_print_stmt(ir->arena, ir->test, place->thread, place->stmt);
    return place->part ? arena_printf(ir->arena, "%s [%s]", text, place->part) : text;
}

const struct prog_ops ir_ops = {next, observe, future, live, max_events, describe};
