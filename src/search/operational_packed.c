/* See operational_packed.h. */
#include "search/operational_packed.h"

#include "base/arena.h"
#include "model/machine_intern.h"
#include "model/machine_rules.h"

#include <stdlib.h>

void packed_reserve(struct packed *packed, size_t state_size)
{
    enum { SLACK = 256 }; /* entries */
    size_t wanted = state_size + STEP_GROWTH + sizeof(entry_t);
    if (packed->capacity >= wanted)
        return;
    packed->capacity = 2 * wanted + SLACK * sizeof(entry_t);
    packed->state = xrealloc(packed->state, packed->capacity);
    packed->room =
        (unsigned)((packed->capacity - packed->machine->entries_at - STEP_GROWTH) / sizeof(entry_t) - 1);
}

void packed_free(struct packed *packed)
{
    free(packed->state);
}

void log_step(struct log *log, struct step step)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->steps = xrealloc(log->steps, log->capacity * sizeof *log->steps);
    }
    log->steps[log->n++] = step;
}

enum effect packed_take(struct packed *packed, struct step step)
{
    struct machine *m = packed->machine;
    if (get_ends(m, packed->state)[m->n_fifos] >= packed->room)
        packed_reserve(packed, packed->capacity);
    if (packed->log)
        log_step(packed->log, step);
    return machine_apply(m, packed->state, step);
}

/* --- spin loops --- */

const struct local *spin_read(struct machine *m, uint32_t number)
{
    uint32_t first = locals_after(m, number, 0);
    if (first == LOCAL_NONE)
        return NULL;
    const struct local *local = machine_local(m, first);
    if (local->kind == OP_LOAD)
        return local;
    if (local->kind != OP_GET || local->wid == PROG_NO_WID)
        return NULL;
    uint32_t second = locals_after(m, first, 0);
    if (second == LOCAL_NONE)
        return NULL;
    const struct local *then = machine_local(m, second);
    return then->kind == OP_WAIT && then->wid == local->wid ? local : NULL;
}

unsigned spin_steps(struct machine *m, const uint8_t *state, unsigned t, struct step steps[SPIN_STEPS])
{
    const struct local *read = spin_read(m, get_locals(m, state)[t]);
    steps[0] = steps[1] = (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0};
    if (!read)
        return 1;
    if (read->kind == OP_LOAD)
        return 2;
    unsigned q = local_qp(m, t, read);
    const uint16_t *buffer = buffer_of(m, state, t), *ends = get_ends(m, state) + m->qps[q].fifo;
    if (buffer[0] < buffer[1] || ends[WBR] < ends[WBR + 1])
        return 0;
    for (unsigned i = ends[PIPE]; i < ends[WBR]; i++)
        if (KIND(entry_kind(get_entries(m, state)[i])) & STOPS_OTHERS)
            return 0;
    steps[2] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, 0};
    steps[3] = (struct step){RULE_GET_READ, (uint8_t)t, (uint16_t)q, (uint16_t)(ends[WBR] - ends[PIPE])};
    return 4;
}

enum effect packed_take_whole(struct packed *packed, struct step step)
{
    struct machine *m = packed->machine;
    if (step.rule != RULE_CPU || local_of(m, packed->state, step.thread)->kind != OP_SPIN_BEGIN)
        return packed_take(packed, step);
    struct step steps[SPIN_STEPS];
    unsigned n = spin_steps(m, packed->state, step.thread, steps);
    enum effect effect = EFFECT_OK;
    for (unsigned i = 0; i < n && effect == EFFECT_OK; i++)
        effect = packed_take(packed, steps[i]);
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

static enum effect take_eager_cpu(struct packed *packed, unsigned t)
{
    const struct machine *m = packed->machine;
    enum effect effect = EFFECT_OK;
    while (effect == EFFECT_OK) {
        enum rule rule = RULE_CPU;
        if (flush_eager(m, packed->state, t))
            rule = RULE_FLUSH;
        else if (!cpu_eager(m, packed->state, t))
            break;
        effect = packed_take(packed, (struct step){(uint8_t)rule, (uint8_t)t, NO_QP, 0});
    }
    return effect;
}

enum effect packed_take_eager(struct packed *packed, unsigned t)
{
    const struct machine *m = packed->machine;
    enum effect effect = EFFECT_OK;
    for (bool any = true; any && effect == EFFECT_OK;) {
        any = false;
        effect = take_eager_cpu(packed, t);
        struct step step;
        for (unsigned q = m->first_qp[t]; q < m->first_qp[t + 1]; q++)
            while (effect == EFFECT_OK && nic_eager(m, packed->state, q, &step)) {
                effect = packed_take(packed, step);
                any = true; /* there may be a completion to poll now */
            }
    }
    return effect;
}
