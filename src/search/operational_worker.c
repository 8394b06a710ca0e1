/* What one worker of the operational search does with one state: in a reduced search on compound states (operational_parts.h),
 * in a plain one on packed states (model/machine.h). */
#include "base/arena.h"
#include "search/operational.h"

#include <stdlib.h>

enum { CHECK_EVERY = 1024 };

void worker_start(struct worker *w, struct search *search)
{
    unsigned observables = search->query->n_observables;
    w->search = search;
    w->outcomes = outcomes_new(observables);
    w->stuck = outcomes_new(observables + search->machine->n_threads);
    w->row = xcalloc(observables + search->machine->n_threads, sizeof *w->row);
    w->packed.machine = search->machine;
    packed_reserve(&w->packed, machine_first_size(search->machine));
    if (search->parts)
        w->state = xcalloc(1, search->parts->compound_size);
}

void worker_free(struct worker *w)
{
    stack_free(&w->stack);
    packed_free(&w->packed);
    free(w->state);
    free(w->steps);
    free(w->row);
    free(w->recent);
    free(w->from);
    free(w->log.steps.steps);
}

void worker_reserve_steps(struct worker *w, size_t n)
{
    if (w->steps_capacity >= n)
        return;
    w->steps_capacity = 2 * n + 32;
    w->steps = xrealloc(w->steps, w->steps_capacity * sizeof *w->steps);
}

void worker_count(struct worker *w)
{
    struct search *search = w->search;
    w->stored++;
    if (++w->unchecked < CHECK_EVERY)
        return;
    uint64_t stored = atomic_fetch_add(&search->stored, w->unchecked) + w->unchecked;
    w->unchecked = 0;
    size_t held = w->stack.capacity + outcomes_bytes(w->outcomes);
    atomic_fetch_add(&search->stack_bytes, held - w->stack_bytes);
    w->stack_bytes = held;
    if (search->query->limits.max_states && stored >= search->query->limits.max_states)
        halt(search, LIMIT_STATES);
    check_time_and_memory(search, 0);
}

/* --- the state --- */

const uint8_t *worker_state(const struct worker *w, size_t *size)
{
    const struct search *search = w->search;
    *size = search->parts ? search->parts->compound_size : state_size(search->machine, w->packed.state);
    return search->parts ? w->state : w->packed.state;
}

enum effect worker_begin(struct worker *w)
{
    struct search *search = w->search;
    enum effect effect = machine_first(search->machine, w->packed.state);
    for (unsigned t = 0; search->parts && effect == EFFECT_OK && t < search->machine->n_threads; t++)
        effect = packed_take_eager(&w->packed, t);
    if (search->parts && effect == EFFECT_OK && !compound_from(search->parts, w->packed.state, w->state))
        return EFFECT_FULL;
    return effect;
}

enum effect worker_take(struct worker *w, const uint8_t *from, size_t size, struct step step)
{
    if (w->search->parts) {
        memcpy(w->state, from, size);
        return compound_take(w, step.thread, step.at);
    }
    packed_reserve(&w->packed, size);
    memcpy(w->packed.state, from, size);
    if (w->log.on)
        log_step(&w->log.steps, step);
    return packed_take(&w->packed, step);
}

enum effect worker_steps(struct worker *w, unsigned *n_steps, struct fingerprint *print)
{
    if (w->search->parts)
        return reduce(w, n_steps, print);
    const struct machine *m = w->search->machine;
    worker_reserve_steps(w, machine_steps_bound(m, w->packed.state));
    *n_steps = machine_steps(m, w->packed.state, w->steps);
    *print = visited_fingerprint(w->packed.state, state_size(m, w->packed.state));
    return EFFECT_OK;
}

/* --- ends of runs --- */

const struct local *worker_local(const struct worker *w, unsigned t)
{
    const struct search *search = w->search;
    if (search->parts)
        return machine_local(search->machine,
                             part_get(search->parts, get_compound_parts(w->state)[t])->local);
    return local_of(search->machine, w->packed.state, t);
}

void worker_observe(const struct worker *w, uint64_t *row)
{
    const struct search *search = w->search;
    const struct query *query = search->query;
    const uint16_t *memory = search->parts ? get_compound_memory(search->parts, w->state)
                                           : get_memory(search->machine, w->packed.state);
    for (unsigned i = 0; i < query->n_observables; i++) {
        const struct observable *what = &query->observables[i];
        row[i] = what->is_reg ? worker_local(w, what->thread)->regs[what->index]
                              : machine_value(search->machine, memory[what->index]);
    }
}

static bool is_complete(const struct worker *w)
{
    const struct search *search = w->search;
    if (!search->parts)
        return machine_complete(search->machine, w->packed.state);
    for (unsigned t = 0; t < search->machine->n_threads; t++)
        if (!part_get(search->parts, get_compound_parts(w->state)[t])->done)
            return false;
    return true;
}

/* Whether these steps, the explored ones of a state, only start spin iterations: then so do all that are enabled. */
static bool only_spins(const struct worker *w, unsigned n_steps)
{
    for (unsigned i = 0; i < n_steps; i++) {
        const struct step *step = &w->steps[i];
        bool cpu = w->search->parts ? step->at == 0 : step->rule == RULE_CPU;
        if (!cpu || worker_local(w, step->thread)->kind != OP_SPIN_BEGIN)
            return false;
    }
    return n_steps > 0;
}

enum ending worker_ending(struct worker *w, unsigned n_steps)
{
    if (n_steps == 0)
        return is_complete(w) ? COMPLETE : STUCK;
    if (!only_spins(w, n_steps))
        return GOES_ON;
    if (w->search->parts)
        compound_unpack(w->search->parts, w->state, &w->packed);
    return spinners_stuck(w->search->machine, w->packed.state) ? STUCK : GOES_ON;
}
