/* The memory of a job: one anonymous file, mapped whole by each of its processes.
 *
 *   control block | heap of node 0 | heap of node 1 | …
 *
 * Who creates the file (a launcher, or the first node) fills the constant part of the control block; the others get
 * the descriptor by inheritance or through the process that has it; so it has no name that could be left behind.
 * A node that shares no memory with the others has a file of its own, with its own heap only. */
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
#define DEFAULT_PATIENCE UINT64_C(10000000000)

enum node_state { NODE_FRESH, NODE_OPEN, NODE_CLOSED };

/* A node's own line of the control block. */
struct node_line {
    alignas(LINE) atomic_uint state; /* enum node_state */
    atomic_uint threads;             /* slots that have ever been used: they are 0 … threads - 1 */
};

/* Where waiters sleep; see idle.c. */
struct nap_slot {
    alignas(LINE) atomic_uint sequence; /* the futex word: counts the wake-ups */
    atomic_uint sleepers;
};

/* What nodes show each other in an exchange goes through the control block in pieces of this size. */
#define SLATE 512u
#define FAR_ROOM ((size_t)128 << 10) /* that the library needs of each heap when the nodes share no memory */
#define SECRET 32u
#define FAILURE_TEXT 160u

struct control {
    uint64_t magic;
    uint32_t nodes, threads; /* threads: the limit for each node */
    uint64_t heap;           /* bytes of each heap, whole pages */
    uint64_t patience;       /* nanoseconds that a node may leave a message unanswered; 0: any time */
    uint32_t heaps;          /* in this file: those of all nodes, or 1, the own one */
    char provider[16];       /* its name; empty: the default */
    /* Known to the nodes of the job only, the same on all: for keys and tokens of what others could reach. */
    unsigned char secret[SECRET];

    /* 0 while all is well; then the first failure, for ever: see failure_word. Written by the launcher when a
     * node dies, and by the transport. */
    alignas(LINE) atomic_uint failed;
    alignas(LINE)
        atomic_uint sleepers; /* of all nap slots together, so that a release looks at one quiet word */
    alignas(LINE) atomic_uint arrived; /* the barrier */
    atomic_uint generation;            /* futex word */
    atomic_uint left;                  /* nodes that have closed */

    struct node_line node[REM_MAX_NODES];
    struct nap_slot nap[NAP_SLOTS];
    atomic_uint telling, told; /* somebody writes failure_text; it is written */
    char failure_text[FAILURE_TEXT];
    unsigned char slate[REM_MAX_NODES][SLATE];
};

/* A failure in one word: its code, and 1 + the node that it is about. */
static inline unsigned failure_word(int code, unsigned node)
{
    return (unsigned)-code << 16 | (node + 1);
}

static inline int failure_code(unsigned word)
{
    return -(int)(word >> 16);
}

static inline unsigned failure_node(unsigned word)
{
    return (word & 0xffff) - 1;
}

/* Creates the memory of a job with so many heaps in it, whose provider has that name (null: the default), and a
 * random secret: its descriptor, close-on-exec, or a negative REM_E code. */
int layout_create(unsigned nodes, unsigned heaps, const struct rem_options *options, const char *provider);

/* Maps the memory behind the descriptor; *size is its whole size. Null with errno on failure or if it is no
 * job's. */
struct control *layout_map(int descriptor, size_t *size);

static inline size_t layout_control_size(void)
{
    return (sizeof(struct control) + 4095) & ~(size_t)4095;
}

/* Tells everyone who waits that the job has failed: why, and by which node. Only the first failure counts. `text`: a
 * line of what the transport says, or null. */
void layout_fail(struct control *control, int code, unsigned node, const char *text);

#endif
