/* An RDMA device that exists only in this process, in place of libibverbs: it executes what is posted, later, in an order that the
 * model allows and a real card may show, and is strict where Soft-RoCE is lenient.
 *
 *  - A send queue holds what was asked for and no more; a slot is free again when the completion of its request, or of a later
 *    one, has been *polled*. A completion queue holds what was asked for. Overrunning either is a fault.
 *  - Puts are acknowledged before they land, and overtake earlier gets; the source of a put is read when it starts; a
 *    fenced request starts when all earlier gets and atomics have been answered; never more of these are under way than agreed.
 *  - Both ends of a connection must have been told the same.
 *
 * Faults are counted, and the first is kept in words. */
#ifndef REMORA_TESTS_FAKE_VERBS_H
#define REMORA_TESTS_FAKE_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct fake_gid {
    unsigned index, type; /* enum ibv_gid_type */
    const char *text;     /* as inet_pton reads it, IPv6 */
};

struct fake_device {
    const char *names[4]; /* null at the end */
    enum ibv_atomic_cap atomics;
    enum ibv_port_state port;
    uint8_t link_layer;
    uint32_t vendor; /* 0xffffff: as Soft-RoCE, whose fence is a fault to use */
    int max_qp_wr, max_cqe, initiates, answers;
    uint32_t max_inline, max_message;
    bool swapped; /* fetched values are in the other byte order */
    struct fake_gid gids[8];
    unsigned seed, laziness; /* laziness: of so many chances to go on, one is taken */
};

/* What a good device is like. */
extern const struct fake_device fake_good;

/* From now on devices are like that; the counts are 0. Nothing may be open. */
void fake_become(const struct fake_device *device);

/* The request that is `after` requests ahead fails with that status, and its queue pair with it. */
void fake_fail(unsigned long after, enum ibv_wc_status status);

/* Nothing is answered any more until told otherwise. */
void fake_pause(bool paused);

struct fake_counts {
    unsigned long requests, calls, entries; /* calls of ibv_post_send; entries of completion queues */
    unsigned long inlined, fenced, empty;
    unsigned deepest, fullest, most_reads; /* of a send queue, of a completion queue, of a queue pair */
    unsigned long faults;
    char fault[200];
    unsigned objects; /* that have not been destroyed */
};

struct fake_counts fake_counts(void);

/* What the last queue pair to become ready was told. */
struct ibv_qp_attr fake_last_attributes(void);

#endif
