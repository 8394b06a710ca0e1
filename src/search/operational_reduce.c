/* The partial-order reduction of the operational engine; docs/reduction.md says what is reduced and why
 * nothing is lost. First the steps that depend on nothing that could come before them, then a stubborn set
 * over the moves that are left. */
#include "base/arena.h"
#include "search/operational.h"
#include "search/operational_moves.h"

#include <stdlib.h>

static void note(struct log *log, struct step step)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->steps = xrealloc(log->steps, log->capacity * sizeof *log->steps);
    }
    log->steps[log->n++] = step;
}

static enum effect take_one(struct worker *w, struct step step)
{
    struct machine *m = w->search->machine;
    if (get_ends(m, w->state)[m->n_fifos] >= w->room)
        worker_reserve(w, state_size(m, w->state));
    if (w->log.on)
        note(&w->log, step);
    return machine_apply(m, w->state, step);
}

static enum effect take_spin(struct worker *w, unsigned t)
{
    struct step steps[SPIN_STEPS];
    unsigned n = spin_steps(w->search->machine, w->state, t, steps);
    enum effect effect = EFFECT_OK;
    for (unsigned i = 0; i < n && effect == EFFECT_OK; i++)
        effect = take_one(w, steps[i]);
    return effect;
}

enum effect take(struct worker *w, struct step step)
{
    if (w->search->reduced && step.rule == RULE_CPU &&
        local_of(w->search->machine, w->state, step.thread)->kind == OP_SPIN_BEGIN)
        return take_spin(w, step.thread);
    return take_one(w, step);
}

/* --- eager steps --- */

static bool cpu_eager(const struct machine *m, const uint8_t *state, unsigned t)
{
    switch (local_of(m, state, t)->kind) {
    case OP_STORE:
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
    case OP_RFENCE:
        return true;
    case OP_MFENCE:
    case OP_POLL:
    case OP_WAIT:
        return machine_cpu_enabled(m, state, t);
    default:
        return false;
    }
}

static bool flush_eager(const struct machine *m, const uint8_t *state, unsigned t)
{
    const uint16_t *ends = buffer_of(m, state, t);
    return ends[0] < ends[1] && entry_kind(get_entries(m, state)[ends[0]]) != E_STORE;
}

/* Rules 1 and 5 always, 3 and 12 unless they stop an older get. */
static bool nic_eager(const struct machine *m, const uint8_t *state, unsigned q, struct step *step)
{
    const struct qp *qp = &m->qps[q];
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    *step = (struct step){0, qp->thread, (uint16_t)q, 0};
    for (unsigned i = ends[PIPE]; i < ends[WBR]; i++) {
        switch (entry_kind(entries[i])) {
        case E_FENCE:
            step->rule = RULE_FENCE;
            return i == ends[PIPE];
        case E_ACK:
            step->rule = RULE_PUT_CONFIRM;
            if (i == ends[PIPE])
                return true;
            break;
        case E_PUTV:
        case E_AW:
            step->rule = entry_kind(entries[i]) == E_AW ? RULE_ATOMIC_SEND : RULE_PUT_SEND;
            step->at = (uint16_t)(i - ends[PIPE]);
            return true;
        case E_LW:
            break;
        default:
            return false;
        }
    }
    return false;
}

static enum effect take_eager_of_thread(struct worker *w, unsigned t)
{
    const struct machine *m = w->search->machine;
    enum effect effect = EFFECT_OK;
    for (bool any = true; any && effect == EFFECT_OK;) {
        any = false;
        while (effect == EFFECT_OK) {
            enum rule rule = RULE_CPU;
            if (flush_eager(m, w->state, t))
                rule = RULE_FLUSH;
            else if (!cpu_eager(m, w->state, t))
                break;
            effect = take_one(w, (struct step){(uint8_t)rule, (uint8_t)t, NO_QP, 0});
        }
        struct step step;
        for (unsigned q = m->first_qp[t]; q < m->first_qp[t + 1]; q++)
            while (effect == EFFECT_OK && nic_eager(m, w->state, q, &step)) {
                effect = take_one(w, step);
                any = true; /* there may be a completion to poll now */
            }
    }
    return effect;
}

/* What a thread can do eagerly depends on its own store buffer and queue pairs only: those who have taken a step since the
 * last time are `threads`. */
static enum effect take_eager(struct worker *w, uint64_t threads)
{
    enum effect effect = EFFECT_OK;
    for (; threads && effect == EFFECT_OK; threads &= threads - 1)
        effect = take_eager_of_thread(w, (unsigned)__builtin_ctzll(threads));
    return effect;
}

/* --- stubborn sets --- */

static bool single(move_set set)
{
    return set && !(set & (set - 1));
}

/* Enabled moves that depend on no other, nor on anything that is still to come. */
static move_set loose_moves(const struct machine *m, const struct moves *moves, move_set follow[MAX_MOVES])
{
    move_set loose = 0;
    for (move_set rest = moves->enabled & ~moves->spins; rest; rest &= rest - 1) {
        unsigned move = (unsigned)__builtin_ctzll(rest);
        follow[move] = follows(m, moves, move);
        if (!follow[move])
            loose |= rest & -rest;
    }
    return loose;
}

/* The enabled moves to be explored: the fewest that a closure leaves, but never spin starts alone if there is anything
 * else. `follow` is known of the enabled moves that don't start a spin iteration. */
static move_set choose(const struct machine *m, const struct moves *moves, move_set follow[MAX_MOVES])
{
    move_set best = moves->enabled, starts = moves->enabled & ~moves->spins, known = starts, closed = 0;
    move_set closure[MAX_MOVES];
    for (; starts && !single(best); starts &= starts - 1) {
        unsigned first = (unsigned)__builtin_ctzll(starts);
        move_set set = starts & -starts, todo = set;
        while (todo) {
            unsigned move = (unsigned)__builtin_ctzll(todo);
            move_set bit = todo & -todo;
            if (!(known & bit)) {
                follow[move] = follows(m, moves, move);
                known |= bit;
            }
            if (closed & bit) {
                set |= closure[move];
                todo &= ~closure[move];
                continue;
            }
            move_set new = follow[move] & ~set;
            set |= new;
            todo = (todo & ~bit) | new;
        }
        closure[first] = set;
        closed |= starts & -starts;
        set &= moves->enabled;
        if (__builtin_popcountll(set) < __builtin_popcountll(best))
            best = set;
    }
    return best;
}

/* The later in the list come first, so that no position in a pipe is changed by the removal of an older entry. */
static enum effect take_all(struct worker *w, struct moves *moves, move_set set, uint64_t *threads)
{
    enum effect effect = EFFECT_OK;
    for (*threads = 0; set && effect == EFFECT_OK;) {
        unsigned move = 63u - (unsigned)__builtin_clzll(set);
        set &= ~((move_set)1 << move);
        *threads |= UINT64_C(1) << move_thread(moves, move);
        moves->state = w->state;
        effect = take_one(w, move_step(w->search->machine, moves, move));
    }
    return effect;
}

/* Whether this worker has lately been in this state, stored or not; if not, it now has. */
static bool been_there(struct worker *w, struct fingerprint print)
{
    if (w->n_recent <= w->stored && w->n_recent < RECENT_LAST) {
        free(w->recent);
        w->n_recent = w->n_recent ? 4 * w->n_recent : RECENT_FIRST;
        w->recent = xcalloc(w->n_recent, sizeof *w->recent);
    }
    struct fingerprint *slot = &w->recent[print.low & (w->n_recent - 1)];
    if (slot->high == print.high && slot->low == print.low)
        return true;
    *slot = print;
    return false;
}

/* The moves that are to be taken at once: `explore` is false; or to be explored: it is true. */
static move_set next_moves(const struct machine *m, const struct moves *moves, bool *explore)
{
    move_set follow[MAX_MOVES];
    move_set set = loose_moves(m, moves, follow);
    *explore = !set;
    if (!set) {
        set = choose(m, moves, follow);
        *explore = !single(set) || (set & moves->spins);
    }
    return set;
}

static void list_steps(struct worker *w, move_set set, unsigned *n_steps)
{
    worker_reserve(w, state_size(w->search->machine, w->state));
    for (*n_steps = 0; set; set &= set - 1)
        w->steps[(*n_steps)++] = move_step(w->search->machine, w->moves, (unsigned)__builtin_ctzll(set));
}

enum effect reduce(struct worker *w, uint64_t threads, unsigned *n_steps, struct fingerprint *print)
{
    struct machine *m = w->search->machine;
    uint64_t changed = ALL_THREADS; /* since the moves were last found */
    enum effect effect;
    while ((effect = take_eager(w, threads)) == EFFECT_OK) {
        if (w->search->symmetry && symmetry_sort(w))
            changed = ALL_THREADS;
        *print = visited_fingerprint(w->state, state_size(m, w->state));
        if (been_there(w, *print))
            return EFFECT_DROPPED;
        bool explore = true, found = find_moves(m, w->state, changed, w->moves);
        move_set set = found ? next_moves(m, w->moves, &explore) : 0;
        if (!found)
            *n_steps = machine_steps(m, w->state, w->steps);
        else if (explore)
            list_steps(w, set, n_steps);
        if (explore)
            return EFFECT_OK;
        effect = take_all(w, w->moves, set, &threads);
        if (effect != EFFECT_OK)
            break;
        changed = threads;
    }
    return effect;
}
