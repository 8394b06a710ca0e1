/* What the verbs provider keeps of a node and of its threads. verbs.c uses it, verbs_open.c makes it. */
#ifndef REMORA_FABRIC_VERBS_LINK_H
#define REMORA_FABRIC_VERBS_LINK_H

#include "fabric/fabric.h"
#include "fabric/verbs_device.h"
#include "job/node.h"

#define VERBS_CHAIN 16         /* the most work requests of one call of ibv_post_send */
#define VERBS_PIECE (4u << 20) /* the most bytes of one: long operations too shall show progress */

/* A queue pair of a thread, towards one node. Work requests are counted from 0, by `posted`, and complete in
 * this order. A completion tells of its own work request and of all before it, so not every one asks for it.
 *
 * Invariants, with depth the number of requests that the device keeps:
 *   completed <= signalled <= posted <= completed + depth
 *   posted - signalled < depth / 4 + VERBS_CHAIN <= depth / 2: of the requests that fill the queue one is
 *     signalled, so that a full queue empties by itself, and there is always room for one more request of our own.
 * A completion queue holds depth entries for each queue pair: also in an error, when all requests give one. */
struct verbs_queue {
    struct ibv_qp *qp;
    ptrdiff_t distance; /* from an address in the own heap to the one in the peer's */
    uint64_t posted, completed;
    uint64_t signalled; /* the request before this number is the last signalled one */
    uint64_t ready;     /* operations that have completed and have not been polled */
    uint64_t last_read; /* the request before this number is the last get or atomic */
    uint64_t
        inline_after; /* once all requests before this number have completed, a put's source may be read by the CPU */
    uint64_t seen, waited; /* `completed` when a waiting thread last looked; how long it has waited so */
    uint32_t rkey;
    unsigned node;
    unsigned prompt;     /* so many more puts of values ask for a completion */
    bool fence;          /* an rfence stands before the next request */
    bool broken;         /* it has failed; all its operations count as completed */
    unsigned char *ends; /* request k is the last, or only, one of an operation: ends[k & mask] */
    uint64_t
        *values; /* without inline data: the sources of puts of values, in registered memory; [k & mask] */
};

struct fabric_thread {
    unsigned char *owes;
    uint64_t drain; /* a word of the thread's own; see drain */
    struct ibv_cq *cq;
    struct rem_node *node;
    struct fabric_node *link;
    const atomic_size_t *top; /* what is below, in the heap, is registered */
    char *home;
    uint32_t lkey, values_lkey;
    uint32_t depth, mask, inline_size;
    uint32_t piece;  /* the longest message */
    bool forgets;    /* the device does: no request has the fence flag */
    unsigned empty;  /* polls in a row that found nothing */
    uint64_t looked; /* at the clock, while waiting */
    atomic_flag taken;
    unsigned char *ends;
    uint64_t copies[VERBS_CHAIN * VERBS_INLINE_MAX /
                    sizeof(uint64_t)]; /* of inlined sources, while they are posted */
    struct verbs_queue queue[];        /* one for each node */
};

struct fabric_node {
    struct rem_node *node;
    char *home;
    unsigned self, nodes, threads;
    struct verbs_options options;
    struct verbs_device device;
    struct ibv_pd *pd;
    struct ibv_mr *mr, *values_mr;
    uint64_t *values;
    uint64_t patience; /* nanoseconds without a completion, after which who waits for one gives up */
    uint32_t depth, inline_size;
    struct fabric_thread *thread[]; /* one for each that may be attached */
};

int verbs_open(struct rem_node *node);
void verbs_close(struct rem_node *node);

/* The queue pairs, once the peers' addresses are known (verbs_connect.c). */
struct verbs_address {
    uint64_t base; /* of the heap */
    uint32_t rkey, psn;
    union ibv_gid gid;
    uint16_t lid, mtu;
    uint16_t initiates, answers; /* at most so many reads and atomics at the same time */
    uint32_t ethernet;
    struct verbs_trouble trouble;
};

int verbs_make_threads(struct fabric_node *link, struct verbs_trouble *trouble);
void verbs_free_threads(struct fabric_node *link);
int verbs_connect(struct fabric_node *link, const struct verbs_address *mine, unsigned n,
                  const struct verbs_address *peer, const uint32_t *numbers, struct verbs_trouble *trouble);

/* Tries loop-back, the atomics and the byte order of what they fetch, on the node's own queue pair. */
int verbs_self_test(struct fabric_node *link, struct verbs_trouble *trouble);

#endif
