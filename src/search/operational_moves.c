/* See operational_moves.h. */
#include "search/operational_moves.h"

/* --- finding them --- */

/* Bit 0 is the CPU's move. */
static inline move_set enabled_of(const struct parts *parts, const struct part *part, const uint8_t *compound)
{
    move_set enabled = part->enabled;
    unsigned value;
    uint64_t atomics = get_atomics(compound);
    for (move_set rest = atomics ? part->rmws : 0; rest; rest &= rest - 1) {
        const struct move *move = &part->move[__builtin_ctzll(rest)];
        if (atomics >> parts->machine->qps[move->step.qp].node & 1)
            enabled &= ~(rest & -rest);
    }
    if (part->awaits) {
        const uint16_t *memory = get_compound_memory(parts, compound);
        if (part->await_loc != PROG_NO_LOC && memory[part->await_loc] < 64)
            enabled |= part->await_true >> memory[part->await_loc] & 1;
        else
            enabled |= part_await(parts, part, memory, &value);
    }
    return enabled;
}

move_set enabled_moves(const struct parts *parts, const struct part *part, const uint8_t *compound)
{
    return enabled_of(parts, part, compound);
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
        enabled |= enabled_of(parts, part, compound) << n;
        spins |= part->spins << n;
        moves->of_thread[t] = (~(move_set)0 >> (MAX_MOVES - part->n)) << n;
        n += part->n;
    }
    moves->parts = parts;
    moves->compound = compound;
    moves->first[threads] = (uint8_t)n;
    moves->n = n;
    moves->n_threads = threads;
    moves->enabled = enabled;
    moves->spins = spins;
    return true;
}

/* --- dependence --- */

/* A remote RMW that finds A[n] busy waits for the move on which depends that it is free again. */
move_set follows_atomic(const struct moves *moves, unsigned node)
{
    for (unsigned t = 0; t < moves->n_threads; t++)
        if (moves->part[t]->holds >> node & 1)
            return (move_set)1 << (moves->first[t] + moves->part[t]->holder[node]);
    return 0;
}

move_set follows_many(const struct moves *moves, unsigned thread, const struct move *what)
{
    unsigned n_bits = moves->parts->machine->n_bits;
    move_set set = 0;
    for (unsigned u = 0; u < moves->n_threads; u++) {
        if (u == thread)
            continue;
        move_set of = 0;
        for (uint64_t rest = what->reads & ~what->writes; rest; rest &= rest - 1)
            of |= moves->part[u]->touching[__builtin_ctzll(rest)];
        for (uint64_t rest = what->writes; rest; rest &= rest - 1)
            of |= moves->part[u]->touching[n_bits + (unsigned)__builtin_ctzll(rest)];
        set |= of << moves->first[u];
    }
    return set;
}
