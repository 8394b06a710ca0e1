/* Rehearsals: the program under sequential consistency, its threads one after the other in every order, and
 * mixed at random. They find out cheaply which words it touches and what its operations do. */
#include "base/arena.h"
#include "base/random.h"
#include "verify/c_thread.h"

#include <stdlib.h>

enum { MIXED = 12, MOST_STEPS = 4000, MOST_ORDERED = 4 /* threads */ };

struct stage {
    struct c_program *program;
    uint64_t *memory;
    bool *known; /* memory[loc] has been set from the initial value */
    uint32_t *at, *loop;
    bool *asleep; /* in a waiting loop, until something is written */
    uint64_t random;
};

static uint64_t *cell(struct stage *stage, unsigned loc)
{
    if (!stage->known[loc]) {
        stage->known[loc] = true;
        stage->memory[loc] = stage->program->locs[loc].init;
    }
    return &stage->memory[loc];
}

static void wake_all(struct stage *stage)
{
    for (unsigned t = 0; t < stage->program->code.shape.n_threads; t++)
        stage->asleep[t] = false;
}

static uint64_t write_to(struct stage *stage, unsigned loc, uint64_t value)
{
    uint64_t *word = cell(stage, loc), old = *word;
    *word = value;
    if (old != value)
        wake_all(stage);
    return old;
}

static uint64_t execute(struct stage *stage, const struct op *op)
{
    switch (op->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        return *cell(stage, op->loc);
    case OP_STORE:
        write_to(stage, op->loc, op->v);
        return 0;
    case OP_XCHG:
        return write_to(stage, op->loc, op->v);
    case OP_CAS:
        return *cell(stage, op->loc) == op->e ? write_to(stage, op->loc, op->v) : *cell(stage, op->loc);
    case OP_FAA:
        return write_to(stage, op->loc, *cell(stage, op->loc) + op->v);
    case OP_PUT:
        write_to(stage, op->loc, op->local == PROG_NO_LOC ? op->v : *cell(stage, op->local));
        return 0;
    case OP_GET:
        write_to(stage, op->local, *cell(stage, op->loc));
        return 0;
    case OP_RCAS:
        write_to(stage, op->local, *cell(stage, op->loc));
        if (*cell(stage, op->local) == op->e)
            write_to(stage, op->loc, op->v);
        return 0;
    case OP_RFAA:
        write_to(stage, op->local, *cell(stage, op->loc));
        write_to(stage, op->loc, *cell(stage, op->local) + op->v);
        return 0;
    default:
        return 0;
    }
}

/* One step of thread t; false if it can't take any now. */
static bool step(struct stage *stage, unsigned t)
{
    struct c_thread *thread = &stage->program->threads[t];
    const struct point *point = &thread->points[stage->at[t]];
    struct op op = point->op;
    if (stage->asleep[t] || op.kind == OP_END || op.kind == OP_DROP || point->failure)
        return false;
    if (op.kind == OP_AWAIT && !op_compare(op.cmp, *cell(stage, op.loc), op.v))
        return false;
    if (op.kind == OP_SPIN_FAIL) {
        stage->at[t] = stage->loop[t];
        stage->asleep[t] = true;
        return false;
    }
    if (op.kind == OP_SPIN_BEGIN)
        stage->loop[t] = stage->at[t];
    uint64_t result = execute(stage, &op);
    stage->at[t] = c_thread_after(thread, stage->at[t], result);
    return true;
}

static void begin(struct stage *stage)
{
    for (unsigned t = 0; t < stage->program->code.shape.n_threads; t++) {
        stage->at[t] = 0;
        stage->asleep[t] = false;
    }
    for (unsigned loc = 0; loc < C_MAX_LOCS; loc++)
        stage->known[loc] = false;
}

/* The thread that comes first in the order and can take a step does. */
static void run_in_order(struct stage *stage, const unsigned *order)
{
    unsigned n = stage->program->code.shape.n_threads;
    begin(stage);
    for (unsigned steps = 0, i = 0; i < n && steps < MOST_STEPS && !stage->program->fault; steps++)
        i = step(stage, order[i]) ? 0 : i + 1;
}

static void run_orders(struct stage *stage, unsigned *order, unsigned from)
{
    unsigned n = stage->program->code.shape.n_threads;
    if (from + 1 >= n) {
        run_in_order(stage, order);
        return;
    }
    for (unsigned i = from; i < n; i++) {
        unsigned first = order[from];
        order[from] = order[i];
        order[i] = first;
        run_orders(stage, order, from + 1);
        order[i] = order[from];
        order[from] = first;
    }
}

static void run_mixed(struct stage *stage)
{
    unsigned n = stage->program->code.shape.n_threads;
    begin(stage);
    unsigned t = 0;
    for (unsigned steps = 0, failed = 0; failed < 4 * n && steps < MOST_STEPS && !stage->program->fault;
         steps++) {
        if (random_percent(&stage->random, 40))
            t = random_below(&stage->random, n);
        if (step(stage, t))
            failed = 0;
        else {
            failed++;
            t = (t + 1) % n;
        }
    }
}

void c_program_rehearse(struct c_program *program)
{
    unsigned n = program->code.shape.n_threads;
    struct stage stage = {.program = program,
                          .memory = xcalloc(C_MAX_LOCS, sizeof *stage.memory),
                          .known = xcalloc(C_MAX_LOCS, sizeof *stage.known),
                          .at = xcalloc(n, sizeof *stage.at),
                          .loop = xcalloc(n, sizeof *stage.loop),
                          .asleep = xcalloc(n, sizeof *stage.asleep),
                          .random = 1};
    unsigned order[PROG_MAX_THREADS];
    for (unsigned t = 0; t < n; t++)
        order[t] = t;
    if (n <= MOST_ORDERED)
        run_orders(&stage, order, 0);
    else
        run_in_order(&stage, order);
    for (unsigned i = 0; i < MIXED; i++)
        run_mixed(&stage);
    free(stage.memory);
    free(stage.known);
    free(stage.at);
    free(stage.loop);
    free(stage.asleep);
}
