/* What the library adds to the device: one operation by bare libibverbs and the same by the library, in turn, in one process, on
 * loop-back queue pairs of the one device. Ratios hold where times don't, on a machine that does other things as well.
 *
 * usage: REMORA_PROVIDER=verbs overhead, which prints a line for each operation: name, ratio (the median of those of the rounds) */
#include "bare.h"
#include "runtime/frame.h"

#include <x86intrin.h>

enum { ROUNDS = 60, TIMES = 40, WORDS = 128, TARGET = 64 };

/* ---- The bare side ---- */

static struct bare device;
static struct ibv_qp *loop_back;

static void run_bare(enum ibv_wr_opcode opcode)
{
    struct ibv_sge place = {(uintptr_t)device.words, 8, device.region->lkey};
    struct ibv_send_wr *bad,
        request = {.sg_list = &place, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_wc completion;
    int count;
    if (opcode == IBV_WR_RDMA_WRITE)
        request.send_flags |= IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = (uintptr_t)(device.words + TARGET);
    request.wr.rdma.rkey = device.region->rkey;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        request.wr.atomic.rkey = device.region->rkey;
        request.wr.atomic.compare_add = 1;
    }
    CHECK(ibv_post_send(loop_back, &request, &bad) == 0);
    while ((count = ibv_poll_cq(device.completions, 1, &completion)) == 0)
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
    rem_job job;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_alloc(&job, WORDS * sizeof *words, &memory));
    words = memory;
    TRY(rem_nlock_init(&job, &lock, 0));
    TRY(rem_attach(&job, &thread));
    bare_open(&device, NULL, WORDS);
    loop_back = bare_create(&device);
    bare_connect(loop_back, &device, &device, loop_back->qp_num, 16, 4);
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
