/* Bare libibverbs, for the tests that look at the device without the library: a device with one region of words, and reliable
 * connections between its queue pairs or those of another. Whatever goes wrong here ends the program with TAP's word for it. */
#ifndef REMORA_TESTS_BARE_H
#define REMORA_TESTS_BARE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BARE_DEPTH = 128, BARE_INLINE = 64 };

struct bare {
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_cq *completions;
    struct ibv_mr *region;
    uint64_t *words;
    union ibv_gid gid; /* RoCE v2, of an IPv4 address */
    uint8_t gid_index;
};

_Noreturn void bare_give_up(const char *text);

/* The device of that name, or the first. */
void bare_open(struct bare *device, const char *name, size_t words);

struct ibv_qp *bare_create(struct bare *device);

/* Towards the queue pair of that number on the other device, which may be the same; `reads`: gets and atomics at once. A packet
 * is sent again after 67 ms, `retries` times. */
void bare_connect(struct ibv_qp *pair, const struct bare *here, const struct bare *there, uint32_t number,
                  unsigned reads, unsigned retries);

/* A request and the place of its data, which bare_post links. */
struct bare_request {
    struct ibv_send_wr wr;
    struct ibv_sge place;
};

/* A write or a read. */
struct bare_request bare_copy(enum ibv_wr_opcode opcode, const struct bare *here, void *local,
                              const struct bare *there, void *remote, uint32_t size, unsigned flags);

struct bare_request bare_atomic(enum ibv_wr_opcode opcode, const struct bare *here, void *local,
                                const struct bare *there, void *remote, uint64_t operand, uint64_t swap,
                                unsigned flags);

int bare_post(struct ibv_qp *pair, struct bare_request *requests, int count);

/* The status of the device's next completion; -1: none within the time. */
int bare_completion(struct bare *device, double seconds);

#endif
