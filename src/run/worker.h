/* A thread of a litmus test while it runs. */
#ifndef REMORA_RUN_WORKER_H
#define REMORA_RUN_WORKER_H

#include "run/instances.h"

#include <stdatomic.h>

enum ending {
    RAN = 1,
    DROPPED, /* a false assume */
    STUCK,   /* it waits for what can't come, or has given up */
    FAILED   /* the transport did */
};

/* What a waiting thread waits in. */
enum waiting {
    WAITS_LOOKING,
    WAITS_INSIDE /* a call of the library, which looks by itself */,
    WAITS_AT_GATE
};

/* Remote operations of an RDMA_TSO test towards one node, in this iteration. */
struct poll_queue {
    uint64_t *number; /* of each in the thread's queue; 0 if its completion is taken */
    uint32_t issued, polled;
};

struct crew;

struct worker {
    struct crew *crew;
    unsigned number;
    const struct thread_code *code;
    const struct instances *instances;
    rem_thread thread;
    uint64_t *regs;
    const uint32_t *shown; /* registers that go into the result */
    unsigned n_shown;
    struct poll_queue *polls; /* of each node; RDMA_TSO only */
    struct fabric fabric;     /* the provider, but for `wait` */
    uint64_t random;
    uint32_t skew; /* greatest lag of this batch */

    /* The iteration. */
    uint64_t position; /* counts all of them, from 1 */
    uint32_t instance;
    char *words;         /* the instance's, on the own node */
    unsigned work;       /* first of the work ids */
    uint32_t pause_at;   /* instruction before which to pause, or UINT32_MAX */
    uint64_t held;       /* locks */
    unsigned looks;      /* of the wait under way */
    int error;           /* FAILED */
    bool gave_up_inside; /* locks must be reset */

    /* Read by who watches: odd while waiting. */
    alignas(WORD_STEP) atomic_uint phase;
    atomic_uint seen; /* looks that found nothing, in slow waits */
    atomic_int waits; /* enum waiting */
    /* Written by who watches: the iteration that the thread must give up. */
    alignas(WORD_STEP) atomic_uint_fast64_t give_up;
    atomic_uint call_off; /* makes calls inside the library return: see worker.c */
};

/* On the thread's own pthread, around everything. */
void worker_enter(struct worker *worker);
void worker_leave(struct worker *worker);

/* Runs the thread's code once in its instance. */
enum ending worker_run(struct worker *worker);

/* Locks that the code has left held. */
void worker_release(struct worker *worker);

/* A step of a wait. False: give it up. */
bool worker_pause(struct worker *worker, enum waiting waits);
void worker_paused(struct worker *worker);

static inline uint64_t worker_random(struct worker *worker)
{
    uint64_t x = worker->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return worker->random = x;
}

/* A pause of random length that lets the others get ahead. */
void worker_lag(struct worker *worker);

#endif
