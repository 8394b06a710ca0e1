/* The memory of a job: one anonymous file, mapped whole by each of its processes.
 *
 *   control block | heap of node 0 | heap of node 1 | …
 *
 * The launcher creates the file, fills the constant part of the control block, and passes the descriptor to
 * the nodes by inheritance; so it has no name that could be left behind or opened by others. */
#ifndef REMORA_JOB_LAYOUT_H
#define REMORA_JOB_LAYOUT_H

#include <remora/job.h>

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#define CONTROL_MAGIC UINT64_C(0x31626f6a61726d72)
#define NAP_SLOTS 256u
#define LINE 64u

#define DEFAULT_HEAP ((size_t)64 << 20)
#define DEFAULT_THREADS 16u

enum node_state { NODE_FRESH, NODE_OPEN, NODE_CLOSED };

/* A node's own line of the control block. */
struct node_line {
    alignas(LINE) atomic_uint state; /* enum node_state */
    atomic_uint threads;             /* slots that have ever been used: they are 0 … threads - 1 */
    atomic_uint_least64_t argument;  /* of the collective call under way */
};

/* Where waiters sleep; see idle.c. */
struct nap_slot {
    alignas(LINE) atomic_uint sequence; /* the futex word: counts the wake-ups */
    atomic_uint sleepers;
};

struct control {
    uint64_t magic;
    uint32_t nodes, threads; /* threads: the limit for each node */
    uint64_t heap;           /* bytes of each heap, whole pages */
    char provider[16];       /* its name; empty: the default */

    alignas(LINE)
        atomic_uint failed; /* 1 + the first node that died; 0 while all is well. Written by the launcher. */
    alignas(LINE)
        atomic_uint sleepers; /* of all nap slots together, so that a release looks at one quiet word */
    alignas(LINE) atomic_uint arrived; /* the barrier */
    atomic_uint generation;            /* futex word */
    atomic_uint left;                  /* nodes that have closed */

    struct node_line node[REM_MAX_NODES];
    struct nap_slot nap[NAP_SLOTS];
};

/* Creates the memory of a job, whose provider has that name (null: the default): its descriptor,
 * close-on-exec, or a negative REM_E code. */
int layout_create(unsigned nodes, const struct rem_options *options, const char *provider);

/* Maps the memory behind the descriptor; *size is its whole size. Null with errno on failure or if it is no
 * job's. */
struct control *layout_map(int descriptor, size_t *size);

static inline size_t layout_control_size(void)
{
    return (sizeof(struct control) + 4095) & ~(size_t)4095;
}

/* Tells everyone who waits that a node has died. */
void layout_fail(struct control *control, unsigned node);

#endif
