/* What can happen next in a state, for the partial-order reduction (docs/reduction.md): one move for each process that
 * has something to do. The processes are, of each thread, its CPU and its store buffer; of each queue pair, the landing in
 * wbR, the landing in wbL, the oldest put's local read, the oldest send that may wait, the local send at the head
 * of the pipe, and each remote read that nothing older stops.
 *
 * Nearly all of that depends on one thread's part of the state alone: its local state, store buffer and queue pairs. That is
 * worked out as the thread's *view*, and kept for as long as its part of the state stays the same. */
#ifndef REMORA_SEARCH_OPERATIONAL_MOVES_H
#define REMORA_SEARCH_OPERATIONAL_MOVES_H

#include "model/machine.h"

enum { MAX_MOVES = 64, VIEW_ENTRIES = 32, VIEW_FIFOS = 64 };

typedef uint64_t move_set;

/* The moves of one thread. Move 0 is the CPU's, move 1 the store buffer's. */
struct view {
    /* The part of the state that it is true of. */
    bool valid;
    uint32_t local;
    uint16_t ends[VIEW_FIFOS]; /* relative to the thread's first entry */
    entry_t entries[VIEW_ENTRIES];

    unsigned n;
    /* Enabled as far as the thread alone is concerned: a remote RMW needs A[n], too, and an await a value in memory. */
    move_set enabled, spins, rmws;
    bool awaits;
    uint16_t await_loc,
        await_seen; /* an await on one location without B: true or false, as `await_true` says, of this value */
    bool await_true;
    /* Memory (machine.loc_bit) that a move reads and writes when it is enabled. */
    uint64_t reads[MAX_MOVES], writes[MAX_MOVES];
    /* Memory that any move may access, itself or by a later step that it has to come before; of each bit of it, the moves; those
     * of bits that are not in all_read or all_write are void. */
    uint64_t all_read, all_write;
    move_set readers[64], writers[64];
    /* Of an enabled move: moves of the thread that it depends on other than through memory. Of a disabled one: such that it can't
     * become enabled before one of them has been made. */
    move_set needs[MAX_MOVES];
    move_set
        apart[MAX_MOVES]; /* moves of the thread that it doesn't depend on, whatever memory they access */
    uint64_t nic_write;   /* memory that RDMA operations in B may write */
    struct step steps[MAX_MOVES];
    uint64_t holds; /* the nodes whose A[n] the thread holds, and the move on which the release depends */
    uint8_t holder[PROG_MAX_NODES];
};

/* The moves of a state: those of thread t from first[t] on. */
struct moves {
    const uint8_t *state;
    unsigned n;
    move_set enabled, spins;
    uint8_t first[PROG_MAX_THREADS + 1];
    struct view *views; /* one a thread */
};

struct moves *moves_new(const struct machine *);
void moves_free(struct moves *);

/* False if there are too many. All steps that reduce() takes at once must have been taken. Only these threads (bit t: thread t) have
 * moved since the last call. */
bool find_moves(struct machine *, const uint8_t *state, uint64_t threads, struct moves *);

/* The other moves that this one, being part of a set to explore, makes part of it. */
move_set follows(const struct machine *, const struct moves *, unsigned move);

unsigned move_thread(const struct moves *, unsigned move);
struct step move_step(const struct machine *, const struct moves *, unsigned move);

/* Works out a thread's view (operational_view.c). */
void view_find(struct machine *, const uint8_t *state, unsigned thread, struct view *);

/* The steps by which thread t, at the head of a spin loop, starts an iteration; together with its first read, if it
 * starts with one (docs/reduction.md). Their number; 0 if that can't be done now. */
enum { SPIN_STEPS = 4 };
unsigned spin_steps(struct machine *, const uint8_t *state, unsigned t, struct step steps[SPIN_STEPS]);

#endif
