/* The machine of RDMA-TSO: the state and the steps of section 2 of the specification.
 *
 * A state is one packed byte string, which is at once working form and hashed form:
 *
 *   atomics   uint64            bit n: A[n] is busy
 *   locals    uint32 × threads  the thread's program point and live registers, interned (machine_locals.c)
 *   memory    uint16 × locs     M, as numbers of interned values
 *   ends      uint16 × (F + 1)  where each of the F FIFOs ends in `entries` (the first is always 0)
 *   entries   uint64 × ends[F]  for each thread B, then pipe, wbR, wbL of each queue pair that it can use
 *
 * Equal states are equal byte strings. A work id travels in the entries of an operation up to its completion
 * notice, so that `wait` can be decided by the state alone. */
#ifndef REMORA_MODEL_MACHINE_H
#define REMORA_MODEL_MACHINE_H

#include "model/mutants.h"
#include "model/program.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct arena;
struct locals;
struct values;

enum entry_kind {
    E_STORE = 1,  /* in B: loc := v */
    E_PUT,        /* source not read yet */
    E_PUT_INLINE, /* likewise, the source being a private location that holds v and is never written */
    E_PUTV,       /* source read */
    E_ACK,        /* sent, not confirmed */
    E_GET,
    E_RCAS,
    E_RFAA,
    E_AW,    /* pipe: the write half of a remote RMW; wbR: on its way into memory */
    E_LW,    /* pipe, wbL: local write of a get or remote RMW */
    E_FENCE, /* loc: the node */
    E_W,     /* wbR */
    E_CN     /* wbL */
};

#define KIND(kind) (1u << (kind))
enum { KINDS_PUT = KIND(E_PUT) | KIND(E_PUT_INLINE), KINDS_RMW = KIND(E_RCAS) | KIND(E_RFAA) };

/* kind 4 bits, wid 8, loc 10, local 10, v 16, e 16 */
typedef uint64_t entry_t;

static inline entry_t entry_make(unsigned kind, unsigned wid, unsigned loc, unsigned local, unsigned v,
                                 unsigned e)
{
    return (uint64_t)kind | (uint64_t)wid << 4 | (uint64_t)loc << 12 | (uint64_t)(local & 1023) << 22 |
           (uint64_t)v << 32 | (uint64_t)e << 48;
}
static inline unsigned entry_kind(entry_t entry)
{
    return (unsigned)entry & 15;
}
static inline unsigned entry_wid(entry_t entry)
{
    return (unsigned)(entry >> 4) & 255;
}
static inline unsigned entry_loc(entry_t entry)
{
    return (unsigned)(entry >> 12) & 1023;
}
static inline unsigned entry_local(entry_t entry)
{
    return (unsigned)(entry >> 22) & 1023;
}
static inline unsigned entry_v(entry_t entry)
{
    return (unsigned)(entry >> 32) & 65535;
}
static inline unsigned entry_e(entry_t entry)
{
    return (unsigned)(entry >> 48);
}

/* A queue pair that the program can use. */
struct qp {
    uint16_t fifo; /* pipe; wbR and wbL follow */
    uint8_t thread, node;
};
enum { PIPE, WBR, WBL };
#define NO_QP UINT16_MAX
#define NO_NODE UINT8_MAX

/* What is known of a thread that stands at some operation with some registers. */
struct local {
    uint8_t thread; /* or the first one of its class, if the machine is symmetric */
    uint8_t kind, cmp, wid;
    uint16_t loc, v, e; /* values as numbers */
    uint8_t node;       /* poll and NIC operations: the target, or NO_NODE */
    uint16_t n_any;
    const uint16_t *any; /* the locations of an await */
    uint64_t increment;  /* of faa; what an await compares with */
    entry_t entry;       /* what a store or NIC operation appends to B */
    uint64_t reads,
        writes; /* the CPU's access at this operation, and below what may follow, as bit masks of */
    uint64_t cpu_reads, cpu_writes, nic_reads, nic_writes; /* machine.loc_bit; a remote RMW writes A[n] */
    uint64_t nic_nodes, put_nodes, rmw_nodes;
    uint32_t point, where;
    _Atomic uint32_t after; /* the local state after an operation without result; 0: not known yet */
    uint64_t regs[];
};

struct machine {
    const struct program *program;
    unsigned n_threads, n_nodes, n_locs, n_qps, n_fifos;
    unsigned locals_at, memory_at, ends_at, entries_at; /* byte offsets in a state */
    bool forget_unwaited;    /* completion notices that nothing can wait for are not kept (RDMA_WAIT only) */
    int mutant;              /* enum mutant; NO_MUTANT in ordinary builds */
    unsigned blocked_by[14]; /* with mutants: the kinds of older pipe entries that stop a rule */
    struct qp *qps;          /* those of one thread side by side: */
    uint16_t *buffer;        /* thread t: the FIFO that is B[t]; those of its queue pairs follow */
    uint16_t *first_qp;      /* thread t's are first_qp[t] to first_qp[t + 1] - 1 */
    uint16_t *qp_of;         /* [thread * n_nodes + node] */
    uint8_t *loc_node;
    /* One bit for each location, and for each A[n]. With more than 64 of them several share one, which only
     * makes accesses look dependent that are not. */
    uint64_t *loc_bit, *atomic_bit;
    unsigned n_bits;
    uint8_t class_of[PROG_MAX_THREADS]; /* the thread itself unless the machine is symmetric */
    struct values *values;
    struct locals *locals;
    const struct local *const *_Atomic local_table; /* by number; replaced when it grows */
    uint32_t *start;                                /* each thread's first local state */
};

/* One step of section 2. */
enum rule {
    RULE_CPU = 0, /* the operation the thread stands at */
    RULE_FENCE = 1,
    RULE_PUT_READ,
    RULE_PUT_SEND,
    RULE_PUT_LAND,
    RULE_PUT_CONFIRM,
    RULE_GET_READ,
    RULE_LOCAL_SEND,
    RULE_LOCAL_LAND,
    RULE_RCAS_FAIL,
    RULE_RCAS,
    RULE_RFAA,
    RULE_ATOMIC_SEND,
    RULE_ATOMIC_LAND,
    RULE_FLUSH /* the oldest entry of B */
};
struct step {
    uint8_t rule, thread;
    uint16_t qp; /* NIC rules */
    uint16_t at; /* position in the FIFO that the rule works on */
};

enum effect {
    EFFECT_OK,
    EFFECT_DROPPED /* a false assume, a failed spin iteration */,
    EFFECT_FULL /* see machine_why */
};

/* NULL if the program is too large: *why says it. symmetric: threads that may be exchanged with each other (program.thread_class)
 * share their local states, so that exchanging the numbers exchanges the threads. */
struct machine *machine_new(struct arena *, const struct program *, bool symmetric, const char **why);
void machine_free(struct machine *);
const char *machine_why(const struct machine *); /* after EFFECT_FULL */
size_t machine_bytes(const struct machine *);    /* of interned values and local states */

/* The largest number of bytes that one step can add to a state. */
enum { STEP_GROWTH = 2 * sizeof(entry_t) };

/* Writes the initial state (machine_first_size bytes); EFFECT_DROPPED if a thread starts with a false assume.
 */
size_t machine_first_size(const struct machine *);
enum effect machine_first(struct machine *, uint8_t *state);

/* All steps that are enabled; returns their number. `steps` must have room for machine_steps_bound of them.
 */
unsigned machine_steps(const struct machine *, const uint8_t *state, struct step *steps);
unsigned machine_nic_steps(const struct machine *, const uint8_t *state, unsigned qp, struct step *steps);
bool machine_cpu_enabled(const struct machine *, const uint8_t *state, unsigned thread);
unsigned machine_steps_bound(const struct machine *, const uint8_t *state);

/* Takes an enabled step, in place. */
enum effect machine_apply(struct machine *, uint8_t *state, struct step);

/* Every thread has ended, B, pipes and wbR are empty and each wbL holds only CN. */
bool machine_complete(const struct machine *, const uint8_t *state);

uint64_t machine_value(const struct machine *, unsigned number);
static inline const struct local *machine_local(const struct machine *m, uint32_t number)
{
    return atomic_load_explicit(&m->local_table, memory_order_acquire)[number];
}

/* The value that a load by the thread would get now. */
unsigned machine_load(const struct machine *, const uint8_t *state, unsigned thread, unsigned loc);

/* The first queue pair of the thread on which an unpolled operation with this work id is under way (in B, pipe
 * or wbL), or NO_QP. */
unsigned machine_waits_for(const struct machine *, const uint8_t *state, unsigned thread, unsigned wid);

/* Pieces of a state. */
static inline uint64_t *state_atomics(uint8_t *state)
{
    return (uint64_t *)(void *)state;
}
static inline uint32_t *state_locals(const struct machine *m, uint8_t *state)
{
    return (uint32_t *)(void *)(state + m->locals_at);
}
static inline uint16_t *state_memory(const struct machine *m, uint8_t *state)
{
    return (uint16_t *)(void *)(state + m->memory_at);
}
static inline uint16_t *state_ends(const struct machine *m, uint8_t *state)
{
    return (uint16_t *)(void *)(state + m->ends_at);
}
static inline entry_t *state_entries(const struct machine *m, uint8_t *state)
{
    return (entry_t *)(void *)(state + m->entries_at);
}
static inline uint64_t get_atomics(const uint8_t *state)
{
    return *(const uint64_t *)(const void *)state;
}
static inline const uint32_t *get_locals(const struct machine *m, const uint8_t *state)
{
    return (const uint32_t *)(const void *)(state + m->locals_at);
}
static inline const uint16_t *get_memory(const struct machine *m, const uint8_t *state)
{
    return (const uint16_t *)(const void *)(state + m->memory_at);
}
static inline const uint16_t *get_ends(const struct machine *m, const uint8_t *state)
{
    return (const uint16_t *)(const void *)(state + m->ends_at);
}
static inline const entry_t *get_entries(const struct machine *m, const uint8_t *state)
{
    return (const entry_t *)(const void *)(state + m->entries_at);
}
static inline size_t state_size(const struct machine *m, const uint8_t *state)
{
    return m->entries_at + sizeof(entry_t) * (size_t)get_ends(m, state)[m->n_fifos];
}

/* Which FIFO of its queue pair a NIC rule works on: PIPE, WBR or WBL. */
static inline unsigned rule_fifo(unsigned rule)
{
    return rule == RULE_LOCAL_LAND ? WBL : rule == RULE_PUT_LAND || rule == RULE_ATOMIC_LAND ? WBR : PIPE;
}

/* The queue pair of the thread's poll or NIC operation, or NO_QP. */
static inline unsigned local_qp(const struct machine *m, unsigned thread, const struct local *local)
{
    return local->node == NO_NODE ? NO_QP : m->qp_of[thread * m->n_nodes + local->node];
}

/* Where B[t] begins and ends among the entries. */
static inline const uint16_t *buffer_of(const struct machine *m, const uint8_t *state, unsigned thread)
{
    return get_ends(m, state) + m->buffer[thread];
}

/* The thread's local state. */
static inline const struct local *local_of(const struct machine *m, const uint8_t *state, unsigned thread)
{
    return machine_local(m, get_locals(m, state)[thread]);
}

/* The node that a NIC operation goes to. */
static inline unsigned entry_node(const struct machine *m, entry_t entry)
{
    return entry_kind(entry) == E_FENCE ? entry_loc(entry) : m->loc_node[entry_loc(entry)];
}

#endif
