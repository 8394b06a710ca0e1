/* Layout and first state of the machine of RDMA-TSO (section 2 of the specification; see machine.h). */
#include "model/machine.h"

#include "base/arena.h"
#include "model/machine_intern.h"
#include "model/machine_rules.h"

#include <stdlib.h>

static void find_qps(struct machine *m, struct arena *arena)
{
    const struct program *p = m->program;
    m->qp_of = ARENA_ARRAY(arena, uint16_t, m->n_threads * m->n_nodes);
    m->first_qp = ARENA_ARRAY(arena, uint16_t, m->n_threads + 1);
    m->buffer = ARENA_ARRAY(arena, uint16_t, m->n_threads + 1);
    m->qps = ARENA_ARRAY(arena, struct qp, m->n_threads * m->n_nodes);
    for (unsigned t = 0; t < m->n_threads; t++) {
        m->buffer[t] = (uint16_t)(t + 3 * m->n_qps);
        uint64_t nodes = p->ops->future(p, t, 0)->nic_nodes;
        for (unsigned n = 0; n < m->n_nodes; n++) {
            uint16_t *of = &m->qp_of[t * m->n_nodes + n];
            *of = NO_QP;
            if (!(nodes >> n & 1))
                continue;
            *of = (uint16_t)m->n_qps;
            m->qps[m->n_qps] = (struct qp){
                .fifo = (uint16_t)(t + 1 + 3 * m->n_qps), .thread = (uint8_t)t, .node = (uint8_t)n};
            m->n_qps++;
        }
        m->first_qp[t + 1] = (uint16_t)m->n_qps;
    }
    m->n_fifos = m->n_threads + 3 * m->n_qps;
}

static void lay_out(struct machine *m)
{
    m->locals_at = sizeof(uint64_t);
    m->memory_at = m->locals_at + (unsigned)sizeof(uint32_t) * m->n_threads;
    m->ends_at = m->memory_at + (unsigned)sizeof(uint16_t) * m->n_locs;
    unsigned end = m->ends_at + (unsigned)sizeof(uint16_t) * (m->n_fifos + 1);
    m->entries_at = (end + 7) & ~7u;
}

/* Locations that several threads may reach get a bit of their own first, then A[n], then the private ones. */
static void give_bits(struct machine *m, struct arena *arena)
{
    const struct program *p = m->program;
    unsigned bit = 0;
    m->loc_bit = ARENA_ARRAY(arena, uint64_t, m->n_locs);
    m->atomic_bit = ARENA_ARRAY(arena, uint64_t, m->n_nodes);
    for (unsigned x = 0; x < m->n_locs; x++)
        if (p->locs[x].owner == UINT16_MAX)
            m->loc_bit[x] = UINT64_C(1) << (bit++ % 64);
    for (unsigned n = 0; n < m->n_nodes; n++)
        m->atomic_bit[n] = UINT64_C(1) << (bit++ % 64);
    for (unsigned x = 0; x < m->n_locs; x++)
        if (p->locs[x].owner != UINT16_MAX)
            m->loc_bit[x] = UINT64_C(1) << (bit++ % 64);
    m->n_bits = bit < 64 ? bit : 64;
}

struct machine *machine_new(struct arena *arena, const struct program *program, bool symmetric,
                            const char **why)
{
    struct machine *m = ARENA_NEW(arena, struct machine);
    m->program = program;
    m->n_threads = program->n_threads;
    m->n_nodes = program->n_nodes;
    m->n_locs = program->n_locs;
    if (m->n_threads > PROG_MAX_THREADS || m->n_nodes > PROG_MAX_NODES || m->n_locs > PROG_MAX_LOCS) {
        *why = "too many threads, nodes or locations for the operational engine";
        return NULL;
    }
    m->mutant = mutant_chosen();
    m->loc_node = ARENA_ARRAY(arena, uint8_t, m->n_locs);
    unsigned most_regs = 0;
    for (unsigned t = 0; t < m->n_threads; t++)
        m->class_of[t] = symmetric ? program->thread_class[t] : (uint8_t)t;
    for (unsigned x = 0; x < m->n_locs; x++)
        m->loc_node[x] = (uint8_t)program->locs[x].node;
    for (unsigned t = 0; t < m->n_threads; t++)
        most_regs = program->n_regs[t] > most_regs ? program->n_regs[t] : most_regs;
    find_qps(m, arena);
    lay_out(m);
    give_bits(m, arena);
#ifdef REMORA_MUTANTS
    mutant_guards(m);
#endif
    m->values = values_new();
    m->locals = locals_new(m, most_regs);
    m->start = ARENA_ARRAY(arena, uint32_t, m->n_threads);
    for (unsigned t = 0; t < m->n_threads; t++)
        m->start[t] = locals_first(m, m->class_of[t]);
    return m;
}

void machine_free(struct machine *m)
{
    values_free(m->values);
    locals_free(m->locals);
}

const char *machine_why(const struct machine *m)
{
    (void)m;
    return "more than 65,536 different values, or more than 65,535 operations under way at once";
}

size_t machine_bytes(const struct machine *m)
{
    return locals_bytes(m->locals);
}

uint64_t machine_value(const struct machine *m, unsigned number)
{
    return values_get(m->values, number);
}

size_t machine_first_size(const struct machine *m)
{
    return m->entries_at;
}

static bool dropped(const struct local *local)
{
    return local->kind == OP_DROP || local->kind == OP_SPIN_FAIL;
}

enum effect machine_first(struct machine *m, uint8_t *state)
{
    memset(state, 0, m->entries_at);
    for (unsigned x = 0; x < m->n_locs; x++) {
        int v = values_number(m->values, m->program->locs[x].init);
        if (v == NO_VALUE)
            return EFFECT_FULL;
        state_memory(m, state)[x] = (uint16_t)v;
    }
    for (unsigned t = 0; t < m->n_threads; t++) {
        if (m->start[t] == LOCAL_NONE)
            return EFFECT_FULL;
        state_locals(m, state)[t] = m->start[t];
        if (dropped(machine_local(m, m->start[t])))
            return EFFECT_DROPPED;
    }
    return EFFECT_OK;
}

bool machine_complete(const struct machine *m, const uint8_t *state)
{
    const uint16_t *ends = get_ends(m, state);
    for (unsigned t = 0; t < m->n_threads; t++)
        if (local_of(m, state, t)->kind != OP_END)
            return false;
    for (unsigned t = 0; t < m->n_threads; t++)
        if (ends[m->buffer[t]] != ends[m->buffer[t] + 1])
            return false;
    for (unsigned q = 0; q < m->n_qps; q++) {
        const uint16_t *end = ends + m->qps[q].fifo;
        if (end[PIPE] != end[WBL])
            return false;
    }
    const entry_t *entries = get_entries(m, state);
    for (unsigned i = 0; i < ends[m->n_fifos]; i++)
        if (entry_kind(entries[i]) != E_CN)
            return false;
    return true;
}
