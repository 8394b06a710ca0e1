/* What the steps of section 2 do to a state. */
#include "model/machine.h"
#include "model/machine_intern.h"

enum { MAX_ENTRIES = UINT16_MAX - 2 };

/* --- FIFOs --- */

static void insert(const struct machine *m, uint8_t *state, unsigned fifo, unsigned at, entry_t entry)
{
    uint16_t *ends = state_ends(m, state);
    entry_t *entries = state_entries(m, state);
    memmove(entries + at + 1, entries + at, (ends[m->n_fifos] - at) * sizeof *entries);
    entries[at] = entry;
    for (unsigned f = fifo + 1; f <= m->n_fifos; f++)
        ends[f]++;
}

static void append(const struct machine *m, uint8_t *state, unsigned fifo, entry_t entry)
{
    insert(m, state, fifo, get_ends(m, state)[fifo + 1], entry);
}

static void remove_at(const struct machine *m, uint8_t *state, unsigned fifo, unsigned at)
{
    uint16_t *ends = state_ends(m, state);
    entry_t *entries = state_entries(m, state);
    memmove(entries + at, entries + at + 1, (ends[m->n_fifos] - at - 1u) * sizeof *entries);
    for (unsigned f = fifo + 1; f <= m->n_fifos; f++)
        ends[f]--;
}

/* --- the CPU --- */

static enum effect move_on(struct machine *m, uint8_t *state, unsigned t, unsigned result)
{
    uint32_t after = locals_after(m, get_locals(m, state)[t], result);
    if (after == LOCAL_NONE)
        return EFFECT_FULL;
    state_locals(m, state)[t] = after;
    unsigned kind = machine_local(m, after)->kind;
    return kind == OP_DROP || kind == OP_SPIN_FAIL ? EFFECT_DROPPED : EFFECT_OK;
}

static enum effect locked(struct machine *m, uint8_t *state, unsigned t, const struct local *local)
{
    uint16_t *cell = &state_memory(m, state)[local->loc];
    unsigned old = *cell;
    int new = local->v;
    if (local->kind == OP_CAS && old != local->e)
        new = (int)old;
    if (local->kind == OP_FAA)
        new = values_number(m->values, machine_value(m, old) + local->increment);
    if (new == NO_VALUE)
        return EFFECT_FULL;
    *cell = (uint16_t) new;
    return move_on(m, state, t, old);
}

static enum effect await(struct machine *m, uint8_t *state, unsigned t, const struct local *local)
{
    for (unsigned i = 0; i < local->n_any; i++) {
        unsigned v = machine_load(m, state, t, local->any[i]);
        if (op_compare(local->cmp, machine_value(m, v), local->increment))
            return move_on(m, state, t, v);
    }
    return EFFECT_DROPPED; /* not reached: the step was enabled */
}

static enum effect poll(struct machine *m, uint8_t *state, unsigned q)
{
    unsigned fifo = m->qps[q].fifo + WBL;
    unsigned at = get_ends(m, state)[fifo];
    if (MUTANT(m, M_POLL_PASSES_LW) || MUTANT(m, M_POLL_NEVER_BLOCKS))
        while (at < get_ends(m, state)[fifo + 1] && entry_kind(get_entries(m, state)[at]) != E_CN)
            at++;
    if (at < get_ends(m, state)[fifo + 1])
        remove_at(m, state, fifo, at);
    return EFFECT_OK;
}

static enum effect cpu(struct machine *m, uint8_t *state, unsigned t)
{
    const struct local *local = local_of(m, state, t);
    switch (local->kind) {
    case OP_LOAD:
        return move_on(m, state, t, machine_load(m, state, t, local->loc));
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        return locked(m, state, t, local);
    case OP_AWAIT:
        return await(m, state, t, local);
    case OP_POLL:
        poll(m, state, local_qp(m, t, local));
        return move_on(m, state, t, 0);
    case OP_WAIT: {
        unsigned q = machine_waits_for(m, state, t, local->wid);
        return q == NO_QP ? move_on(m, state, t, 0) : poll(m, state, q);
    }
    case OP_STORE:
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
    case OP_RFENCE:
        if (get_ends(m, state)[m->n_fifos] >= MAX_ENTRIES)
            return EFFECT_FULL;
        append(m, state, m->buffer[t], local->entry);
        return move_on(m, state, t, 0);
    default: /* mfence, the start of a spin iteration */
        return move_on(m, state, t, 0);
    }
}

static void flush(struct machine *m, uint8_t *state, struct step step)
{
    unsigned t = step.thread, at = buffer_of(m, state, t)[0] + step.at;
    entry_t entry = get_entries(m, state)[at];
    remove_at(m, state, m->buffer[t], at);
    if (entry_kind(entry) == E_STORE)
        state_memory(m, state)[entry_loc(entry)] = (uint16_t)entry_v(entry);
    else
        append(m, state, m->qps[m->qp_of[t * m->n_nodes + entry_node(m, entry)]].fifo, entry);
}

/* --- the NIC --- */

static entry_t put_value(entry_t put, unsigned v)
{
    return entry_make(E_PUTV, entry_wid(put), entry_loc(put), 0, v, 0);
}

static entry_t local_write(entry_t operation, unsigned v)
{
    return entry_make(E_LW, entry_wid(operation), 0, entry_local(operation), v, 0);
}

/* Rules 10 and 11: the operation becomes AW, LW. */
static enum effect atomic_read(struct machine *m, uint8_t *state, const struct qp *qp, unsigned at,
                               entry_t operation)
{
    unsigned old = get_memory(m, state)[entry_loc(operation)];
    int new = (int)entry_v(operation);
    if (entry_kind(operation) == E_RFAA)
        new = values_number(m->values, machine_value(m, old) + machine_value(m, entry_v(operation)));
    if (new == NO_VALUE || get_ends(m, state)[m->n_fifos] >= MAX_ENTRIES)
        return EFFECT_FULL;
    state_entries(m, state)[at] = entry_make(E_AW, 0, entry_loc(operation), 0, (unsigned)new, 0);
    insert(m, state, qp->fifo + PIPE, at + 1, local_write(operation, old));
    *state_atomics(state) |= UINT64_C(1) << qp->node;
    return EFFECT_OK;
}

static void notice(const struct machine *m, uint8_t *state, const struct qp *qp, entry_t operation)
{
    if (!m->forget_unwaited || entry_wid(operation) != PROG_NO_WID)
        append(m, state, qp->fifo + WBL, entry_make(E_CN, entry_wid(operation), 0, 0, 0, 0));
}

/* Rules 4, 8 and 13. */
static void land(const struct machine *m, uint8_t *state, const struct qp *qp, unsigned fifo, unsigned at)
{
    entry_t write = get_entries(m, state)[at];
    unsigned loc = entry_kind(write) == E_LW ? entry_local(write) : entry_loc(write);
    state_memory(m, state)[loc] = (uint16_t)entry_v(write);
    if (entry_kind(write) == E_AW)
        *state_atomics(state) &= ~(UINT64_C(1) << qp->node);
    remove_at(m, state, fifo, at);
}

static enum effect nic(struct machine *m, uint8_t *state, struct step step)
{
    const struct qp *qp = &m->qps[step.qp];
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    unsigned at = ends[PIPE] + step.at;
    entry_t *entry = state_entries(m, state) + at, old = *entry;
    switch ((enum rule)step.rule) {
    case RULE_FENCE:
        remove_at(m, state, qp->fifo, at);
        break;
    case RULE_PUT_READ:
        *entry =
            put_value(old, entry_kind(old) == E_PUT ? get_memory(m, state)[entry_local(old)] : entry_v(old));
        break;
    case RULE_PUT_SEND:
        *entry = entry_make(E_ACK, entry_wid(old), 0, 0, 0, 0);
        append(m, state, qp->fifo + WBR, entry_make(E_W, 0, entry_loc(old), 0, entry_v(old), 0));
        break;
    case RULE_PUT_CONFIRM:
        remove_at(m, state, qp->fifo, at);
        notice(m, state, qp, old);
        break;
    case RULE_GET_READ:
    case RULE_RCAS_FAIL:
        *entry = local_write(old, get_memory(m, state)[entry_loc(old)]);
        break;
    case RULE_RCAS:
    case RULE_RFAA:
        return atomic_read(m, state, qp, at, old);
    case RULE_LOCAL_SEND:
        remove_at(m, state, qp->fifo, at);
        append(m, state, qp->fifo + WBL, entry_make(E_LW, 0, 0, entry_local(old), entry_v(old), 0));
        notice(m, state, qp, old);
        break;
    case RULE_ATOMIC_SEND:
        remove_at(m, state, qp->fifo, at);
        append(m, state, qp->fifo + WBR, old);
        if (MUTANT(m, M13_FREES_EARLY))
            *state_atomics(state) &= ~(UINT64_C(1) << qp->node);
        break;
    case RULE_PUT_LAND:
    case RULE_ATOMIC_LAND:
        land(m, state, qp, qp->fifo + WBR, ends[WBR] + step.at);
        break;
    default:
        land(m, state, qp, qp->fifo + WBL, ends[WBL] + step.at);
        break;
    }
    return EFFECT_OK;
}

enum effect machine_apply(struct machine *m, uint8_t *state, struct step step)
{
    if (step.rule == RULE_CPU)
        return cpu(m, state, step.thread);
    if (step.rule == RULE_FLUSH) {
        flush(m, state, step);
        return EFFECT_OK;
    }
    return nic(m, state, step);
}
