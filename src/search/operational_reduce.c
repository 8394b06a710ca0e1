/* The partial-order reduction of the operational engine; docs/reduction.md says what is reduced and why
 * nothing is lost. First the steps that depend on nothing that could come before them, then a stubborn set
 * over the moves that are left. */
#include "base/arena.h"
#include "search/operational.h"
#include "search/operational_moves.h"

static void note(struct log *log, struct step step)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->steps = xrealloc(log->steps, log->capacity * sizeof *log->steps);
    }
    log->steps[log->n++] = step;
}

enum effect take(struct worker *w, struct step step)
{
    struct machine *m = w->search->machine;
    struct step steps[SPIN_STEPS] = {step};
    unsigned n = 1;
    if (w->search->reduced && step.rule == RULE_CPU &&
        local_of(m, w->state, step.thread)->kind == OP_SPIN_BEGIN)
        n = spin_steps(m, w->state, step.thread, steps);
    enum effect effect = EFFECT_OK;
    for (unsigned i = 0; i < n && effect == EFFECT_OK; i++) {
        worker_reserve(w, state_size(m, w->state));
        effect = machine_apply(m, w->state, steps[i]);
        if (w->log.on)
            note(&w->log, steps[i]);
    }
    return effect;
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
    const uint16_t *ends = get_ends(m, state);
    return ends[t] < ends[t + 1] && entry_kind(get_entries(m, state)[ends[t]]) != E_STORE;
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

static enum effect take_eager_of_thread(struct worker *w, unsigned t, bool *any)
{
    const struct machine *m = w->search->machine;
    enum effect effect = EFFECT_OK;
    while (effect == EFFECT_OK) {
        enum rule rule = RULE_CPU;
        if (flush_eager(m, w->state, t))
            rule = RULE_FLUSH;
        else if (!cpu_eager(m, w->state, t))
            break;
        effect = take(w, (struct step){(uint8_t)rule, (uint8_t)t, NO_QP, 0});
        *any = true;
    }
    return effect;
}

static enum effect take_eager(struct worker *w)
{
    const struct machine *m = w->search->machine;
    enum effect effect = EFFECT_OK;
    for (bool any = true; any && effect == EFFECT_OK;) {
        any = false;
        for (unsigned t = 0; t < m->n_threads && effect == EFFECT_OK; t++)
            effect = take_eager_of_thread(w, t, &any);
        struct step step;
        for (unsigned q = 0; q < m->n_qps && effect == EFFECT_OK; q++)
            while (effect == EFFECT_OK && nic_eager(m, w->state, q, &step)) {
                effect = take(w, step);
                any = true;
            }
    }
    return effect;
}

/* --- stubborn sets --- */

static move_set closure(const struct machine *m, const struct moves *moves, unsigned first)
{
    move_set set = (move_set)1 << first, todo = set;
    while (todo) {
        unsigned move = (unsigned)__builtin_ctzll(todo);
        move_set new = follows(m, moves, move) & ~set;
        set |= new;
        todo = (todo & (todo - 1)) | new;
    }
    return set;
}

/* The enabled moves to be explored: the fewest that a closure leaves, but never spin starts alone if there is
 * anything else. */
static move_set choose(const struct machine *m, const struct moves *moves)
{
    move_set best = moves->enabled;
    for (move_set rest = moves->enabled & ~moves->spins; rest; rest &= rest - 1) {
        move_set set = closure(m, moves, (unsigned)__builtin_ctzll(rest)) & moves->enabled;
        if (__builtin_popcountll(set) < __builtin_popcountll(best))
            best = set;
        if (__builtin_popcountll(best) == 1)
            break;
    }
    return best;
}

enum effect reduce(struct worker *w, unsigned *n_steps)
{
    struct machine *m = w->search->machine;
    struct moves moves;
    for (;;) {
        enum effect effect = take_eager(w);
        if (effect != EFFECT_OK)
            return effect;
        worker_reserve(w, state_size(m, w->state));
        if (!find_moves(m, w->state, &moves)) {
            *n_steps = machine_steps(m, w->state, w->steps);
            return EFFECT_OK;
        }
        move_set set = choose(m, &moves);
        if (__builtin_popcountll(set) != 1 || (set & moves.spins)) {
            *n_steps = 0;
            for (; set; set &= set - 1)
                w->steps[(*n_steps)++] = moves.steps[__builtin_ctzll(set)];
            return EFFECT_OK;
        }
        effect = take(w, moves.steps[__builtin_ctzll(set)]);
        if (effect != EFFECT_OK)
            return effect;
    }
}
