/* What the engines explore. A program is anything that answers: how many threads, on which nodes, which
 * locations, and "given what you have observed so far, what is your next operation?". The syntax tree of a
 * litmus test answers by interpretation (search/compile.c), C code by running as a coroutine.
 *
 * The same interface carries two levels: the client level, with calls of libraries (declarative engine), and
 * the level of RDMA-TSO, where libraries stand expanded into their implementations (operational engine). */
#ifndef REMORA_MODEL_PROGRAM_H
#define REMORA_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PROG_MAX_THREADS = 64,
    PROG_MAX_NODES = 64,
    PROG_MAX_LOCS = 1024,
    PROG_LOC_WORDS = PROG_MAX_LOCS / 64,
    PROG_MAX_WIDS = 255
};
#define PROG_NO_LOC UINT16_MAX
#define PROG_NO_WID 0 /* work ids run from 1 */

enum op_kind {
    OP_END,        /* the thread has ended */
    OP_DROP,       /* this run is to be dropped (a false assume) */
    OP_SPIN_BEGIN, /* the thread stands at the head of a spin loop; observing it enters the body */
    OP_SPIN_FAIL, /* the iteration did not end the loop: this run is to be dropped (see `spin loops` below) */
    /* CPU. loc: the location; v: value or increment or new value; e: expected value */
    OP_LOAD,
    OP_STORE,
    OP_CAS,
    OP_FAA,
    OP_XCHG,
    OP_MFENCE,
    OP_AWAIT, /* blocks until loc (one of `any`, if n_any) compares by `cmp` with v; result: the value read */
    /* NIC. loc: the remote location; local: the local one, or PROG_NO_LOC for a put of the inline value v;
     * node: the target. rcas: e expected, v new; rfaa: v increment */
    OP_PUT,
    OP_GET,
    OP_RCAS,
    OP_RFAA,
    OP_RFENCE,
    OP_POLL, /* tso: node */
    OP_WAIT, /* wait: wid */
    /* Client level only. loc of sv calls: the own node's copy; loc of sc calls: the location; object: lock
       index */
    OP_SV_READ,
    OP_SV_WRITE,
    OP_SV_BCAST /* nodes, wid, object: sv index */,
    OP_SV_WAIT /* wid */,
    OP_GFENCE /* nodes */,
    OP_ACQUIRE,
    OP_RELEASE,
    OP_SC_READ,
    OP_SC_WRITE,
    OP_SC_CAS,
    OP_SC_FAA
};

enum op_cmp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE }; /* unsigned */

struct op {
    uint8_t kind, cmp;
    bool unused;  /* the thread makes nothing of the result: any value may be observed in its place */
    uint8_t wid;  /* PROG_NO_WID: nothing waits for it */
    uint8_t node; /* NIC operations, rfence, poll */
    uint16_t loc, local;
    uint16_t object;
    uint16_t n_any;
    const uint16_t *any; /* OP_AWAIT over several locations: true of any one of them is enough */
    uint32_t where;      /* index for prog_ops.describe: which statement of the source this belongs to */
    uint64_t nodes, v, e;
};

/* What a thread may still do from a program point on, effects of its NIC operations included. An
 * over-approximation. Bit sets over locations, `loc_words` words each. */
struct future {
    uint64_t *cpu_reads, *cpu_writes; /* by the CPU */
    uint64_t *nic_reads, *nic_writes; /* by RDMA operations that will be issued */
    uint64_t nic_nodes; /* towards which nodes RDMA operations (rfence included) will be issued */
    uint64_t put_nodes; /* towards which nodes puts will be issued */
    uint64_t rmw_nodes; /* towards which nodes remote RMWs will be issued */
};

enum loc_kind { LOC_PLAIN, LOC_SHARED /* one copy of an sv variable */, LOC_SC }; /* client level */

struct prog_loc {
    const char *name; /* x, s@1, l.next, … */
    uint16_t node;
    uint16_t owner; /* the only thread that can ever name it, or UINT16_MAX */
    uint64_t init;
    uint8_t kind;
};

enum lock_kind { LOCK_WEAK, LOCK_STRONG, LOCK_NODE };

struct prog_lock {
    const char *name;
    uint8_t kind, node;
};

/* Thread-local state as the engines see it: a program point and registers. Engines copy, compare and hash it.
 * Point 0 is the start. Every loop in a program is a spin loop, so apart from those a point is passed at most
 * once. */
struct program {
    const struct prog_ops *ops;
    unsigned n_threads, n_nodes, n_locs, n_locks, loc_words;
    uint8_t thread_node[PROG_MAX_THREADS];
    uint16_t n_regs[PROG_MAX_THREADS];
    const struct prog_loc *locs;
    const struct prog_lock *locks; /* client level */
    bool tso;                      /* RDMA_TSO (poll) rather than RDMA_WAIT */
    /* Threads with the same number here run identical code on one node, own no private locations, and show
     * the same registers: exchanging them (and their rows of observables) maps runs to runs. The number is
     * that of the first such thread. */
    uint8_t thread_class[PROG_MAX_THREADS];
};

struct prog_ops {
    /* Runs thread t's local computation from (*point, regs) up to its next operation, which it describes in
     * *op. Idempotent: *point may be moved forward to that operation, registers may be assigned. */
    void (*next)(const struct program *, unsigned t, uint32_t *point, uint64_t *regs, struct op *op);
    /* Tells the thread that the operation it stands at has been done with this result (0 where there is
     * none); moves past it. */
    void (*observe)(const struct program *, unsigned t, uint32_t *point, uint64_t *regs, uint64_t result);
    /* From the operation at this point on, that operation included. */
    const struct future *(*future)(const struct program *, unsigned t, uint32_t point);
    /* A set of the registers that matter from this point on (bit r of word r/64): those that may still be
     * read, and those shown in the outcome. The engine may forget the others. */
    const uint64_t *(*live)(const struct program *, unsigned t, uint32_t point);
    /* An upper bound on the events (subevents) that one run of thread t has at the client level. */
    unsigned (*max_events)(const struct program *, unsigned t);
    /* The statement behind op.where, for people: its text, and its line in the source (0 if none). */
    const char *(*describe)(const struct program *, uint32_t where, uint32_t *line);
};

/* Spin loops: only the iteration that ends a loop is explored. The body has no effect that another thread
 * could see, so a run in which an iteration fails is matched by one in which the thread started that
 * iteration later; engines drop it. A thread may start an iteration (OP_SPIN_BEGIN) whenever it likes. A
 * state in which nothing is left to do but to start iterations, and in which none that is run from there can
 * succeed, is stuck. */

/* The copy of a shared variable on another node, given that of thread t's node: copies stand side by side, by
 * node. */
static inline uint16_t prog_copy(const struct program *p, unsigned t, uint16_t own, unsigned node)
{
    return (uint16_t)(own - p->thread_node[t] + node);
}

static inline bool op_compare(uint8_t cmp, uint64_t a, uint64_t b)
{
    switch (cmp) {
    case CMP_EQ:
        return a == b;
    case CMP_NE:
        return a != b;
    case CMP_LT:
        return a < b;
    case CMP_LE:
        return a <= b;
    case CMP_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static inline void prog_next(const struct program *p, unsigned t, uint32_t *point, uint64_t *regs,
                             struct op *op)
{
    p->ops->next(p, t, point, regs, op);
}

static inline void prog_observe(const struct program *p, unsigned t, uint32_t *point, uint64_t *regs,
                                uint64_t result)
{
    p->ops->observe(p, t, point, regs, result);
}

#endif
