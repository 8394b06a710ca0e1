/* Who may touch the pool, and who goes on. */
#ifndef REMORA_FABRIC_WEAK_TURNS_H
#define REMORA_FABRIC_WEAK_TURNS_H

#include "fabric/weak_pool.h"

/* Before and after whatever a thread does to its buffers and to memory. With all nodes in one process a thread keeps its
 * turn when it leaves, up to the next weak_wait; so between those the threads' own code runs one after another, too. */
void weak_enter(struct fabric_thread *thread);
void weak_leave(struct fabric_thread *thread);

/* In between: the adversary moves. Returns when it is the thread's turn again, and the need is met. */
void weak_wait(struct fabric_thread *thread, enum weak_need need);

/* The pthreads that make silent steps happen while the threads compute; see weak_turns.c. */
void weak_start_watch(struct weak_pool *pool);
void weak_stop_watch(struct weak_pool *pool);

/* A thread joins, with everything else in place, and leaves, with its buffers empty. */
void weak_join(struct fabric_thread *thread);
void weak_part(struct fabric_thread *thread);

/* For collective calls. */
void weak_fence_node(struct rem_node *node);
bool weak_idle_node(struct rem_node *node);

/* What is shared by the threads of a node of a process. */
struct fabric_node {
    struct weak_pool *pool; /* of all of them; null: each has its own */
    struct weak_options options;
    struct rem_node *node;
    pthread_mutex_t mutex;
    struct fabric_thread *threads; /* by sibling, where each has a pool of its own */
    pthread_t progress;
    bool progressing;
    atomic_bool stopping, asleep;
    atomic_uint_least64_t attached; /* threads, so far */
    pthread_cond_t work;
};

/* weak_progress.c. wake: there is something to do. */
void weak_start_progress(struct fabric_node *link);
void weak_stop_progress(struct fabric_node *link);
void weak_wake_progress(struct fabric_node *link);

/* A[n]: beside the word that global fences read, in the part of node n's heap that is the library's own. */
static inline uint8_t *weak_busy(const struct rem_node *node, unsigned n)
{
    return (uint8_t *)node->memory + n * node->heap_size + RESERVED_DUMMY + sizeof(uint64_t);
}

#endif
