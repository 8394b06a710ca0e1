/* A candidate execution under construction: events, their happens-before (section 4; ob in section 3) and
 * issue order (ib), and the orders that are still open. Edges are only ever added; both orders are kept
 * transitively closed, so that a contradiction shows at the edge that makes it. mo, nfo, rao and lo are not
 * enumerated: each pair of events that must be ordered one way or the other is kept as an open pair until one
 * of its directions has become impossible, or until somebody decides it.
 *
 * Invariants: ib and hb are closed; [Inst];ib is within hb; for a write w with a reader r, every write of w's
 * location that is hb-after w is hb-after r too, r itself excepted (so rb need not be stored). */
#ifndef REMORA_MODEL_EXECUTION_H
#define REMORA_MODEL_EXECUTION_H

#include "model/program.h"
#include "model/relation.h"
#include "model/stamps.h"

enum library { LIB_TSO, LIB_WAIT, LIB_SV, LIB_LOCK, LIB_SC };

enum { RF_OPEN = -2, RF_INIT = -1, NO_EVENT = -1, NO_NEED = 255 };

struct event {
    uint8_t type; /* LIB_TSO: enum tso_type; else enum stamp */
    uint8_t lib, thread;
    uint8_t node;    /* of the queue pair or stamp, if the type has one */
    uint16_t call;   /* which call of the program it belongs to: increases in program order */
    uint16_t loc;    /* PROG_NO_LOC: none */
    uint16_t object; /* lock calls: which lock */
    bool reads, writes;
    bool read_known, written_known;
    uint8_t need; /* the value read must compare so with need_v (enum op_cmp), or NO_NEED */
    uint8_t wid;
    int16_t rf;          /* reads: RF_OPEN, RF_INIT or the write */
    int16_t from;        /* writes: the read whose value plus `add` is written, or NO_EVENT */
    int16_t partner;     /* naR: its naW; acquire: first subevent of its release; else NO_EVENT */
    uint16_t partners;   /* acquire: number of subevents of its release */
    uint16_t not_before; /* reads: the source must be an event of at least this number (0: the initial write
                            will do) */
    uint32_t where;      /* op.where */
    uint64_t read, written, add, need_v;
};

enum pair_kind { PAIR_MO, PAIR_NFO, PAIR_RAO, PAIR_LO };

/* Two events of which one must come before the other in mo, nfo, rao or lo. */
struct pair {
    uint16_t a, b;
    uint8_t kind;
};

enum edge_kind {
    EDGE_PPO,
    EDGE_ISO,
    EDGE_RF,
    EDGE_RB,
    EDGE_MO,
    EDGE_NFO,
    EDGE_RAO,
    EDGE_AR,
    EDGE_PF,
    EDGE_LO
};

/* Which orders an edge belongs to. FORBIDDEN: to none, its being there is a contradiction by itself. */
enum { IN_IB = 1, IN_HB = 2, FORBIDDEN = 4 };

/* An edge as it was added; program order is not logged, since kept_in_ib and kept_in_hb tell it. */
struct edge {
    uint16_t from, to;
    uint8_t kind, orders;
    bool refused; /* it closes a cycle (or is forbidden), and so is not in the closed orders */
};

/* For explanations: every edge in the order in which it came. */
struct edge_log {
    struct edge *edges;
    unsigned n, capacity, refused;
};

struct execution {
    const struct program *program;
    unsigned n, capacity, words;
    struct event *events;
    struct order ib, hb;
    uint64_t *readers;      /* of a write: capacity rows */
    uint64_t *writes;       /* to a location: n_locs rows */
    uint64_t *init_readers; /* of a location: n_locs rows */
    uint64_t *of_thread;    /* events of a thread: n_threads rows */
    uint64_t *instant;      /* one row: Inst */
    uint64_t *cpu_reads;    /* one row: lR, aCR */
    struct pair *pairs;     /* the open ones */
    unsigned n_pairs, pair_capacity;
    uint64_t ended;       /* threads that will have no further events */
    struct edge_log *log; /* NULL: not kept */
    bool relaxed;         /* log edges that close a cycle as refused and go on, instead of giving up */
    void *memory;
};

/* An upper bound on events decides `words` once and for all. */
void execution_init(struct execution *, const struct program *, unsigned capacity);
void execution_copy(struct execution *to, const struct execution *from);
void execution_free(struct execution *);

/* A new event after all events of its thread. */
unsigned execution_add(struct execution *, const struct event *);
struct event event_of(enum library, unsigned type, unsigned thread, const struct op *, unsigned call);

/* Adds an edge to the orders that it belongs to; false: the execution is contradictory. */
bool execution_edge(struct execution *, enum edge_kind, unsigned a, unsigned b, unsigned orders);
/* Does program order between these two events of one thread, a the earlier, count in ib, in hb? */
bool kept_in_ib(const struct event *a, const struct event *b);
bool kept_in_hb(const struct event *a, const struct event *b);
/* Is it in Inst? */
bool event_instantaneous(const struct event *);
void execution_open_pair(struct execution *, enum pair_kind, unsigned a, unsigned b);

/* Lets read r take its value from w (or RF_INIT). */
bool execution_set_rf(struct execution *, unsigned r, int w);
/* Takes pair i away and orders it: forward: a before b. */
bool execution_decide(struct execution *, unsigned i, bool forward);
/* Puts write a before write b in mo. For relaxed executions, in which b may be before a already. */
bool execution_force(struct execution *, unsigned a, unsigned b);
/* Is this direction of the pair ruled out by what is there? */
bool execution_excludes(const struct execution *, const struct pair *, bool forward);
/* Decides every open pair that has only one direction left, until none has. */
bool execution_propagate(struct execution *);
/* Hands known values on along rf and inside operations; false if a value is not as it must be. */
bool execution_values(struct execution *);
/* Could r read from w, as far as a quick look tells? */
bool execution_may_read(const struct execution *, unsigned r, int w);

/* --- the libraries: the subevents of a call and what ties them together (model/spec/, one file a library)
 * --- */

/* How a call goes on for its thread. `read` is the event whose value is the call's result, or NO_EVENT. */
struct call_result {
    bool possible;
    int read;
};

/* success: of a cas, rcas or sc_cas; no other call looks at it. */
struct call_result remote_call(struct execution *, unsigned t, const struct op *, unsigned call,
                               bool success);
struct call_result sv_call(struct execution *, unsigned t, const struct op *, unsigned call);
struct call_result lock_call(struct execution *, unsigned t, const struct op *, unsigned call);
struct call_result sc_call(struct execution *, unsigned t, const struct op *, unsigned call, bool success);
/* Any of them. */
struct call_result execution_call(struct execution *, unsigned t, const struct op *, unsigned call,
                                  bool success);

/* Pieces for them: an event that reads from or writes to a location. */
unsigned execution_add_read(struct execution *, struct event, unsigned loc);
unsigned execution_add_written(struct execution *, struct event, unsigned loc, uint64_t value);
/* Writes what `from` read, plus `add`. */
unsigned execution_add_copied(struct execution *, struct event, unsigned loc, int from, uint64_t add);

/* The orders that rf and rb edges belong to. */
unsigned rf_orders(const struct execution *, unsigned w, unsigned r);
unsigned rb_orders(const struct execution *, unsigned r, unsigned w);

#endif
