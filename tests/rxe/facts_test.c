/* What the verbs provider takes for granted of a device, asked of the device itself, on two queue pairs of one process: byte order of
 * fetched values, the fence, inline data, more atomics than the responder takes, errors, a peer that is gone. Speaks TAP.
 *
 * usage: facts_test [DEVICE] */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PORT = 1, DEPTH = 128, INLINE = 64, READS = 4, WORDS = 512, RETRIES = 4, TIMEOUT = 14 };

static struct {
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_cq *completions;
    struct ibv_mr *region;
    union ibv_gid gid;
    uint8_t gid_index;
    uint64_t *own, *theirs; /* the two halves of the region */
} device;

static int cases;

static void report(bool passed, const char *text)
{
    printf("%sok %d - %s\n", passed ? "" : "not ", ++cases, text);
    fflush(stdout);
}

static void give_up(const char *text)
{
    printf("Bail out! %s\n", text);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- Queue pairs --- */

static struct ibv_qp *create(void)
{
    struct ibv_qp_init_attr wanted = {.send_cq = device.completions,
                                      .recv_cq = device.completions,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {.max_send_wr = DEPTH,
                                              .max_recv_wr = 1,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1,
                                              .max_inline_data = INLINE}};
    struct ibv_qp *pair = ibv_create_qp(device.domain, &wanted);
    if (!pair)
        give_up("ibv_create_qp");
    return pair;
}

static void connect_to(struct ibv_qp *pair, uint32_t peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = PORT,
                               .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                                  IBV_ACCESS_REMOTE_ATOMIC};
    int failed =
        ibv_modify_qp(pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer,
        .max_dest_rd_atomic = READS,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1,
                    .port_num = PORT,
                    .grh = {.dgid = device.gid, .sgid_index = device.gid_index, .hop_limit = 64}}};
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .timeout = TIMEOUT,
                                .retry_cnt = RETRIES,
                                .rnr_retry = 7,
                                .max_rd_atomic = READS};
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (failed)
        give_up("ibv_modify_qp");
}

static struct ibv_qp *connected(struct ibv_qp **other)
{
    struct ibv_qp *one = create(), *two = create();
    connect_to(one, two->qp_num);
    connect_to(two, one->qp_num);
    *other = two;
    return one;
}

/* --- Work requests --- */

struct request {
    struct ibv_send_wr wr;
    struct ibv_sge place;
};

static struct request request(enum ibv_wr_opcode opcode, void *local, void *remote, uint32_t size,
                              unsigned flags)
{
    struct request made = {.wr = {.opcode = opcode, .num_sge = 1, .send_flags = flags},
                           .place = {.addr = (uintptr_t)local, .length = size, .lkey = device.region->lkey}};
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        made.wr.wr.atomic.remote_addr = (uintptr_t)remote;
        made.wr.wr.atomic.rkey = device.region->rkey;
    } else {
        made.wr.wr.rdma.remote_addr = (uintptr_t)remote;
        made.wr.wr.rdma.rkey = device.region->rkey;
    }
    return made;
}

static struct request atomic(enum ibv_wr_opcode opcode, void *local, void *remote, uint64_t operand,
                             uint64_t swap, unsigned flags)
{
    struct request made = request(opcode, local, remote, sizeof(uint64_t), flags);
    made.wr.wr.atomic.compare_add = operand;
    made.wr.wr.atomic.swap = swap;
    return made;
}

static int post(struct ibv_qp *pair, struct request *requests, int count)
{
    struct ibv_send_wr *bad;
    for (int i = 0; i < count; i++) {
        requests[i].wr.sg_list = &requests[i].place;
        requests[i].wr.next = i + 1 < count ? &requests[i + 1].wr : NULL;
    }
    return ibv_post_send(pair, &requests[0].wr, &bad);
}

/* The status of the next completion; -1: none within a minute. */
static int completion(void)
{
    struct ibv_wc done;
    double limit = seconds() + 60;
    do {
        int count = ibv_poll_cq(device.completions, 1, &done);
        if (count != 0)
            return count < 0 ? -1 : (int)done.status;
    } while (seconds() < limit);
    return -1;
}

static int run(struct ibv_qp *pair, struct request made)
{
    made.wr.send_flags |= IBV_SEND_SIGNALED;
    return post(pair, &made, 1) == 0 ? completion() : -1;
}

/* --- The facts --- */

static void of_the_device(void)
{
    struct ibv_device_attr attr;
    report(ibv_query_device(device.context, &attr) == 0 && attr.atomic_cap != IBV_ATOMIC_NONE,
           "the device has remote atomics");
    report(attr.max_qp_rd_atom >= 1 && attr.max_qp_init_rd_atom >= 1, "reads and atomics, both ways");
}

static void of_single_operations(struct ibv_qp *pair)
{
    uint64_t *own = device.own, *theirs = device.theirs, pattern = UINT64_C(0x0102030405060708);
    own[0] = pattern;
    report(run(pair, request(IBV_WR_RDMA_WRITE, own, theirs, 8, 0)) == 0 && theirs[0] == pattern, "write");

    struct request inlined =
        request(IBV_WR_RDMA_WRITE, own, theirs + 1, 8, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
    inlined.place.lkey = ~device.region->lkey;
    int posted = post(pair, &inlined, 1);
    own[0] = 0;
    report(posted == 0 && completion() == 0 && theirs[1] == pattern,
           "inline data are taken by the post, and need no key");

    report(run(pair, request(IBV_WR_RDMA_READ, own + 2, theirs, 8, 0)) == 0 && own[2] == pattern, "read");

    int status = run(pair, atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own + 3, theirs, 0x10, 0, 0));
    report(status == 0 && theirs[0] == pattern + 0x10, "fetch and add adds");
    report(own[3] == pattern, "what it fetches has the byte order of the host");

    status = run(pair, atomic(IBV_WR_ATOMIC_CMP_AND_SWP, own + 4, theirs, 5, 9, 0));
    report(status == 0 && own[4] == pattern + 0x10 && theirs[0] == pattern + 0x10,
           "compare and swap that fails");
    status = run(pair, atomic(IBV_WR_ATOMIC_CMP_AND_SWP, own + 4, theirs, pattern + 0x10, 9, 0));
    report(status == 0 && own[4] == pattern + 0x10 && theirs[0] == 9, "compare and swap that succeeds");
}

/* An atomic, behind a fence a put of its result, behind a fence a read of both words. */
static void of_the_fence(struct ibv_qp *pair)
{
    uint64_t *own = device.own, *theirs = device.theirs;
    bool right = true;
    for (uint64_t round = 1; round <= 200; round++) {
        own[5] = 0;
        theirs[5] = round;
        theirs[6] = 0;
        struct request chain[] = {
            atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own + 5, theirs + 5, 1, 0, 0),
            request(IBV_WR_RDMA_WRITE, own + 5, theirs + 6, 8, IBV_SEND_FENCE),
            request(IBV_WR_RDMA_READ, own + 7, theirs + 5, 16, IBV_SEND_FENCE | IBV_SEND_SIGNALED),
        };
        right &= post(pair, chain, 3) == 0 && completion() == 0;
        right &= own[5] == round && own[7] == round + 1 && own[8] == round;
    }
    report(right, "behind a fence a put sends what an atomic has fetched");
}

/* The initiator holds back what the responder does not take. */
static void of_many_atomics(struct ibv_qp *pair)
{
    enum { MANY = DEPTH / 2 };
    bool right = true;
    device.theirs[9] = 0;
    for (int i = 0; i < MANY; i++) {
        struct request add = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, device.own + 16 + i, device.theirs + 9, 1, 0,
                                    i + 1 == MANY ? IBV_SEND_SIGNALED : 0);
        right &= post(pair, &add, 1) == 0;
    }
    right &= completion() == 0 && device.theirs[9] == MANY;
    for (uint64_t i = 0; i < MANY; i++)
        right &= device.own[16 + i] == i;
    report(right, "more atomics at once than max_rd_atomic, in order; one completion for all of them");
}

static void of_loop_back(void)
{
    struct ibv_qp *pair = create();
    connect_to(pair, pair->qp_num);
    device.theirs[10] = 7;
    int status = run(pair, atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, device.own + 10, device.theirs + 10, 1, 0, 0));
    report(status == 0 && device.own[10] == 7 && device.theirs[10] == 8,
           "a queue pair that is connected to itself");
    ibv_destroy_qp(pair);
}

/* What must not be posted, and what the other side refuses; each on a queue pair of its own, which it ruins. */
static void of_errors(void)
{
    struct ibv_qp *other, *pair = connected(&other);
    char *odd = (char *)device.theirs + 4;
    struct request wrong = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, device.own, odd, 1, 0, IBV_SEND_SIGNALED);
    int refused = post(pair, &wrong, 1);
    report(refused != 0 || completion() != 0, "an atomic that is not aligned fails");

    pair = connected(&other);
    wrong = request(IBV_WR_RDMA_READ, device.own, device.theirs, 8, 0);
    wrong.wr.wr.rdma.rkey ^= 0x40;
    report(run(pair, wrong) == IBV_WC_REM_ACCESS_ERR, "a wrong key is a remote access error");
    report(run(pair, request(IBV_WR_RDMA_READ, device.own, device.theirs, 8, 0)) == IBV_WC_WR_FLUSH_ERR,
           "what is posted after an error is flushed");

    pair = connected(&other);
    wrong = request(IBV_WR_RDMA_WRITE, device.own, device.theirs + WORDS, 8, 0);
    report(run(pair, wrong) == IBV_WC_REM_ACCESS_ERR, "so is an address outside the region");
}

static void of_a_dead_peer(void)
{
    struct ibv_qp *other, *pair = connected(&other);
    ibv_destroy_qp(other);
    report(run(pair, request(IBV_WR_RDMA_READ, device.own, device.theirs, 8, 0)) == IBV_WC_RETRY_EXC_ERR,
           "a peer that is gone is an error after the retries");
}

/* --- The device --- */

static bool is_ipv4(const union ibv_gid *gid)
{
    return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid->raw);
}

static void find_gid(void)
{
    struct ibv_gid_entry entries[32];
    ssize_t count = ibv_query_gid_table(device.context, entries, 32, 0);
    bool found = false;
    for (ssize_t i = 0; i < count && !found; i++) {
        if (entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 || !is_ipv4(&entries[i].gid))
            continue;
        device.gid = entries[i].gid;
        device.gid_index = (uint8_t)entries[i].gid_index;
        found = true;
    }
    report(found, "a RoCE v2 GID made of an IPv4 address");
    if (!found)
        give_up("no GID");
}

static void open_device(const char *name)
{
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list && i < count && !device.context; i++)
        if (!name || strcmp(name, ibv_get_device_name(list[i])) == 0)
            device.context = ibv_open_device(list[i]);
    if (!device.context)
        give_up("no such device");
    size_t size = 2 * WORDS * sizeof(uint64_t);
    device.own = aligned_alloc(4096, size);
    memset(device.own, 0, size);
    device.theirs = device.own + WORDS;
    device.domain = ibv_alloc_pd(device.context);
    device.completions = ibv_create_cq(device.context, 4 * DEPTH, NULL, NULL, 0);
    device.region = ibv_reg_mr(device.domain, device.own, size,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                   IBV_ACCESS_REMOTE_ATOMIC);
    if (!device.domain || !device.completions || !device.region)
        give_up("no protection domain, completion queue or memory region");
}

int main(int argc, char **argv)
{
    open_device(argc > 1 ? argv[1] : NULL);
    of_the_device();
    find_gid();
    struct ibv_qp *other, *pair = connected(&other);
    of_single_operations(pair);
    of_the_fence(pair);
    of_many_atomics(pair);
    of_loop_back();
    of_errors();
    of_a_dead_peer();
    printf("1..%d\n", cases);
    return 0;
}
