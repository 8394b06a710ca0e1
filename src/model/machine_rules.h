/* The guards of section 2, one function or table for each, shared by the plain enumeration of steps and the
 * reduced search. The NIC's rules 2, 3, 6 and 9 to 12 are stopped by older entries of certain kinds in the
 * same pipe; that is a table (machine.blocked_by), the rest are the functions below. */
#ifndef REMORA_MODEL_MACHINE_RULES_H
#define REMORA_MODEL_MACHINE_RULES_H

#include "model/machine.h"

enum {
    /* rule 2 */
    STOPS_PUT_READ = KINDS_PUT | KIND(E_FENCE),
    /* rules 3, 6, 9 to 12 */
    STOPS_OTHERS = KINDS_PUT | KIND(E_PUTV) | KINDS_RMW | KIND(E_AW) | KIND(E_FENCE),
    /* rules 1, 5 and 7 work on the head of the pipe: everything older stops them */
    STOPS_ANY = 0xffff
};

static inline unsigned stops(const struct machine *m, enum rule rule)
{
#ifdef REMORA_MUTANTS
    return m->blocked_by[rule];
#else
    (void)m;
    switch (rule) {
    case RULE_PUT_READ:
        return STOPS_PUT_READ;
    case RULE_FENCE:
    case RULE_PUT_CONFIRM:
    case RULE_LOCAL_SEND:
        return STOPS_ANY;
    default:
        return STOPS_OTHERS;
    }
#endif
}

/* What the guards ask of a queue pair besides its pipe. */
struct surroundings {
    bool wbr_empty, wbl_empty, lw_in_wbl, atomic_busy;
};

#ifdef REMORA_MUTANTS
/* machine_mutants.c: the answers of faulty machines, given the right one. */
void mutant_guards(struct machine *);
bool mutant_allowed(const struct machine *, enum rule, const struct surroundings *, bool is);
bool mutant_cpu_enabled(const struct machine *, const uint8_t *state, unsigned thread, bool is);
unsigned mutant_landings(const struct machine *, const uint8_t *state, unsigned qp, struct step *steps);
unsigned mutant_flushes(const struct machine *, const uint8_t *state, unsigned thread, struct step *steps);
#endif

static inline struct surroundings surroundings_of(const struct machine *m, const uint8_t *state,
                                                  const struct qp *qp)
{
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    const entry_t *entries = get_entries(m, state);
    struct surroundings around = {.wbr_empty = ends[WBR] == ends[WBR + 1],
                                  .wbl_empty = ends[WBL] == ends[WBL + 1],
                                  .atomic_busy = get_atomics(state) >> qp->node & 1};
    for (unsigned i = ends[WBL]; i < ends[WBL + 1]; i++)
        around.lw_in_wbl |= entry_kind(entries[i]) == E_LW;
    return around;
}

/* The rule that may be applied to a pipe entry of this kind (RULE_RCAS stands for 9 and 10). */
static inline enum rule rule_for(unsigned kind)
{
    static const uint8_t rules[16] = {
        [E_PUT] = RULE_PUT_READ,    [E_PUT_INLINE] = RULE_PUT_READ, [E_PUTV] = RULE_PUT_SEND,
        [E_ACK] = RULE_PUT_CONFIRM, [E_GET] = RULE_GET_READ,        [E_RCAS] = RULE_RCAS,
        [E_RFAA] = RULE_RFAA,       [E_AW] = RULE_ATOMIC_SEND,      [E_LW] = RULE_LOCAL_SEND,
        [E_FENCE] = RULE_FENCE,
    };
    return (enum rule)rules[kind];
}

/* The rest of the guard of a rule that the pipe does not stop. */
static inline bool allowed(const struct machine *m, enum rule rule, const struct surroundings *around)
{
    bool is = true;
    if (rule == RULE_PUT_READ)
        is = !around->lw_in_wbl;
    else if (rule == RULE_GET_READ)
        is = around->wbr_empty;
    else if (rule == RULE_RCAS || rule == RULE_RCAS_FAIL || rule == RULE_RFAA)
        is = around->wbr_empty && !around->atomic_busy;
#ifdef REMORA_MUTANTS
    is = mutant_allowed(m, rule, around, is);
#endif
    (void)m;
    return is;
}

#endif
