/* A thread of the model, as the layers of the tower see it: its queue pairs, and what its work ids wait for.
 * (Section 5 of the specification, "Implementation over RDMA-TSO".)
 *
 * There, a work id d has for every node n the set S[d][n] of its outstanding operations. Completions of a
 * queue pair come in the order of posting, so its operations are numbered, and of the set only the greatest
 * number matters: once that one is taken, all are. So S[d][n] is `last`, "removed from every set that holds
 * it" is one counter, and nothing grows however much is posted. */
#ifndef REMORA_TOWER_THREAD_H
#define REMORA_TOWER_THREAD_H

#include "fabric/fabric.h"

#include <remora/wait.h>

/* Work ids of the library's own, beyond the user's. */
enum work { WORK_LOCK = REM_WORK_IDS, WORK_FENCE, WORK_VALUE, WORK_OBJECT, WORKS };

struct queue {
    uint64_t posted, taken; /* operations, fences not counted */
};

struct rem_thread_state {
    int (*post)(struct fabric_thread *, const struct fabric_op *,
                unsigned); /* fabric->post, one load nearer */
    struct fabric_thread *link;
    const struct fabric *fabric;
    const unsigned *asleep; /* 0: nobody waits for a wake */
    struct rem_node *node;
    unsigned nodes;
    unsigned index;          /* of this thread in the job: node × the limit of threads + slot */
    uint64_t *private;       /* a line of registered memory that nobody else accesses */
    uint64_t *dummy;         /* a symmetric word that global fences read */
    uint64_t touched[WORKS]; /* bit n: the work id may have operations outstanding towards node n */
    struct queue queue[REM_MAX_NODES];
    uint64_t last[][WORKS]; /* [node][work]: the number of its last operation */
};

int thread_post_slowly(rem_thread *thread, const struct fabric_op *ops, unsigned count, unsigned completions,
                       unsigned work, int result);

/* Posts a chain to one queue pair, `completions` of whose operations are not fences. */
static inline int thread_post(rem_thread *thread, const struct fabric_op *ops, unsigned count,
                              unsigned completions, unsigned work)
{
    struct rem_thread_state *state = thread->state;
    int result = state->post(state->link, ops, count);
    if (__builtin_expect(result == FABRIC_DONE, 1))
        return 0;
    return thread_post_slowly(thread, ops, count, completions, work, result);
}

int thread_wait_slowly(rem_thread *thread, unsigned work);

/* wait(d). Where there was something to wait for, and the job has failed meanwhile, its failure: then results may be
 * missing. Else 0, without a look at the job's health. */
static inline int thread_wait(rem_thread *thread, unsigned work)
{
    return __builtin_expect(thread->busy, 0) ? thread_wait_slowly(thread, work) : 0;
}

/* Posts and waits. Unless it returns 0, results may be missing. */
static inline int thread_run(rem_thread *thread, const struct fabric_op *ops, unsigned count, unsigned completions,
                             unsigned work)
{
    int error = thread_post(thread, ops, count, completions, work);
    return __builtin_expect(error, 0) ? error : thread_wait(thread, work);
}

/* Every operation of the thread has completed. */
void thread_wait_all(rem_thread *thread);

static inline bool thread_failed(const rem_thread *thread)
{
    return __atomic_load_n(thread->failure, __ATOMIC_RELAXED) != 0;
}

/* 0, or the code of the job's failure. */
static inline int thread_failure(const rem_thread *thread)
{
    return -(int)(__atomic_load_n(thread->failure, __ATOMIC_RELAXED) >> 16);
}

static inline bool is_aligned(const void *pointer)
{
    return ((uintptr_t)pointer & 7) == 0;
}

/* A load of a word that is only ever the target of private operations: nobody could tell whether it drains. */
static inline uint64_t load_private(rem_thread *thread, const uint64_t *word)
{
#ifdef REMORA_MODEL
    return rem_load(thread, word);
#else
    (void)thread;
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

/* Operations, for chains. */
static inline void op_put(struct fabric_op *op, int node, void *target, const void *source, size_t size)
{
    op->kind = FABRIC_PUT;
    op->flags = 0;
    op->node = (unsigned)node;
    op->local = (void *)(uintptr_t)source;
    op->remote = target;
    op->size = size;
}

static inline void op_put_value(struct fabric_op *op, unsigned short flags, int node, uint64_t *target,
                                uint64_t value)
{
    op->kind = FABRIC_PUT_VALUE;
    op->flags = flags;
    op->node = (unsigned)node;
    op->remote = target;
    op->value = value;
}

static inline void op_get(struct fabric_op *op, unsigned short flags, void *target, int node,
                          const void *source, size_t size)
{
    op->kind = FABRIC_GET;
    op->flags = flags;
    op->node = (unsigned)node;
    op->local = target;
    op->remote = (void *)(uintptr_t)source;
    op->size = size;
}

static inline void op_rcas(struct fabric_op *op, unsigned short flags, uint64_t *old, int node,
                           uint64_t *target, uint64_t expected, uint64_t desired)
{
    op->kind = FABRIC_RCAS;
    op->flags = flags;
    op->node = (unsigned)node;
    op->local = old;
    op->remote = target;
    op->value = desired;
    op->expected = expected;
}

static inline void op_rfaa(struct fabric_op *op, unsigned short flags, uint64_t *old, int node,
                           uint64_t *target, uint64_t add)
{
    op->kind = FABRIC_RFAA;
    op->flags = flags;
    op->node = (unsigned)node;
    op->local = old;
    op->remote = target;
    op->value = add;
}

static inline void op_rfence(struct fabric_op *op, int node)
{
    op->kind = FABRIC_RFENCE;
    op->flags = 0;
    op->node = (unsigned)node;
}

#endif
