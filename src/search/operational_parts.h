/* The reduced search works on states in *compound* form: the memory, A[n], and for each thread the number of its **part** of the
 * state: local state, store buffer and queue pairs. A part is worked out once: the moves that it has (docs/reduction.md), and, for
 * each move and value read, what comes of it, all steps that are then taken at once included. So most of the search consists
 * of table look-ups; the machine itself (model/machine.h) is asked only for what has not been seen before.
 *
 * Parts are shared by the threads of a search; looking up takes no lock, adding takes one. */
#ifndef REMORA_SEARCH_OPERATIONAL_PARTS_H
#define REMORA_SEARCH_OPERATIONAL_PARTS_H

#include "search/operational_packed.h"

enum { MAX_MOVES = 64, MAX_ROWS = 6, TOO_MANY_ROWS = 255 };
typedef uint64_t move_set;

/* A move: a step that is explored or taken alone. Each process that has something to do has one. The processes are, of a
 * thread, its CPU (move 0) and its store buffer (move 1); of each queue pair, the landing in wbR, the landing in wbL, the oldest
 * put's local read, the oldest send that may wait, the local send at the head of the pipe, and each remote read that nothing
 * older stops. */
struct move {
    struct step step;  /* of the first thread of the class, if threads are symmetric */
    uint16_t read_loc; /* on whose value the move's result depends, or PROG_NO_LOC */
    /* Memory (machine.loc_bit) that it reads and writes when it is enabled. */
    uint64_t reads, writes;
    /* Of an enabled move: moves of the thread that it depends on other than through memory. Of a disabled one: such that it
     * can't become enabled before one of them has been made. */
    move_set needs;
    move_set apart; /* moves of the thread that it doesn't depend on, whatever memory they access */
    /* Worked out from those: the moves of the thread that it makes part of a set to explore, and the rows of other parts'
     * `touching` that say which of theirs. */
    move_set own_follows;
    uint8_t n_rows, rows[MAX_ROWS]; /* or TOO_MANY_ROWS: to be taken from reads and writes */
};

/* The moves of one thread. */
struct moves_of_thread {
    unsigned n;
    bool crowded; /* there are more than MAX_MOVES */
    /* Enabled as far as the thread alone is concerned: a remote RMW needs A[n], too, and an await a value in memory. */
    move_set enabled, spins, rmws;
    bool awaits;
    uint64_t nic_write;             /* memory that RDMA operations in B may write */
    uint64_t holds;                 /* the nodes whose A[n] the thread holds */
    uint8_t holder[PROG_MAX_NODES]; /* the move on which the release depends */
    /* Of each bit of memory, the moves that may access it, themselves or by a later step that they have to come before. */
    move_set readers[64], writers[64];
    struct move move[MAX_MOVES];
};

/* Works them out, in a state in which the thread has no more eager steps (operational_view.c). */
void find_moves_of_thread(struct machine *, const uint8_t *state, unsigned thread, struct moves_of_thread *);

/* What a move does if the location that it reads holds this value. */
struct transition {
    const struct transition *older; /* for other values */
    uint32_t after;                 /* the thread's part */
    uint16_t value;
    uint16_t loc, wrote; /* the write: PROG_NO_LOC if there is none */
    uint8_t effect;      /* enum effect */
    int8_t atomic;       /* 1: takes A[n]; -1: frees it */
    uint8_t node;
};

struct part {
    uint32_t local;
    uint8_t thread, n;
    bool done;            /* all that can be left is completion notices */
    bool awaits, crowded; /* and so on: as in moves_of_thread */
    uint16_t n_ends, n_entries;
    move_set enabled, spins, rmws;
    /* An await on one location of which B holds no store: which of the values 0 to 63 it is true of. */
    uint16_t await_loc; /* or PROG_NO_LOC */
    uint64_t await_true;
    uint64_t holds;
    const uint8_t *holder;
    /* Row b: the moves that may write memory bit b, themselves or by a later step that they have to come before. Row n_bits + b: those
     * that may read or write it. */
    const move_set *touching;
    const struct move *move;
    const struct transition *_Atomic *transitions; /* of each move */
    const uint16_t *ends;                          /* relative to the first entry */
    const entry_t *entries;
};

struct parts {
    struct machine *machine;
    const struct part *const *_Atomic part; /* by number, from 1 */
    unsigned memory_at, compound_size;      /* of a compound state: uint64 A, uint32 parts, uint16 memory */
    struct part_table *table;
};

struct parts *parts_new(struct machine *);
void parts_free(struct parts *);
size_t parts_bytes(const struct parts *);

/* Writes the compound form of a packed state in which no thread has eager steps left. False if there is no room for more parts. */
bool compound_from(struct parts *, const uint8_t *packed, uint8_t *compound);
/* And back. */
void compound_unpack(const struct parts *, const uint8_t *compound, struct packed *);

/* What this move of thread t does. `scratch` is overwritten. */
const struct transition *part_step(struct parts *, const uint8_t *compound, unsigned t, unsigned move,
                                   struct packed *scratch);
/* The step of thread t itself (not of the first of its class). */
struct step part_move_step(const struct parts *, const uint8_t *compound, unsigned t, unsigned move);

/* The value that the thread would load. */
unsigned part_load(const struct part *, const uint16_t *memory, unsigned loc);
/* Whether its await is enabled, and by which value. */
bool part_await(const struct parts *, const struct part *, const uint16_t *memory, unsigned *value);

static inline const struct part *part_get(const struct parts *parts, uint32_t number)
{
    return atomic_load_explicit(&parts->part, memory_order_acquire)[number];
}
static inline uint32_t *compound_parts(uint8_t *compound)
{
    return (uint32_t *)(void *)(compound + sizeof(uint64_t));
}
static inline const uint32_t *get_compound_parts(const uint8_t *compound)
{
    return (const uint32_t *)(const void *)(compound + sizeof(uint64_t));
}
static inline const uint16_t *get_compound_memory(const struct parts *parts, const uint8_t *compound)
{
    return (const uint16_t *)(const void *)(compound + parts->memory_at);
}
static inline uint16_t *compound_memory(const struct parts *parts, uint8_t *compound)
{
    return (uint16_t *)(void *)(compound + parts->memory_at);
}

#endif
