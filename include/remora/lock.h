/* Three locks, which differ in what a release promises of the remote operations before it. (Section 7 of the
 * specification.)
 *
 *  - rem_wlock, weak. Acquire: a round trip to the lock's home, then waiting on local memory. Release: a message
 *    to each node; does not block. The next holder, whoever it is, sees the releaser's CPU accesses; the
 *    releaser's remote operations may still be on their way.
 *  - rem_slock, strong. As wlock, but release first makes a round trip to every node: the next holder sees the
 *    releaser's CPU accesses, and all its remote operations, to whatever node, are done.
 *  - rem_nlock, node. Acquire: a round trip to the lock's home, and waiting by reading there. Release: a message
 *    to the home; does not block. The next holder sees the releaser's CPU accesses, and its remote reads and
 *    writes towards the home are done; of its gets and atomics, the local results only if they were waited for.
 *
 * In stamps. acquire is aMF in all three. release is aCW in wlock; aGF_n for every node n in slock; aRF_n
 * then aNRW_n, n being the home, in nlock. The last stamp of a release happens before every acquire that is
 * later in the lock's order.
 *
 * Order: locks serve in the order of arrival (tickets), and never let a thread overtake. try_acquire never
 * waits. A thread whose acquire_until times out gives its place up for good: it marks its ticket as abandoned
 * in a record beside the lock, and whoever stands behind finds the mark and steps over it, keeping its own
 * place; so a waiter that gives up never changes the order of the others, and costs them a few looks. A call
 * of acquire_until that finds the record nearly full (four times as many abandoned tickets as the job has
 * threads, none passed yet) does not queue up but retries until the lock is free.
 *
 * Waiting spins while the turn is near, then yields the processor, then sleeps.
 *
 * Threads: a lock may be used by all threads of all nodes; each node initialises its own handle, shared by
 * its threads. Misuse is told: acquire of what one holds, release of what one doesn't, use before init (if
 * zeroed) and after destroy. After REM_EDEAD the state of a lock is undefined; the job is lost. */
#ifndef REMORA_LOCK_H
#define REMORA_LOCK_H

#include <remora/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Private: a ticket lock's part on its home node, and the threads' places. */
struct rem_ticket_lock {
    uint64_t *words;           /* symmetric: next, serving, the record of abandoned tickets */
    struct rem_ticket *places; /* of this node's threads, by slot */
    int home;
    unsigned record; /* length of the record, a power of two */
    uint64_t key;    /* the same on every node */
};

/* Declare a lock, initialise it, pass its address; do not copy it. */
typedef struct rem_wlock {
    uint64_t magic; /* private */
    struct rem_node *node;
    struct rem_ticket_lock tickets;
    uint64_t *released; /* symmetric: for every thread of the job its last release */
} rem_wlock;

typedef struct rem_slock {
    uint64_t magic; /* private */
    struct rem_wlock weak;
} rem_slock;

typedef struct rem_nlock {
    uint64_t magic; /* private */
    struct rem_node *node;
    struct rem_ticket_lock tickets;
} rem_nlock;

/* Collective, as rem_alloc, whose errors they return, besides REM_ENODE. `home` is the node whose memory
 * holds the lock; an nlock should live where the data lives that it protects. Costs each node 64 bytes for
 * each thread it may have, and about 32 bytes for each thread the job may have. Destroy a lock when nobody
 * holds it or waits for it. */
REM_API int rem_wlock_init(rem_job *job, rem_wlock *lock, int home);
REM_API int rem_slock_init(rem_job *job, rem_slock *lock, int home);
REM_API int rem_nlock_init(rem_job *job, rem_nlock *lock, int home);
REM_API int rem_wlock_destroy(rem_job *job, rem_wlock *lock);
REM_API int rem_slock_destroy(rem_job *job, rem_slock *lock);
REM_API int rem_nlock_destroy(rem_job *job, rem_nlock *lock);

/* Blocks until the thread holds the lock. Stamp aMF.
 *   REM_EDETACHED, REM_EDESTROYED, REM_EHELD, REM_EDEAD */
REM_API int rem_wlock_acquire(rem_thread *thread, rem_wlock *lock);
REM_API int rem_slock_acquire(rem_thread *thread, rem_slock *lock);
REM_API int rem_nlock_acquire(rem_thread *thread, rem_nlock *lock);

/* Takes the lock if it is free and nobody is ahead; two round trips. Stamp aMF on success; on failure, no
 * lock event.
 *   REM_EBUSY, and the errors of acquire */
REM_API int rem_wlock_try_acquire(rem_thread *thread, rem_wlock *lock);
REM_API int rem_slock_try_acquire(rem_thread *thread, rem_slock *lock);
REM_API int rem_nlock_try_acquire(rem_thread *thread, rem_nlock *lock);

/* As acquire, but gives up when rem_clock reaches `deadline`; a deadline in the past makes one attempt.
 * Stamp aMF on success.
 *   REM_ETIMEDOUT, and the errors of acquire */
REM_API int rem_wlock_acquire_until(rem_thread *thread, rem_wlock *lock, uint64_t deadline);
REM_API int rem_slock_acquire_until(rem_thread *thread, rem_slock *lock, uint64_t deadline);
REM_API int rem_nlock_acquire_until(rem_thread *thread, rem_nlock *lock, uint64_t deadline);

/* Lets the next one in. Stamps: see above.
 *   REM_EDETACHED, REM_EDESTROYED, REM_ENOTHELD, REM_EDEAD (slock) */
REM_API int rem_wlock_release(rem_thread *thread, rem_wlock *lock);
REM_API int rem_slock_release(rem_thread *thread, rem_slock *lock);
REM_API int rem_nlock_release(rem_thread *thread, rem_nlock *lock);

#ifdef __cplusplus
}
#endif
#endif
