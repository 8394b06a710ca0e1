/* The moves of a compound state, put together from the moves of its threads' parts (operational_parts.h), and how they
 * depend on one another (docs/reduction.md). */
#ifndef REMORA_SEARCH_OPERATIONAL_MOVES_H
#define REMORA_SEARCH_OPERATIONAL_MOVES_H

#include "search/operational_parts.h"

struct moves {
    const struct parts *parts;
    const uint8_t *compound;
    unsigned n;
    move_set enabled, spins;             /* the latter start a spin iteration */
    uint8_t first[PROG_MAX_THREADS + 1]; /* thread t's moves are first[t] to first[t + 1] - 1 */
    const struct part *part[PROG_MAX_THREADS];
};

/* Moves of one thread's part that are enabled in this state. */
move_set enabled_moves(const struct parts *, const struct part *, const uint8_t *compound);

/* False if there are more than MAX_MOVES. */
bool find_moves(const struct parts *, const uint8_t *compound, struct moves *);

/* The other moves that this one, being part of a set to explore, makes part of it. */
move_set follows(const struct moves *, unsigned move);

static inline unsigned move_thread(const struct moves *moves, unsigned move)
{
    unsigned t = 0;
    while (move >= moves->first[t + 1])
        t++;
    return t;
}

#endif
