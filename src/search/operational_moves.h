/* The moves of a compound state, put together from the moves of its threads' parts (operational_parts.h), and how they
 * depend on one another (docs/reduction.md). */
#ifndef REMORA_SEARCH_OPERATIONAL_MOVES_H
#define REMORA_SEARCH_OPERATIONAL_MOVES_H

#include "search/operational_parts.h"

struct moves {
    const struct parts *parts;
    const uint8_t *compound;
    unsigned n, n_threads;
    move_set enabled, spins;             /* the latter start a spin iteration */
    uint8_t first[PROG_MAX_THREADS + 1]; /* thread t's moves are first[t] to first[t + 1] - 1 */
    const struct part *part[PROG_MAX_THREADS];
    move_set of_thread[PROG_MAX_THREADS];
};

/* Moves of one thread's part that are enabled in this state. */
move_set enabled_moves(const struct parts *, const struct part *, const uint8_t *compound);

/* False if there are more than MAX_MOVES. */
bool find_moves(const struct parts *, const uint8_t *compound, struct moves *);

static inline unsigned move_thread(const struct moves *moves, unsigned move)
{
    unsigned t = 0;
    while (move >= moves->first[t + 1])
        t++;
    return t;
}

/* (operational_moves.c) */
move_set follows_atomic(const struct moves *, unsigned node);
move_set follows_many(const struct moves *, unsigned thread, const struct move *);

/* The other moves that this one, number `own` of thread t, being part of a set to explore, makes part of it. */
static inline move_set follows_own(const struct moves *moves, unsigned t, unsigned own)
{
    const struct part *part = moves->part[t];
    const struct move *what = &part->move[own];
    unsigned first = moves->first[t];
    if (part->rmws >> own & 1 && !(moves->enabled >> (first + own) & 1))
        return follows_atomic(moves, moves->parts->machine->qps[what->step.qp].node);
    if (what->n_rows == TOO_MANY_ROWS)
        return what->own_follows << first | follows_many(moves, t, what);
    move_set set = 0;
    for (unsigned i = 0; i < what->n_rows; i++)
        for (unsigned u = 0; u < moves->n_threads; u++)
            set |= moves->part[u]->touching[what->rows[i]] << moves->first[u];
    return (set & ~moves->of_thread[t]) | what->own_follows << first;
}

static inline move_set follows(const struct moves *moves, unsigned move)
{
    unsigned t = move_thread(moves, move);
    return follows_own(moves, t, move - moves->first[t]);
}

#endif
