/* Breadth first over all steps of the machine; every state keeps where it came from. */
#include "verify/run_search.h"

#include "base/arena.h"
#include "search/operational.h"

#include <stdlib.h>

struct found {
    uint8_t *state;
    uint32_t from;
    struct step step;
};

struct search_run {
    struct machine *machine;
    const struct run_goal *goal;
    struct arena *arena;
    struct visited *visited;
    struct found *found;
    uint32_t n, capacity;
    struct step *steps;
    size_t steps_capacity;
};

static bool has_row(const struct machine *m, const uint8_t *state, const struct run_goal *goal)
{
    for (unsigned i = 0; i < goal->query->n_observables; i++) {
        struct observable what = goal->query->observables[i];
        uint64_t value = what.is_reg ? local_of(m, state, what.thread)->regs[what.index]
                                     : machine_value(m, get_memory(m, state)[what.index]);
        if (value != goal->row[i])
            return false;
    }
    return true;
}

static bool only_spins(const struct machine *m, const uint8_t *state, const struct step *steps, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (steps[i].rule != RULE_CPU || local_of(m, state, steps[i].thread)->kind != OP_SPIN_BEGIN)
            return false;
    return n > 0;
}

static bool is_goal(const struct search_run *s, const uint8_t *state, const struct step *steps, unsigned n)
{
    const struct run_goal *goal = s->goal;
    if (goal->failed)
        return local_of(s->machine, state, goal->thread)->point == goal->point;
    bool complete = machine_complete(s->machine, state);
    if (!goal->stuck)
        return complete && has_row(s->machine, state, goal);
    if (n == 0)
        return !complete;
    return only_spins(s->machine, state, steps, n) && spinners_stuck(s->machine, state);
}

static void add(struct search_run *s, const uint8_t *state, size_t size, uint32_t from, struct step step)
{
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 1024;
        s->found = xrealloc(s->found, s->capacity * sizeof *s->found);
    }
    uint8_t *copy = arena_alloc(s->arena, size + STEP_GROWTH + sizeof(entry_t));
    memcpy(copy, state, size);
    s->found[s->n++] = (struct found){copy, from, step};
}

static unsigned steps_of(struct search_run *s, const uint8_t *state)
{
    unsigned bound = machine_steps_bound(s->machine, state);
    if (s->steps_capacity < bound) {
        s->steps_capacity = 2 * bound;
        s->steps = xrealloc(s->steps, s->steps_capacity * sizeof *s->steps);
    }
    return machine_steps(s->machine, state, s->steps);
}

/* Whether all that the thread has asked for has taken effect. */
static bool has_settled(const struct machine *m, const uint8_t *state, unsigned thread)
{
    const uint16_t *ends = buffer_of(m, state, thread), *all = get_ends(m, state);
    if (ends[0] < ends[1])
        return false;
    for (unsigned q = m->first_qp[thread]; q < m->first_qp[thread + 1]; q++) {
        const uint16_t *of = all + m->qps[q].fifo;
        for (unsigned i = of[PIPE]; i < of[WBL + 1]; i++)
            if (entry_kind(get_entries(m, state)[i]) != E_CN)
                return false;
    }
    return true;
}

static void expand(struct search_run *s, uint32_t from, unsigned n_steps, uint8_t *scratch)
{
    for (unsigned i = 0; i < n_steps; i++) {
        const uint8_t *state = s->found[from].state;
        if (s->goal->orderly && s->steps[i].rule == RULE_CPU &&
            !has_settled(s->machine, state, s->steps[i].thread))
            continue;
        memcpy(scratch, state, state_size(s->machine, state));
        if (machine_apply(s->machine, scratch, s->steps[i]) != EFFECT_OK)
            continue;
        size_t size = state_size(s->machine, scratch);
        if (visited_add(s->visited, visited_fingerprint(scratch, size)))
            add(s, scratch, size, from, s->steps[i]);
    }
}

static void trace(struct search_run *s, uint32_t last, struct arena *arena, struct run *run)
{
    run->n = 1;
    for (uint32_t at = last; at; at = s->found[at].from)
        run->n++;
    run->states = ARENA_ARRAY(arena, uint8_t *, run->n);
    run->steps = ARENA_ARRAY(arena, struct step, run->n);
    uint32_t at = last;
    for (unsigned i = run->n; i-- > 0; at = s->found[at].from) {
        size_t size = state_size(s->machine, s->found[at].state);
        run->states[i] = arena_alloc(arena, size);
        memcpy(run->states[i], s->found[at].state, size);
        if (i)
            run->steps[i - 1] = s->found[at].step;
    }
}

bool run_search(struct arena *arena, struct machine *machine, const struct run_goal *goal, struct run *run)
{
    enum { ROOM = 64 << 10 };
    struct search_run s = {
        .machine = machine, .goal = goal, .arena = arena_new(), .visited = visited_new(false)};
    uint8_t *scratch = xmalloc(ROOM);
    bool reached = false;
    if (machine_first(machine, scratch) == EFFECT_OK)
        add(&s, scratch, machine_first_size(machine), 0, (struct step){0});
    for (uint32_t at = 0; at < s.n && s.n < RUN_MOST_STATES && !reached; at++) {
        unsigned n = steps_of(&s, s.found[at].state);
        reached = is_goal(&s, s.found[at].state, s.steps, n);
        if (reached)
            trace(&s, at, arena, run);
        else if (state_size(machine, s.found[at].state) + STEP_GROWTH < ROOM)
            expand(&s, at, steps_of(&s, s.found[at].state), scratch);
    }
    free(scratch);
    free(s.steps);
    free(s.found);
    visited_free(s.visited);
    arena_free(s.arena);
    return reached;
}
