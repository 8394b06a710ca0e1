/* What the library adds to the device: one operation by bare libibverbs and the same by the library, in turn, in one process, on
 * loop-back queue pairs of the one device. Ratios hold where times don't, on a machine that does other things as well.
 *
 * usage: REMORA_PROVIDER=verbs overhead, which prints a line for each operation: name, ratio (the median of those of the rounds) */
#include "runtime/frame.h"

#include <infiniband/verbs.h>
#include <x86intrin.h>

enum { ROUNDS = 60, TIMES = 40, WORDS = 128, TARGET = 64, DEPTH = 128 };

/* ---- The bare side ---- */

static struct bare {
    uint64_t *words;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
} bare;

static void make_bare(struct ibv_context *context)
{
    bare.words = aligned_alloc(4096, 4096);
    bare.pd = ibv_alloc_pd(context);
    bare.cq = ibv_create_cq(context, DEPTH, NULL, NULL, 0);
    CHECK(bare.words && bare.pd && bare.cq);
    memset(bare.words, 0, 4096);
    bare.mr = ibv_reg_mr(bare.pd, bare.words, 4096,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_ATOMIC);
    struct ibv_qp_init_attr wish = {
        .send_cq = bare.cq, .recv_cq = bare.cq, .qp_type = IBV_QPT_RC, .cap = {DEPTH, 1, 1, 1, 64}};
    bare.qp = ibv_create_qp(bare.pd, &wish);
    CHECK(bare.mr && bare.qp);
}

/* With itself. The second address of the test's device is the one over IPv4. */
static void connect_bare(struct ibv_context *context)
{
    union ibv_gid gid;
    CHECK(ibv_query_gid(context, 1, 1, &gid) == 0);
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT,
                                     .port_num = 1,
                                     .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                                        IBV_ACCESS_REMOTE_ATOMIC};
    CHECK(ibv_modify_qp(bare.qp, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = bare.qp->qp_num,
        .max_dest_rd_atomic = 16,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = 1, .hop_limit = 64}}};
    CHECK(ibv_modify_qp(bare.qp, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    attributes = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 4, .rnr_retry = 6, .max_rd_atomic = 16};
    CHECK(ibv_modify_qp(bare.qp, &attributes,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void run_bare(enum ibv_wr_opcode opcode)
{
    struct ibv_sge place = {(uintptr_t)bare.words, 8, bare.mr->lkey};
    struct ibv_send_wr *bad,
        request = {.sg_list = &place, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_wc completion;
    int count;
    if (opcode == IBV_WR_RDMA_WRITE)
        request.send_flags |= IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = (uintptr_t)(bare.words + TARGET);
    request.wr.rdma.rkey = bare.mr->rkey;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        request.wr.atomic.rkey = bare.mr->rkey;
        request.wr.atomic.compare_add = 1;
    }
    CHECK(ibv_post_send(bare.qp, &request, &bad) == 0);
    while ((count = ibv_poll_cq(bare.cq, 1, &completion)) == 0)
        ;
    CHECK(count == 1 && completion.status == IBV_WC_SUCCESS);
}

/* ---- The library's side ---- */

static rem_thread thread;
static uint64_t *words;
static rem_nlock lock;

static void fetch_add(void)
{
    TRY(rem_rfaa(&thread, words, 0, words + TARGET, 1, 0));
    TRY(rem_wait(&thread, 0));
}

static void compare_swap(void)
{
    TRY(rem_rcas(&thread, words, 0, words + TARGET, 1, 0, 0));
    TRY(rem_wait(&thread, 0));
}

static void get(void)
{
    TRY(rem_get(&thread, words, 0, words + TARGET, 8, 0));
    TRY(rem_wait(&thread, 0));
}

static void put(void)
{
    TRY(rem_put(&thread, 0, words + TARGET, words, 8, 0));
    TRY(rem_wait(&thread, 0));
}

static void put_value(void)
{
    TRY(rem_put_value(&thread, 0, words + TARGET, 1, 0));
    TRY(rem_wait(&thread, 0));
}

static void acquire(void)
{
    TRY(rem_nlock_acquire(&thread, &lock));
}

static void release(void)
{
    TRY(rem_nlock_release(&thread, &lock));
}

/* ---- Side by side ---- */

static const struct operation {
    const char *name;
    enum ibv_wr_opcode bare;
    void (*ours)(void);
    void (*after)(void); /* not timed */
} operations[] = {
    {"fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, fetch_add, NULL},
    {"compare-swap", IBV_WR_ATOMIC_FETCH_AND_ADD, compare_swap, NULL},
    {"get", IBV_WR_RDMA_READ, get, NULL},
    {"put", IBV_WR_RDMA_WRITE, put, NULL},
    {"put-value", IBV_WR_RDMA_WRITE, put_value, NULL},
    {"nlock-acquire", IBV_WR_ATOMIC_FETCH_AND_ADD, acquire, release},
};

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static double ratio_of_round(const struct operation *operation)
{
    double theirs[TIMES], ours[TIMES];
    for (unsigned i = 0; i < TIMES; i++) {
        uint64_t start = __rdtsc();
        run_bare(operation->bare);
        uint64_t middle = __rdtsc();
        operation->ours();
        ours[i] = (double)(__rdtsc() - middle);
        theirs[i] = (double)(middle - start);
        if (operation->after)
            operation->after();
    }
    return median(ours, TIMES) / median(theirs, TIMES);
}

int main(void)
{
    int count = 0;
    rem_job job;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_alloc(&job, WORDS * sizeof *words, &memory));
    words = memory;
    TRY(rem_nlock_init(&job, &lock, 0));
    TRY(rem_attach(&job, &thread));
    struct ibv_device **devices = ibv_get_device_list(&count);
    struct ibv_context *context = count ? ibv_open_device(devices[0]) : NULL;
    CHECK(context);
    make_bare(context);
    connect_bare(context);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        double ratios[ROUNDS];
        for (unsigned round = 0; round < ROUNDS; round++)
            ratios[round] = ratio_of_round(&operations[i]);
        printf("%s %.2f\n", operations[i].name, median(ratios, ROUNDS));
    }
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
    return 0;
}
