/* Jobs: nodes, threads, symmetric memory. (Section 1 of the specification: a fixed set of nodes, a fixed set
 * of threads, every location on one node.)
 *
 * A job is a fixed number of nodes. A node is a process that `remora launch`, or mpirun, prterun or srun over
 * PMIx, started, or the only node of a job of one when nobody did. Each node has a heap of the same size; rem_alloc gives a block at the same
 * offset of every heap, and a pointer into the own heap stands for that offset: to name a remote location,
 * give the node and the pointer that rem_alloc returned *here*. Such a symmetric pointer is meaningful in the
 * process that obtained it; another node has its own pointer to its own copy.
 *
 * A pthread that uses the layers above becomes a thread of the model by rem_attach, and gives its rem_thread
 * to every call. A rem_thread may be used by one pthread at a time. */
#ifndef REMORA_JOB_H
#define REMORA_JOB_H

#include <remora/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REM_MAX_NODES 64
#define REM_MAX_THREADS 1024 /* of one node */

/* A node's hold on its job. Declare it, open it, pass its address; do not copy it. */
typedef struct rem_job {
    struct rem_node *node; /* private; null when closed */
    int code, peer;        /* private: why rem_open failed, for rem_failure */
    char text[160];
} rem_job;

/* A thread of the model. Declare it (zeroed, if it may be used before it is attached), attach it, pass its
 * address; do not copy it. */
typedef struct rem_thread {
    unsigned char owes;               /* private; see rem_load in wait.h */
    unsigned char busy;               /* private; operations are outstanding */
    unsigned char pauses;             /* private */
    unsigned slot;                    /* private */
    unsigned held;                    /* private; locks that the thread holds */
    const volatile unsigned *failure; /* private; not 0: the job has failed */
    struct rem_thread_state *state;
} rem_thread;

/* Becomes a node of the job that the launcher describes in the environment (REMORA_JOB, or PMIX_NAMESPACE and
 * PMIX_RANK); without a launcher, the only node of a job of its own. Unless `remora launch` has set them, the heap
 * of each node is 64 MiB or what REMORA_HEAP says (bytes, with a suffix K, M or G), its threads 16 or
 * REMORA_THREADS, and the transport what REMORA_PROVIDER says, else shm on one host and ofi on several. A node of
 * several hosts that leaves a message unanswered for REMORA_TIMEOUT seconds (10; 0: for ever) is the job's failure.
 * Where the launcher is not `remora launch`, it is the first node's environment that counts.
 * Collective: returns when every node has opened. Once in a process for each launched job.
 *   REM_EENVIRONMENT, REM_EOPENED, REM_ENOMEM, REM_ESYSTEM, REM_EDEAD (another node ended before it
 *   opened), REM_EPROVIDER, REM_EUNREACHABLE, REM_ETRANSPORT (rem_failure says more) */
REM_API int rem_open(rem_job *job);

struct rem_options {
    size_t heap;          /* bytes of each node's heap; 0: 64 MiB */
    unsigned threads;     /* the most threads that may be attached to a node at once; 0: 16 */
    const char *provider; /* the transport, as `remora info` lists them; null: shm */
};

/* Opens a job of `nodes` nodes that all live in this process: jobs[i] becomes node i. For tests, for
 * debuggers and sanitizers: a thread that uses jobs[i] plays node i. Not collective; options may be null.
 *   REM_EINVAL, REM_ENOMEM, REM_ESYSTEM, and what the transport says */
REM_API int rem_open_nodes(rem_job jobs[], int nodes, const struct rem_options *options);

/* Why the job has failed, or why the last rem_open or rem_open_nodes did: 0 while all is well, else the code that
 * every blocking call returns, and where they are not null the node that it is about, and a line on it, in the
 * transport's own words where there are any. *text lives as long as the job is open, or as `job` if it is not. A
 * failure is for ever. Any thread.
 *   REM_EINVAL (no job) */
REM_API int rem_failure(const rem_job *job, int *node, const char **text);

/* Leaves the job; its memory is no longer mapped afterwards. A node that leaves while others still wait for it in
 * a collective call makes that call fail there (REM_EDEAD): put a rem_barrier before it. Other nodes may go on to
 * access the memory of a node that has left, until they leave themselves. On shm it does not wait for anybody; on
 * transports where the memory goes with the node it returns when every node has called it, or the job has failed.
 * (If all nodes are in one process it returns at once, and the last call does the work.)
 *   REM_ECLOSED, REM_EBUSY (threads are attached) */
REM_API int rem_close(rem_job *job);

/* This node's number, from 0; the number of nodes; the most threads a node may have attached. Negative:
 * REM_ECLOSED. Any thread. */
REM_API int rem_node_self(const rem_job *job);
REM_API int rem_node_count(const rem_job *job);
REM_API int rem_thread_limit(const rem_job *job);

/* A block of `size` bytes on every node, zeroed, aligned to 64 bytes; *pointer is this node's copy.
 * Collective: every node calls it with the same size, each from one thread, in the same order with regard to
 * other collective calls. When it returns, the block is zero on all nodes and may be accessed remotely.
 *   REM_EINVAL, REM_ECLOSED, REM_ENOMEM, REM_ECOLLECTIVE, REM_EBUSY, REM_EDEAD; on error nothing is allocated
 * anywhere */
REM_API int rem_alloc(rem_job *job, size_t size, void **pointer);

/* Gives the block back on every node. Collective. Nobody may access it any more; what is still under way to
 * it must be complete (rem_gfence). Null is allowed and does nothing, if all nodes pass it.
 *   REM_EINVAL (not what rem_alloc gave), REM_ECLOSED, REM_ECOLLECTIVE, REM_EBUSY, REM_EDEAD */
REM_API int rem_free(rem_job *job, void *pointer);

/* Returns when every node has called it, each from one thread. Orders as a fence does (stamp aMF on each
 * side): what a thread did by CPU before its node entered is seen by every thread after it left. Remote
 * operations it does not complete: rem_gfence first, as for a lock.
 *   REM_ECLOSED, REM_EBUSY, REM_EDEAD (a node died or left; the barrier is not usable any more) */
REM_API int rem_barrier(rem_job *job);

/* Makes the calling pthread a thread of the model: it gets queue pairs to every node. Costs one allocation of
 * about 1 KiB, and 0.5 KiB for each node of the job; no system call beyond what malloc makes. Any thread.
 *   REM_EINVAL, REM_ECLOSED, REM_ENOMEM, REM_ETHREADS */
REM_API int rem_attach(rem_job *job, rem_thread *thread);

/* Completes every operation of the thread, remote writes included, and gives its place back.
 *   REM_EDETACHED, REM_EHELD (it holds a lock), REM_EDEAD (detached, but a node died) */
REM_API int rem_detach(rem_thread *thread);

/* CLOCK_MONOTONIC in nanoseconds, for deadlines. */
REM_API uint64_t rem_clock(void);

#ifdef __cplusplus
}
#endif
#endif
