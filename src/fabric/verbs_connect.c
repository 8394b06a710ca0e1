/* The queue pairs of the verbs provider: thread t of node a has one towards each node b, connected with the one of thread t of
 * b towards a; its own node's is connected with itself. Both ends of a connection send. */
#include "fabric/verbs_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making ---- */

static struct ibv_qp *new_queue_pair(struct fabric_node *link, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr wish = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = link->depth,
                                            .max_recv_wr = 1,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = link->inline_size}};
    return ibv_create_qp(link->pd, &wish);
}

static int initialise(const struct fabric_node *link, struct ibv_qp *qp)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                     .port_num = link->device.port,
                                     .pkey_index = (uint16_t)link->options.pkey,
                                     .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                                        IBV_ACCESS_REMOTE_ATOMIC};
    return ibv_modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int make_queue(struct fabric_node *link, struct fabric_thread *thread, unsigned n,
                      struct verbs_trouble *trouble)
{
    struct verbs_queue *queue = &thread->queue[n];
    queue->node = n;
    queue->ends = thread->ends + (size_t)n * link->depth;
    queue->qp = new_queue_pair(link, thread->cq);
    if (!queue->qp)
        return verbs_trouble(trouble, REM_EPROVIDER, "%s makes no queue pair of %u requests: %s",
                             link->device.name, link->depth, strerror(errno));
    int error = initialise(link, queue->qp);
    return error ? verbs_trouble(trouble, REM_EPROVIDER, "%s does not prepare a queue pair: %s",
                                 link->device.name, strerror(error))
                 : 0;
}

static struct fabric_thread *new_thread(struct fabric_node *link)
{
    size_t size = sizeof(struct fabric_thread) + link->nodes * sizeof(struct verbs_queue);
    size = (size + LINE - 1) / LINE * LINE;
    struct fabric_thread *thread = aligned_alloc(LINE, size);
    if (!thread)
        return NULL;
    memset(thread, 0, size);
    thread->link = link;
    thread->home = link->home;
    thread->lkey = link->mr->lkey;
    thread->depth = link->depth;
    thread->mask = link->depth - 1;
    thread->inline_size = link->inline_size;
    thread->forgets = link->device.forgets;
    uint32_t longest = link->device.port_attributes.max_msg_sz;
    thread->piece = longest > VERBS_PIECE ? VERBS_PIECE : longest & ~63u;
    thread->ends = calloc(link->nodes, link->depth);
    atomic_flag_clear(&thread->taken);
    return thread;
}

static int fill_thread(struct fabric_node *link, struct fabric_thread *thread, struct verbs_trouble *trouble)
{
    if (!thread->ends)
        return verbs_trouble(trouble, REM_ENOMEM, "out of memory");
    int entries = (int)(link->nodes * link->depth);
    thread->cq = ibv_create_cq(link->device.context, entries, NULL, NULL, 0);
    if (!thread->cq)
        return verbs_trouble(trouble, REM_EPROVIDER, "%s makes no completion queue of %d entries: %s",
                             link->device.name, entries, strerror(errno));
    int error = 0;
    for (unsigned n = 0; n < link->nodes && !error; n++)
        error = make_queue(link, thread, n, trouble);
    return error;
}

/* Without inline data, puts of values need sources that the device can read. */
static int make_values(struct fabric_node *link, struct verbs_trouble *trouble)
{
    size_t size = (size_t)link->threads * link->nodes * link->depth * sizeof(uint64_t);
    link->values = aligned_alloc(4096, (size + 4095) & ~(size_t)4095);
    if (!link->values)
        return verbs_trouble(trouble, REM_ENOMEM, "out of memory");
    memset(link->values, 0, size);
    link->values_mr = ibv_reg_mr(link->pd, link->values, size, 0);
    if (!link->values_mr)
        return verbs_trouble(trouble, REM_EPROVIDER, "%s does not register %zu bytes: %s", link->device.name,
                             size, strerror(errno));
    for (unsigned t = 0; t < link->threads; t++) {
        struct fabric_thread *thread = link->thread[t];
        thread->values_lkey = link->values_mr->lkey;
        for (unsigned n = 0; n < link->nodes; n++)
            thread->queue[n].values = link->values + ((size_t)t * link->nodes + n) * link->depth;
    }
    return 0;
}

/* How much may be inlined is found out by asking. */
static int settle_inline_size(struct fabric_node *link, struct verbs_trouble *trouble)
{
    struct ibv_cq *cq = ibv_create_cq(link->device.context, 1, NULL, NULL, 0);
    if (!cq)
        return verbs_trouble(trouble, REM_EPROVIDER, "%s makes no completion queue: %s", link->device.name,
                             strerror(errno));
    struct ibv_qp *qp = NULL;
    link->inline_size = (uint32_t)link->options.inline_size;
    while (!(qp = new_queue_pair(link, cq)) && link->inline_size > 0)
        link->inline_size = link->inline_size > 8 ? link->inline_size / 2 : 0;
    if (qp)
        ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
    return 0;
}

int verbs_make_threads(struct fabric_node *link, struct verbs_trouble *trouble)
{
    int error = settle_inline_size(link, trouble);
    for (unsigned t = 0; t < link->threads && !error; t++) {
        link->thread[t] = new_thread(link);
        error = link->thread[t] ? fill_thread(link, link->thread[t], trouble)
                                : verbs_trouble(trouble, REM_ENOMEM, "out of memory");
    }
    return !error && link->inline_size < sizeof(uint64_t) ? make_values(link, trouble) : error;
}

static void free_thread(struct fabric_thread *thread, unsigned nodes)
{
    for (unsigned n = 0; n < nodes; n++)
        if (thread->queue[n].qp)
            ibv_destroy_qp(thread->queue[n].qp);
    if (thread->cq)
        ibv_destroy_cq(thread->cq);
    free(thread->ends);
    free(thread);
}

void verbs_free_threads(struct fabric_node *link)
{
    for (unsigned t = 0; t < link->threads; t++)
        if (link->thread[t])
            free_thread(link->thread[t], link->nodes);
    if (link->values_mr)
        ibv_dereg_mr(link->values_mr);
    free(link->values);
}

/* ---- Connecting ---- */

static struct ibv_ah_attr path_to(const struct fabric_node *link, const struct verbs_address *peer)
{
    bool global = link->device.ethernet || link->options.gid != VERBS_ANY;
    return (struct ibv_ah_attr){.is_global = global,
                                .dlid = peer->lid,
                                .sl = (uint8_t)link->options.service_level,
                                .port_num = link->device.port,
                                .grh = {.dgid = peer->gid,
                                        .sgid_index = (uint8_t)link->device.gid_index,
                                        .hop_limit = (uint8_t)link->options.hop_limit,
                                        .traffic_class = (uint8_t)link->options.traffic_class}};
}

static enum ibv_mtu mtu_code(int bytes)
{
    enum ibv_mtu code = IBV_MTU_256;
    while (bytes > 256) {
        bytes /= 2;
        code++;
    }
    return code;
}

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* As the one who answers. Never more reads and atomics at once than the peer has been told that we answer. */
static int ready_to_receive(const struct fabric_node *link, struct ibv_qp *qp,
                            const struct verbs_address *mine, const struct verbs_address *peer,
                            uint32_t number)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                     .path_mtu = mtu_code((int)lesser(mine->mtu, peer->mtu)),
                                     .dest_qp_num = number,
                                     .rq_psn = peer->psn,
                                     .max_dest_rd_atomic = (uint8_t)lesser(mine->answers, peer->initiates),
                                     .min_rnr_timer = (uint8_t)link->options.rnr_timer,
                                     .ah_attr = path_to(link, peer)};
    return ibv_modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int ready_to_send(const struct fabric_node *link, struct ibv_qp *qp, const struct verbs_address *mine,
                         const struct verbs_address *peer)
{
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTS,
                                     .timeout = (uint8_t)link->options.timeout,
                                     .retry_cnt = (uint8_t)link->options.retry,
                                     .rnr_retry = (uint8_t)link->options.rnr_retry,
                                     .sq_psn = mine->psn,
                                     .max_rd_atomic = (uint8_t)lesser(mine->initiates, peer->answers)};
    return ibv_modify_qp(qp, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_queue(struct fabric_node *link, struct verbs_queue *queue,
                         const struct verbs_address *mine, const struct verbs_address *peer, uint32_t number,
                         struct verbs_trouble *trouble)
{
    int error = ready_to_receive(link, queue->qp, mine, peer, number);
    if (!error)
        error = ready_to_send(link, queue->qp, mine, peer);
    if (error)
        return verbs_trouble(trouble, REM_EUNREACHABLE, "%s does not connect with node %u: %s",
                             link->device.name, queue->node, strerror(error));
    queue->distance = (ptrdiff_t)(peer->base - mine->base);
    queue->rkey = peer->rkey;
    return 0;
}

int verbs_connect(struct fabric_node *link, const struct verbs_address *mine, unsigned n,
                  const struct verbs_address *peer, const uint32_t *numbers, struct verbs_trouble *trouble)
{
    if (peer->ethernet != mine->ethernet)
        return verbs_trouble(trouble, REM_EUNREACHABLE, "node %u is on another kind of network: %s", n,
                             peer->ethernet ? "Ethernet" : "InfiniBand");
    int error = 0;
    for (unsigned t = 0; t < link->threads && !error; t++)
        error = connect_queue(link, &link->thread[t]->queue[n], mine, peer,
                              numbers[(size_t)t * link->nodes + link->self], trouble);
    return error;
}
