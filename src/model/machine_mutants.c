/* Faulty machines (see mutants.h and mutants.def): how each mutant's guards differ from those of section 2.
 * Faults in effects stand where the effect is. */
#include "model/machine_rules.h"

#ifndef REMORA_MUTANTS

int mutant_chosen(void)
{
    return NO_MUTANT;
}

#else

#include <stdlib.h>

int mutant_chosen(void)
{
    static const char *const names[N_MUTANTS] = {
        "",
#define MUTANT_ENTRY(name, rule, dropped, added, text) #name,
#include "model/mutants.def"
#undef MUTANT_ENTRY
    };
    const char *wanted = getenv("REMORA_MUTANT");
    for (int i = NO_MUTANT + 1; wanted && i < N_MUTANTS; i++)
        if (strcmp(wanted, names[i]) == 0)
            return i;
    return NO_MUTANT;
}

void mutant_guards(struct machine *m)
{
    static const struct {
        unsigned rule, dropped, added;
    } changes[N_MUTANTS] = {
        {0, 0, 0},
#define MUTANT_ENTRY(name, rule, dropped, added, text) {rule, dropped, added},
#include "model/mutants.def"
#undef MUTANT_ENTRY
    };
    for (unsigned rule = 0; rule < 14; rule++)
        m->blocked_by[rule] = rule == RULE_PUT_READ ? STOPS_PUT_READ : STOPS_OTHERS;
    m->blocked_by[RULE_FENCE] = m->blocked_by[RULE_PUT_CONFIRM] = m->blocked_by[RULE_LOCAL_SEND] = STOPS_ANY;
    unsigned *stops = &m->blocked_by[changes[m->mutant].rule];
    *stops = (*stops & ~changes[m->mutant].dropped) | changes[m->mutant].added;
}

/* --- the NIC --- */

bool mutant_allowed(const struct machine *m, enum rule rule, const struct surroundings *around, bool is)
{
    switch (m->mutant) {
    case M1_WAITS_WBR:
        return is && (rule != RULE_FENCE || around->wbr_empty);
    case M1_WAITS_WBL:
        return is && (rule != RULE_FENCE || !around->lw_in_wbl);
    case M2_IGNORES_WBL:
        return is || rule == RULE_PUT_READ;
    case M2_WAITS_WBR:
        return is && (rule != RULE_PUT_READ || around->wbr_empty);
    case M2_WAITS_POLL:
        return is && (rule != RULE_PUT_READ || around->wbl_empty);
    case M3_WAITS_WBR:
        return is && (rule != RULE_PUT_SEND || around->wbr_empty);
    case M5_WAITS_WBR:
        return is && (rule != RULE_PUT_CONFIRM || around->wbr_empty);
    case M6_IGNORES_WBR:
        return is || rule == RULE_GET_READ;
    case M6_WAITS_WBL:
        return is && (rule != RULE_GET_READ || !around->lw_in_wbl);
    case M7_WAITS_WBR:
        return is && (rule != RULE_LOCAL_SEND || around->wbr_empty);
    case M9_IGNORES_WBR:
        return is || (rule == RULE_RCAS_FAIL && !around->atomic_busy);
    case M9_IGNORES_ATOMIC:
        return is || (rule == RULE_RCAS_FAIL && around->wbr_empty);
    case M10_IGNORES_WBR:
        return is || (rule == RULE_RCAS && !around->atomic_busy);
    case M10_IGNORES_ATOMIC:
        return is || (rule == RULE_RCAS && around->wbr_empty);
    case M11_IGNORES_WBR:
        return is || (rule == RULE_RFAA && !around->atomic_busy);
    case M11_IGNORES_ATOMIC:
        return is || (rule == RULE_RFAA && around->wbr_empty);
    default:
        return is;
    }
}

static bool holds_kind(const struct machine *m, const uint8_t *state, unsigned fifo, unsigned kind)
{
    const uint16_t *ends = get_ends(m, state) + fifo;
    for (unsigned i = ends[0]; i < ends[1]; i++)
        if (entry_kind(get_entries(m, state)[i]) == kind)
            return true;
    return false;
}

static bool remote_lands(const struct machine *m, const uint8_t *state, unsigned fifo, unsigned at,
                         bool atomic)
{
    switch (m->mutant) {
    case M4_NOT_OLDEST:
        return at == 0 || !atomic;
    case M4_WAITS_CONFIRM:
        return at == 0 && (atomic || !holds_kind(m, state, fifo + PIPE, E_ACK));
    case M13_NOT_OLDEST:
        return true;
    case M13_WAITS_WBL:
        return at == 0 && (!atomic || !(holds_kind(m, state, fifo + PIPE, E_LW) ||
                                        holds_kind(m, state, fifo + WBL, E_LW)));
    default:
        return at == 0;
    }
}

static bool local_lands(const struct machine *m, unsigned at, bool first)
{
    switch (m->mutant) {
    case M8_NOT_OLDEST:
        return true;
    case M8_STOPPED_BY_CN:
        return at == 0;
    default:
        return first;
    }
}

unsigned mutant_landings(const struct machine *m, const uint8_t *state, unsigned q, struct step *steps)
{
    const struct qp *qp = &m->qps[q];
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    unsigned n = 0;
    for (unsigned i = ends[WBR]; i < ends[WBR + 1]; i++) {
        bool atomic = entry_kind(entries[i]) == E_AW;
        unsigned at = i - ends[WBR];
        if (remote_lands(m, state, qp->fifo, at, atomic))
            steps[n++] = (struct step){atomic ? RULE_ATOMIC_LAND : RULE_PUT_LAND, qp->thread, (uint16_t)q,
                                       (uint16_t)at};
    }
    bool first = true;
    for (unsigned i = ends[WBL]; i < ends[WBL + 1]; i++) {
        if (entry_kind(entries[i]) != E_LW)
            continue;
        if (local_lands(m, i - ends[WBL], first))
            steps[n++] = (struct step){RULE_LOCAL_LAND, qp->thread, (uint16_t)q, (uint16_t)(i - ends[WBL])};
        first = false;
    }
    return n;
}

/* --- the CPU --- */

static bool pipes_empty(const struct machine *m, const uint8_t *state, unsigned t)
{
    for (unsigned q = 0; q < m->n_qps; q++) {
        const uint16_t *ends = get_ends(m, state) + m->qps[q].fifo;
        if (m->qps[q].thread == t && ends[PIPE] < ends[WBR])
            return false;
    }
    return true;
}

static bool poll_enabled(const struct machine *m, const uint8_t *state, unsigned q, bool is)
{
    if (q == NO_QP || m->mutant == M_POLL_NEVER_BLOCKS)
        return q != NO_QP;
    unsigned fifo = m->qps[q].fifo;
    const uint16_t *ends = get_ends(m, state) + fifo;
    if (m->mutant == M_POLL_PASSES_LW)
        return holds_kind(m, state, fifo + WBL, E_CN);
    return m->mutant == M_POLL_WAITS_WBR ? is && ends[WBR] == ends[WBR + 1] : is;
}

bool mutant_cpu_enabled(const struct machine *m, const uint8_t *state, unsigned t, bool is)
{
    const struct local *local = local_of(m, state, t);
    bool drained = buffer_of(m, state, t)[0] == buffer_of(m, state, t)[1];
    switch (local->kind) {
    case OP_LOAD:
        return is && (m->mutant != M_LOAD_WAITS || drained);
    case OP_CAS:
        return is || m->mutant == M_CAS_PASSES;
    case OP_FAA:
        return is || m->mutant == M_FAA_PASSES;
    case OP_XCHG:
        return is || m->mutant == M_XCHG_PASSES;
    case OP_MFENCE:
        if (m->mutant == M_MFENCE_WAITS_NIC)
            return is && pipes_empty(m, state, t);
        return is || m->mutant == M_MFENCE_PASSES;
    case OP_POLL:
        return poll_enabled(m, state, local_qp(m, t, local), is);
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
    case OP_RFENCE:
        return is && (m->mutant != M_ISSUE_WAITS || drained);
    default:
        return is;
    }
}

/* Flushes of other entries than the oldest. */
unsigned mutant_flushes(const struct machine *m, const uint8_t *state, unsigned t, struct step *steps)
{
    const uint16_t *ends = buffer_of(m, state, t);
    unsigned n = 0, older = 0;
    for (unsigned i = ends[0]; i < ends[1]; i++) {
        unsigned kind = KIND(entry_kind(get_entries(m, state)[i]));
        bool passes = (m->mutant == M_FLUSH_NOT_OLDEST && kind == KIND(E_STORE)) ||
                      (m->mutant == M_FLUSH_NIC_FIRST && kind != KIND(E_STORE) && older == KIND(E_STORE));
        if (older && passes)
            steps[n++] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, (uint16_t)(i - ends[0])};
        older |= kind;
    }
    return n;
}

#endif
