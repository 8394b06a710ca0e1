/* What can happen next in a state, for the partial-order reduction (docs/reduction.md): one move for each
 * process that has something to do. The processes are, of each thread, its CPU and its store buffer; of each
 * queue pair, the landing in wbR, the landing in wbL, the oldest put's local read, the oldest send that may
 * wait, the local send at the head of the pipe, and each remote read that nothing older stops. */
#ifndef REMORA_SEARCH_OPERATIONAL_MOVES_H
#define REMORA_SEARCH_OPERATIONAL_MOVES_H

#include "model/machine.h"

enum { MAX_MOVES = 64, NO_MOVE = -1 };

typedef uint64_t move_set;

struct moves {
    unsigned n;
    move_set enabled, spins; /* the latter start a spin iteration */
    /* Of each move: memory that it reads and writes, if it is enabled. */
    uint64_t reads[MAX_MOVES], writes[MAX_MOVES];
    /* Of each bit of memory (machine.loc_bit): moves that may access it, themselves or by a later step that they have to come
     * before. */
    move_set readers[64], writers[64];
    /* Of an enabled move: moves that it depends on other than through memory. Of a disabled one: such that it can't become
     * enabled before one of them has been made. */
    move_set needs[MAX_MOVES];
    move_set apart[MAX_MOVES];            /* moves that it doesn't depend on, whatever memory they access */
    uint64_t nic_write[PROG_MAX_THREADS]; /* memory that RDMA operations in B may write */
    struct step steps[MAX_MOVES];
};

/* Where the moves of a state's threads stand in the list. */
static inline unsigned cpu_move(unsigned t)
{
    return t;
}
static inline unsigned buffer_move(const struct machine *m, unsigned t)
{
    return m->n_threads + t;
}

/* False if there are too many. All steps that reduce() takes at once must have been taken. */
bool find_moves(struct machine *, const uint8_t *state, struct moves *);

/* The other moves that this one, being part of a set to explore, makes part of it. */
static inline move_set follows(const struct machine *m, const struct moves *moves, unsigned move)
{
    move_set set = 0;
    for (uint64_t rest = moves->reads[move]; rest; rest &= rest - 1)
        set |= moves->writers[__builtin_ctzll(rest)];
    for (uint64_t rest = moves->writes[move]; rest; rest &= rest - 1)
        set |= moves->writers[__builtin_ctzll(rest)] | moves->readers[__builtin_ctzll(rest)];
    set &= ~moves->apart[move];
    if (move < m->n_threads && !(moves->reads[move] & moves->nic_write[move]))
        set &= ~((move_set)1 << buffer_move(m, move)); /* its own stores are forwarded to it */
    return (set | moves->needs[move]) & ~((move_set)1 << move);
}

/* The steps by which thread t, at the head of a spin loop, starts an iteration; together with its first read,
 * if it starts with one (docs/reduction.md). Their number; 0 if that can't be done now. */
enum { SPIN_STEPS = 4 };
unsigned spin_steps(struct machine *, const uint8_t *state, unsigned t, struct step steps[SPIN_STEPS]);

#endif
