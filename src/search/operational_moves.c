/* See operational_moves.h. */
#include "search/operational_moves.h"

enum { CPU_MOVE, BUFFER_MOVE };

/* --- finding them --- */

move_set enabled_moves(const struct parts *parts, const struct part *part, const uint8_t *compound)
{
    move_set enabled = part->enabled;
    unsigned value;
    uint64_t atomics = get_atomics(compound);
    for (move_set rest = atomics ? part->rmws : 0; rest; rest &= rest - 1) {
        const struct move *move = &part->move[__builtin_ctzll(rest)];
        if (atomics >> parts->machine->qps[move->step.qp].node & 1)
            enabled &= ~(rest & -rest);
    }
    if (part->awaits && part_await(parts, part, get_compound_memory(parts, compound), &value))
        enabled |= 1 << CPU_MOVE;
    return enabled;
}

bool find_moves(const struct parts *parts, const uint8_t *compound, struct moves *moves)
{
    const uint32_t *numbers = get_compound_parts(compound);
    unsigned threads = parts->machine->n_threads, n = 0;
    move_set enabled = 0, spins = 0;
    for (unsigned t = 0; t < threads; t++) {
        const struct part *part = part_get(parts, numbers[t]);
        if (n + part->n > MAX_MOVES)
            return false;
        moves->part[t] = part;
        moves->first[t] = (uint8_t)n;
        enabled |= enabled_moves(parts, part, compound) << n;
        spins |= part->spins << n;
        n += part->n;
    }
    moves->parts = parts;
    moves->compound = compound;
    moves->first[threads] = (uint8_t)n;
    moves->n = n;
    moves->enabled = enabled;
    moves->spins = spins;
    return true;
}

/* --- dependence --- */

/* Moves of the part that are, or stand before, an access that conflicts with these. */
static move_set conflicts(const struct part *part, uint64_t reads, uint64_t writes)
{
    move_set set = 0;
    for (; reads; reads &= reads - 1)
        set |= part->writers[__builtin_ctzll(reads)];
    for (; writes; writes &= writes - 1)
        set |= part->writers[__builtin_ctzll(writes)] | part->readers[__builtin_ctzll(writes)];
    return set;
}

/* The move on which depends that A[n] is free again. */
static move_set holder(const struct moves *moves, unsigned n)
{
    for (unsigned t = 0; t < moves->parts->machine->n_threads; t++)
        if (moves->part[t]->holds >> n & 1)
            return (move_set)1 << (moves->first[t] + moves->part[t]->holder[n]);
    return 0;
}

move_set follows(const struct moves *moves, unsigned move)
{
    unsigned t = move_thread(moves, move), own = move - moves->first[t];
    const struct machine *m = moves->parts->machine;
    const struct part *part = moves->part[t];
    const struct move *what = &part->move[own];
    if (!(moves->enabled >> move & 1) && (part->rmws >> own & 1))
        return holder(moves, m->qps[what->step.qp].node);
    move_set set = conflicts(part, what->reads, what->writes) & ~what->apart;
    if (own == CPU_MOVE && !(what->reads & part->nic_write))
        set &= ~((move_set)1 << BUFFER_MOVE); /* its own stores are forwarded to it */
    set = (set | what->needs) << moves->first[t];
    if (what->reads | what->writes)
        for (unsigned u = 0; u < m->n_threads; u++)
            if (u != t)
                set |= conflicts(moves->part[u], what->reads, what->writes) << moves->first[u];
    return set & ~((move_set)1 << move);
}
