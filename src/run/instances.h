/* The memory of a test: many instances of its locations side by side, each location on a line of its own; the
 * threads' results; the locks and sc locations; and the words by which the nodes keep in step. All of it is
 * symmetric memory, so that it is the same whether the nodes share a process or not. */
#ifndef REMORA_RUN_INSTANCES_H
#define REMORA_RUN_INSTANCES_H

#include "run/code.h"
#include "run/session.h"

#include <stdalign.h>

/* An iteration uses one of so many copies of each lock; two iterations in a row must not share one. */
enum { LOCK_COPIES = 16 };

struct step_words {
    alignas(WORD_STEP) uint64_t go; /* the batch that may begin, or STEP_END */
    uint64_t size, seed;            /* its iterations, and what its order comes from; written before `go` */
    alignas(WORD_STEP) uint64_t gate[2][REM_MAX_NODES]; /* see crew.c */
    uint64_t done[LM_MAX_THREADS]; /* on node 0: the batch that the thread has finished */
};
#define STEP_END UINT64_MAX

struct run_lock {
    enum lm_decl_kind kind;
    union {
        rem_wlock weak;
        rem_slock strong;
        rem_nlock node;
    };
};

/* What a node sees of it; of nodes that are played elsewhere nothing is set. */
struct instances_node {
    rem_job *job;
    struct step_words *step;
    char *results, *words, *scratch; /* scratch: as large as the larger of them */
    rem_sv variable;                 /* whose word is replaced by the copy that is meant */
    rem_sc *scs;
    struct run_lock *locks; /* LOCK_COPIES of each */
};

struct instances {
    struct session *session;
    const struct test_code *code;
    uint32_t count;
    size_t size;  /* bytes of one */
    unsigned row; /* words of a thread's result, the first of which is enum ending */
    struct instances_node node[REM_MAX_NODES];
};

/* How many bytes of heap so many instances need at least, in a job whose nodes may have so many threads. */
size_t instances_heap(const struct test_code *code, unsigned nodes, unsigned threads, uint32_t count,
                      unsigned row);

/* Collective for the nodes of the session. 0 or an error. */
int instances_make(struct arena *arena, struct instances *instances);
int instances_free(struct instances *instances);

static inline char *instance_words(const struct instances *instances, unsigned node, uint32_t i)
{
    return instances->node[node].words + i * instances->size;
}

/* A thread's results in the memory of its node. */
static inline uint64_t *instance_result(const struct instances *instances, unsigned node, unsigned thread,
                                        uint32_t i)
{
    size_t row = (size_t)thread * instances->count + i;
    return (uint64_t *)(void *)instances->node[node].results + row * instances->row;
}

static inline size_t instances_results_size(const struct instances *instances)
{
    return (size_t)instances->code->test->n_threads * instances->count * instances->row * sizeof(uint64_t);
}

static inline struct run_lock *instance_lock(const struct instances *instances, unsigned node, uint32_t lock,
                                             uint64_t position)
{
    return &instances->node[node].locks[lock * LOCK_COPIES + position % LOCK_COPIES];
}

/* What the lock's ticket counts and queues are made of, to be zeroed on every node when a waiter has given up. */
struct lock_memory {
    void *part[2];
    size_t size[2];
};
struct lock_memory lock_memory_of(const struct instances *instances, unsigned node, struct run_lock *lock);

#endif
