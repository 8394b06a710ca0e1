/* A node: this process's share of a job. What lies behind rem_job, seen by the layers above and by the
 * providers. */
#ifndef REMORA_JOB_NODE_H
#define REMORA_JOB_NODE_H

#include "job/idle.h"
#include "job/layout.h"
#include "job/wire.h"

#include <pthread.h>

/* The mapping of the job's memory; in the one-process form its nodes share it. */
struct mapping {
    atomic_uint users;
    bool one_process;                    /* all nodes of the job live here */
    _Atomic(struct rem_node *) departed; /* those that have called rem_close, linked by next */
    struct control *control;
    size_t size;
};

/* The symmetric heap's book-keeping: the blocks in order of address, free and used. Every node makes the same
 * calls in the same order, so every node computes the same offsets without a word between them. */
struct block {
    size_t offset, size;
    bool used;
};

struct heap {
    struct block *blocks;
    size_t count, capacity;
    atomic_size_t top; /* the end of the last block that has ever been used: what is below is registered */
};

struct fabric;
struct fabric_node;

/* Threads of the transport that the library attaches for itself in a job of many hosts (fabric/far.c), besides the
 * node->threads of the user. */
enum { NODE_INNER_THREADS = 2 };

struct rem_node {
    unsigned self, nodes, threads;
    struct control *control;
    const struct wire *wire;
    const struct wire
        *met; /* the wire by which they met with a foreign launcher's help, and what it keeps; */
    struct meeting *meeting;     /* null: there is one of our own, or none */
    struct watch *watch;         /* see watch.h; null: the launcher tells of deaths, or the transport */
    struct far *far;             /* see fabric/far.h; null: all nodes have the control block in memory */
    const struct fabric *fabric; /* the job's provider */
    struct fabric_node *link;    /* and what it keeps of this node */
    /* Of a provider that takes part in collective calls: a thread is about to wait in one, perhaps; a thread waits: does so
     * for a moment, or returns false. Null: it does not. */
    void (*before_collective)(struct rem_node *node);
    bool (*in_collective)(struct rem_node *node);
    char *memory; /* the heaps of all nodes; null if only the own one is mapped */
    char *home;   /* the own one */
    size_t heap_size;
    struct heap heap;
    struct mapping *mapping;
    int descriptor;     /* kept so that a second rem_open finds it; -1 in the one-process form */
    bool fences_others; /* membarrier works: see idle.c */
    bool unannounced;   /* words may change without a node_wake_sleepers: the transport writes them */
    struct rem_node *next;
    unsigned processors;
    atomic_bool collective;               /* a collective call is under way in this process */
    pthread_mutex_t mutex;                /* protects the slots */
    unsigned char slots[REM_MAX_THREADS]; /* 1: taken */
    unsigned attached;
};

/* The first bytes of each heap are the library's own: a word that global fences read, then a private line for
 * each thread. */
#define RESERVED_DUMMY 0u
#define RESERVED_PRIVATE LINE

static inline size_t node_reserved(const struct rem_node *node)
{
    return RESERVED_PRIVATE + (size_t)node->threads * LINE;
}

static inline struct rem_node *node_of(const rem_job *job)
{
    return job ? job->node : NULL;
}

/* 0, or the code of the job's failure. */
static inline int node_failure(const struct rem_node *node)
{
    return failure_code(atomic_load_explicit(&node->control->failed, memory_order_relaxed));
}

/* The job fails, by what happened towards the node `peer`; `text` as for layout_fail. Any thread. */
void job_fail(struct rem_node *node, int code, unsigned peer, const char *text);

/* rem_alloc and rem_free, for callers whose other arguments must agree too: all nodes must pass the same
 * token. */
int node_alloc(struct rem_node *node, size_t size, uint64_t token, void **pointer);
int node_free(struct rem_node *node, void *pointer);
int node_barrier(struct rem_node *node);
int node_agree(struct rem_node *node,
               uint64_t token); /* 0 if all nodes pass the same token, else REM_ECOLLECTIVE */

/* Steps of opening: a node without memory; it gets a mapping, which it owns from now on, also on failure; its end. */
struct mapping *mapping_new(int descriptor);
void mapping_drop(struct mapping *mapping);
struct rem_node *node_new(void);
int node_settle(struct rem_node *node, struct mapping *mapping, unsigned self);
void node_free_all(struct rem_node *node);

/* Opening, up to the point where the nodes can exchange. job_open: from the environment, or alone; ends with a
 * barrier. job_open_nodes: all in this process. job_close: the last that happens to a node, which must have no
 * threads attached. */
int job_open(rem_job *job);
int job_open_nodes(rem_job jobs[], unsigned nodes, const struct rem_options *options);
void job_close(rem_job *job);

/* From now on the others count this node as gone; true if all are. */
bool node_leave(struct rem_node *node);

/* At most one collective call at a time in a process. */
static inline bool node_enter_collective(struct rem_node *node)
{
    return !atomic_exchange_explicit(&node->collective, true, memory_order_acquire);
}

static inline void node_leave_collective(struct rem_node *node)
{
    atomic_store_explicit(&node->collective, false, memory_order_release);
}

int heap_init(struct heap *heap, size_t size, size_t reserved);
void heap_free(struct heap *heap);
int heap_take(struct heap *heap, size_t size, size_t *offset);
int heap_give(struct heap *heap, size_t offset, size_t *size);

/* A place for a thread: its slot, or REM_ETHREADS. */
int node_take_slot(struct rem_node *node);
void node_give_slot(struct rem_node *node, unsigned slot);

/* How many slots of that node have ever been used, or could have been: its threads are 0 … node_threads - 1. */
static inline unsigned node_threads(const struct rem_node *node, unsigned n)
{
    if (!node->memory && n != node->self)
        return node->threads;
    return atomic_load_explicit(&node->control->node[n].threads, memory_order_relaxed);
}

#endif
