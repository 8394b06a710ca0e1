/* The adversary: which silent step happens next, and which thread goes on. (Section 2 of the specification.)
 *
 * A pool is the threads among which one adversary chooses. With all nodes in one process it is all of them, and they
 * take turns (weak_turns.h), so that a seed stands for a run. Otherwise every thread is a pool of its own, whose steps
 * are taken in its calls and by a pthread for each node (weak_progress.h).
 *
 * Each choice is weighted. Weights are drawn anew after some choices (an epoch), in a way that the mode tells: so within
 * an epoch some queue pair is starved, or remote writes land late, or puts overtake, and whoever waits for what is held
 * up waits until the next epoch at most. No weight is 0, so everything that is enabled happens in the end. */
#ifndef REMORA_FABRIC_WEAK_POOL_H
#define REMORA_FABRIC_WEAK_POOL_H

#include "fabric/fabric.h"
#include "fabric/weak_options.h"
#include "fabric/weak_queue.h"
#include "job/node.h"

#include <pthread.h>

/* What a thread waits for before it goes on. */
enum weak_need {
    WEAK_TURN,       /* nothing but its turn */
    WEAK_DRAINED,    /* its store buffer is empty */
    WEAK_COMPLETION, /* its poll finds one */
    WEAK_ROOM,       /* its store buffer has room */
    WEAK_NEWS        /* memory has changed: pause, wait */
};

/* A fault of the transport. */
enum weak_fault { WEAK_NO_FAULT, WEAK_ERROR, WEAK_DEATH };

struct weak_pool;

struct fabric_thread {
    struct weak_pool *pool;
    struct rem_node *node;
    struct fabric_thread *next; /* in the pool, in order of attaching */
    unsigned char *owes;
    ptrdiff_t distance[REM_MAX_NODES]; /* from the own heap to that node's */
    struct weak_ring buffer;           /* B */
    struct weak_queue *queues;         /* towards each node */
    uint64_t active;                   /* bit n: queues[n] is not idle */

    /* The adversary's weights: of its next operation, of a store leaving the buffer. */
    uint32_t epoch, go, flush;

    /* Turns. */
    bool parked; /* it wants to go on, when its need is met */
    bool arrived;
    enum weak_need need;
    unsigned towards;   /* COMPLETION: the node */
    unsigned room;      /* ROOM: how many entries */
    uint64_t seen;      /* NEWS: the pool's version when it paused, */
    uint64_t paused_at; /* and the number of choices until then */
    void *context;      /* weak_run.c */
    pthread_t owner;
    int id; /* the kernel's number of the pthread that attached */
    pthread_cond_t turn;

    /* Of a pool of one. */
    pthread_mutex_t mutex;
    struct fabric_thread *sibling; /* the node's next */
};

struct weak_pool {
    struct weak_options options;
    struct fabric_thread *threads;
    unsigned n_threads;
    bool together; /* all nodes are in this process, and their threads take turns */
    uint64_t random;
    uint64_t choices; /* so far */
    uint64_t version; /* counts the changes of memory */
    uint64_t idle;    /* how often, since the last change, there was nothing but threads waiting for one */
    uint64_t epoch_ends;
    uint32_t epoch;
    enum weak_mode flavour; /* of the epoch */
    uint64_t operations;    /* posted so far, for faults that are counted */
    uint64_t dead;          /* bit n: node n has been made to die */

    /* Turns: weak_turns.c. */
    pthread_mutex_t mutex;
    struct fabric_thread *holder;
    unsigned arrived;
    void (*hand_over)(struct fabric_thread *from, struct fabric_thread *to); /* null: they are pthreads */
    uint64_t beats;                                                          /* counts operations */
    bool watching, stopping;
    pthread_t watch;
    pthread_cond_t stop;
    unsigned users; /* nodes */
};

/* From now on all choices follow from the seed. */
void weak_pool_start(struct weak_pool *pool, uint64_t seed);

/* Takes silent steps until a thread is to go on: which. Null if none wants to. */
struct fabric_thread *weak_pool_choose(struct weak_pool *pool);

/* One silent step of any thread; false if none is enabled. */
bool weak_pool_step(struct weak_pool *pool);

/* Whether anything is left to do but the threads' own operations. */
bool weak_pool_is_silent(const struct weak_pool *pool);

bool weak_need_is_met(const struct fabric_thread *thread);

/* The oldest entry of the store buffer leaves it. */
void weak_flush(struct fabric_thread *thread);

/* Operations at the head of the store buffer enter their pipes. */
void weak_issue(struct fabric_thread *thread);

/* The fault becomes the job's failure. */
void weak_tell(struct fabric_thread *thread, unsigned peer, enum weak_fault fault);

/* What weak_queue.stalled is compared with. */
uint64_t weak_stall_clock(const struct weak_pool *pool);

#endif
