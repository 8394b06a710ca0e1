/* Bare libibverbs (bare.h). */
#include "bare.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PORT = 1, TIMEOUT = 14 };

void bare_give_up(const char *text)
{
    printf("Bail out! %s\n", text);
    exit(1);
}

/* ---- The device ---- */

static bool is_wanted(const struct ibv_gid_entry *entry)
{
    return entry->gid_type == IBV_GID_TYPE_ROCE_V2 &&
           IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)entry->gid.raw);
}

static void find_gid(struct bare *device)
{
    struct ibv_gid_entry entries[32];
    ssize_t count = ibv_query_gid_table(device->context, entries, 32, 0), i = 0;
    while (i < count && !is_wanted(&entries[i]))
        i++;
    if (i >= count)
        bare_give_up("no RoCE v2 GID made of an IPv4 address");
    device->gid = entries[i].gid;
    device->gid_index = (uint8_t)entries[i].gid_index;
}

void bare_open(struct bare *device, const char *name, size_t words)
{
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list && i < count && !device->context; i++)
        if (!name || strcmp(name, ibv_get_device_name(list[i])) == 0)
            device->context = ibv_open_device(list[i]);
    if (!device->context)
        bare_give_up("no such device");
    find_gid(device);
    size_t size = (words * sizeof(uint64_t) + 4095) & ~(size_t)4095;
    device->words = aligned_alloc(4096, size);
    if (!device->words)
        bare_give_up("no memory");
    memset(device->words, 0, size);
    device->domain = ibv_alloc_pd(device->context);
    device->completions = ibv_create_cq(device->context, 4 * BARE_DEPTH, NULL, NULL, 0);
    device->region = ibv_reg_mr(device->domain, device->words, words * sizeof(uint64_t),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                    IBV_ACCESS_REMOTE_ATOMIC);
    if (!device->domain || !device->completions || !device->region)
        bare_give_up("no protection domain, completion queue or memory region");
}

/* ---- Queue pairs ---- */

struct ibv_qp *bare_create(struct bare *device)
{
    struct ibv_qp_init_attr wanted = {.send_cq = device->completions,
                                      .recv_cq = device->completions,
                                      .qp_type = IBV_QPT_RC,
                                      .cap = {.max_send_wr = BARE_DEPTH,
                                              .max_recv_wr = 1,
                                              .max_send_sge = 1,
                                              .max_recv_sge = 1,
                                              .max_inline_data = BARE_INLINE}};
    struct ibv_qp *pair = ibv_create_qp(device->domain, &wanted);
    if (!pair)
        bare_give_up("ibv_create_qp");
    return pair;
}

void bare_connect(struct ibv_qp *pair, const struct bare *here, const struct bare *there, uint32_t number,
                  unsigned reads, unsigned retries)
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
        .dest_qp_num = number,
        .max_dest_rd_atomic = (uint8_t)reads,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1,
                    .port_num = PORT,
                    .grh = {.dgid = there->gid, .sgid_index = here->gid_index, .hop_limit = 64}}};
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .timeout = TIMEOUT,
                                .retry_cnt = (uint8_t)retries,
                                .rnr_retry = 6,
                                .max_rd_atomic = (uint8_t)reads};
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (failed)
        bare_give_up("ibv_modify_qp");
}

/* ---- Requests ---- */

struct bare_request bare_copy(enum ibv_wr_opcode opcode, const struct bare *here, void *local,
                              const struct bare *there, void *remote, uint32_t size, unsigned flags)
{
    struct bare_request made = {
        .wr = {.opcode = opcode, .num_sge = 1, .send_flags = flags},
        .place = {.addr = (uintptr_t)local, .length = size, .lkey = here->region->lkey}};
    made.wr.wr.rdma.remote_addr = (uintptr_t)remote;
    made.wr.wr.rdma.rkey = there->region->rkey;
    return made;
}

struct bare_request bare_atomic(enum ibv_wr_opcode opcode, const struct bare *here, void *local,
                                const struct bare *there, void *remote, uint64_t operand, uint64_t swap,
                                unsigned flags)
{
    struct bare_request made = bare_copy(opcode, here, local, there, remote, sizeof(uint64_t), flags);
    made.wr.wr.atomic.remote_addr = (uintptr_t)remote;
    made.wr.wr.atomic.rkey = there->region->rkey;
    made.wr.wr.atomic.compare_add = operand;
    made.wr.wr.atomic.swap = swap;
    return made;
}

int bare_post(struct ibv_qp *pair, struct bare_request *requests, int count)
{
    struct ibv_send_wr *bad;
    for (int i = 0; i < count; i++) {
        requests[i].wr.sg_list = &requests[i].place;
        requests[i].wr.next = i + 1 < count ? &requests[i + 1].wr : NULL;
    }
    return ibv_post_send(pair, &requests[0].wr, &bad);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int bare_completion(struct bare *device, double seconds)
{
    struct ibv_wc done;
    double limit = now() + seconds;
    do {
        int count = ibv_poll_cq(device->completions, 1, &done);
        if (count != 0)
            return count < 0 ? -1 : (int)done.status;
    } while (now() < limit);
    return -1;
}
