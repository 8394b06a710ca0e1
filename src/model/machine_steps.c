/* Which steps of section 2 are enabled in a state: every one of them, without any reduction. */
#include "model/machine.h"
#include "model/machine_rules.h"

/* --- the NIC --- */

static unsigned pipe_steps(const struct machine *m, const uint8_t *state, unsigned q, struct step *steps)
{
    const struct qp *qp = &m->qps[q];
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    const struct surroundings around = surroundings_of(m, state, qp);
    unsigned n = 0, older = 0;
    for (unsigned i = ends[PIPE]; i < ends[WBR]; i++) {
        unsigned kind = entry_kind(entries[i]);
        enum rule rule = rule_for(kind);
        if (rule == RULE_RCAS && get_memory(m, state)[entry_loc(entries[i])] != entry_e(entries[i]) &&
            !MUTANT(m, M10_ALWAYS))
            rule = RULE_RCAS_FAIL;
        if (!(older & stops(m, rule)) && allowed(m, rule, &around))
            steps[n++] = (struct step){(uint8_t)rule, qp->thread, (uint16_t)q, (uint16_t)(i - ends[PIPE])};
        older |= KIND(kind);
    }
    return n;
}

unsigned machine_nic_steps(const struct machine *m, const uint8_t *state, unsigned q, struct step *steps)
{
    const struct qp *qp = &m->qps[q];
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    unsigned n = ends[PIPE] == ends[WBR] ? 0 : pipe_steps(m, state, q, steps);
#ifdef REMORA_MUTANTS
    if (m->mutant != NO_MUTANT)
        return n + mutant_landings(m, state, q, steps + n);
#endif
    if (ends[WBR] < ends[WBR + 1]) {
        enum rule rule = entry_kind(entries[ends[WBR]]) == E_AW ? RULE_ATOMIC_LAND : RULE_PUT_LAND;
        steps[n++] = (struct step){(uint8_t)rule, qp->thread, (uint16_t)q, 0};
    }
    for (unsigned i = ends[WBL]; i < ends[WBL + 1]; i++)
        if (entry_kind(entries[i]) == E_LW) {
            steps[n++] = (struct step){RULE_LOCAL_LAND, qp->thread, (uint16_t)q, (uint16_t)(i - ends[WBL])};
            break;
        }
    return n;
}

/* --- the CPU --- */

unsigned machine_load(const struct machine *m, const uint8_t *state, unsigned t, unsigned loc)
{
    const uint16_t *ends = buffer_of(m, state, t);
    const entry_t *entries = get_entries(m, state);
    for (unsigned i = ends[1]; i-- > ends[0] && !MUTANT(m, M_LOAD_NOT_FORWARDED);)
        if (entry_kind(entries[i]) == E_STORE && entry_loc(entries[i]) == loc)
            return entry_v(entries[i]);
    return get_memory(m, state)[loc];
}

static bool await_enabled(const struct machine *m, const uint8_t *state, unsigned t,
                          const struct local *local)
{
    for (unsigned i = 0; i < local->n_any; i++) {
        unsigned v = machine_load(m, state, t, local->any[i]);
        if (op_compare(local->cmp, machine_value(m, v), local->increment))
            return true;
    }
    return false;
}

static bool notice_first(const struct machine *m, const uint8_t *state, unsigned q)
{
    const uint16_t *ends = get_ends(m, state) + m->qps[q].fifo;
    return ends[WBL] < ends[WBL + 1] && entry_kind(get_entries(m, state)[ends[WBL]]) == E_CN;
}

static bool same_id(const struct machine *m, entry_t entry, unsigned wid)
{
    return entry_wid(entry) == wid || (MUTANT(m, M_WAIT_ANY_ID) && entry_wid(entry) != PROG_NO_WID);
}

/* Nodes towards which an RDMA operation with this id is still in B. */
static uint64_t buffered_nodes(const struct machine *m, const uint8_t *state, unsigned t, unsigned wid)
{
    const uint16_t *ends = buffer_of(m, state, t);
    const entry_t *entries = get_entries(m, state);
    uint64_t nodes = 0;
    for (unsigned i = ends[0]; i < ends[1] && !MUTANT(m, M_WAIT_IGNORES_BUFFER); i++)
        if (entry_kind(entries[i]) != E_STORE && same_id(m, entries[i], wid))
            nodes |= UINT64_C(1) << entry_node(m, entries[i]);
    return nodes;
}

static bool outstanding(const struct machine *m, const uint8_t *state, const struct qp *qp, unsigned wid)
{
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    for (unsigned i = ends[PIPE]; i < ends[WBR] && !MUTANT(m, M_WAIT_IGNORES_PIPE); i++)
        if (same_id(m, entries[i], wid))
            return true;
    for (unsigned i = ends[WBL]; i < ends[WBL + 1] && !MUTANT(m, M_WAIT_IGNORES_WBL); i++)
        if (entry_kind(entries[i]) == E_CN && same_id(m, entries[i], wid))
            return true;
    return false;
}

unsigned machine_waits_for(const struct machine *m, const uint8_t *state, unsigned t, unsigned wid)
{
    uint64_t buffered = buffered_nodes(m, state, t, wid);
    for (unsigned q = m->first_qp[t]; q < m->first_qp[t + 1]; q++)
        if ((buffered >> m->qps[q].node & 1) || outstanding(m, state, &m->qps[q], wid))
            return q;
    return NO_QP;
}

static bool cpu_enabled(const struct machine *m, const uint8_t *state, unsigned t)
{
    const struct local *local = local_of(m, state, t);
    const uint16_t *ends = buffer_of(m, state, t);
    switch (local->kind) {
    case OP_END:
        return false;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
    case OP_MFENCE:
        return ends[0] == ends[1];
    case OP_AWAIT:
        return await_enabled(m, state, t, local);
    case OP_POLL:
        return local_qp(m, t, local) != NO_QP && notice_first(m, state, local_qp(m, t, local));
    case OP_WAIT: {
        unsigned q = machine_waits_for(m, state, t, local->wid);
        return q == NO_QP || notice_first(m, state, q);
    }
    default:
        return true;
    }
}

bool machine_cpu_enabled(const struct machine *m, const uint8_t *state, unsigned t)
{
#ifdef REMORA_MUTANTS
    return mutant_cpu_enabled(m, state, t, cpu_enabled(m, state, t));
#else
    return cpu_enabled(m, state, t);
#endif
}

/* --- all of them --- */

unsigned machine_steps_bound(const struct machine *m, const uint8_t *state)
{
    return 2u * get_ends(m, state)[m->n_fifos] + 2 * m->n_threads;
}

unsigned machine_steps(const struct machine *m, const uint8_t *state, struct step *steps)
{
    unsigned n = 0;
    for (unsigned t = 0; t < m->n_threads; t++) {
        if (machine_cpu_enabled(m, state, t))
            steps[n++] = (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0};
        const uint16_t *ends = buffer_of(m, state, t);
        if (ends[0] < ends[1])
            steps[n++] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, 0};
#ifdef REMORA_MUTANTS
        n += mutant_flushes(m, state, t, steps + n);
#endif
    }
    for (unsigned q = 0; q < m->n_qps; q++)
        n += machine_nic_steps(m, state, q, steps + n);
    return n;
}
