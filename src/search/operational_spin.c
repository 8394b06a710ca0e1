/* Spin loops at the end of a run (model/program.h): a state in which nothing is left to do but to start
 * iterations is stuck if none of them, run from there, can succeed. Iterations of different threads don't
 * influence one another, so each is run alone. An iteration has failed when the program says so, and has got
 * somewhere when its thread reaches the head of a loop, its end, or an operation that blocks it for good. */
#include "base/arena.h"
#include "search/operational.h"

#include <stdlib.h>

static unsigned steps_of(const struct machine *m, const uint8_t *state, unsigned t, struct step *steps)
{
    const uint16_t *ends = buffer_of(m, state, t);
    unsigned n = 0;
    if (machine_cpu_enabled(m, state, t))
        steps[n++] = (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0};
    if (ends[0] < ends[1])
        steps[n++] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, 0};
    for (unsigned q = 0; q < m->n_qps; q++)
        if (m->qps[q].thread == t)
            n += machine_nic_steps(m, state, q, steps + n);
    return n;
}

struct trial {
    struct machine *machine;
    unsigned thread;
    struct stack stack;
    struct visited *visited;
    bool succeeded;
};

/* Takes a step from a state; what comes out is to be explored, if it is new. */
static void try_step(struct trial *trial, const uint8_t *from, size_t size, struct step step)
{
    struct machine *m = trial->machine;
    uint8_t *state = xmalloc(size + STEP_GROWTH);
    memcpy(state, from, size);
    enum effect effect = machine_apply(m, state, step);
    unsigned kind = local_of(m, state, trial->thread)->kind;
    if (effect == EFFECT_OK && kind != OP_SPIN_BEGIN && kind != OP_END) {
        size = state_size(m, state);
        struct step *steps = xmalloc(machine_steps_bound(m, state) * sizeof *steps);
        unsigned n = steps_of(m, state, trial->thread, steps);
        if (n == 0)
            trial->succeeded = true;
        else if (visited_add(trial->visited, visited_fingerprint(state, size)))
            stack_push(&trial->stack, state, size, steps, n);
        free(steps);
    } else if (kind != OP_SPIN_FAIL) {
        trial->succeeded = true;
    }
    free(state);
}

static bool can_succeed(struct machine *m, const uint8_t *state, unsigned t)
{
    struct trial trial = {.machine = m, .thread = t, .visited = visited_new(false)};
    try_step(&trial, state, state_size(m, state), (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0});
    struct frame frame;
    while (!trial.succeeded && stack_pop(&trial.stack, &frame)) {
        uint8_t *from = xmalloc(frame.state_size);
        struct step *steps = xmalloc((frame.n_steps + 1) * sizeof *steps);
        memcpy(from, frame.state, frame.state_size);
        memcpy(steps, frame.steps, frame.n_steps * sizeof *steps);
        for (unsigned i = 0; i < frame.n_steps; i++)
            try_step(&trial, from, frame.state_size, steps[i]);
        free(from);
        free(steps);
    }
    stack_free(&trial.stack);
    visited_free(trial.visited);
    return trial.succeeded;
}

bool spinners_stuck(struct machine *m, const uint8_t *state)
{
    for (unsigned t = 0; t < m->n_threads; t++)
        if (local_of(m, state, t)->kind == OP_SPIN_BEGIN && can_succeed(m, state, t))
            return false;
    return true;
}
