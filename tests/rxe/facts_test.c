/* What the verbs provider takes for granted of a device, asked of the device itself, on two queue pairs of one process: byte order of
 * fetched values, the fence, inline data, more atomics than the responder takes, errors, a peer that is gone. Speaks TAP.
 *
 * usage: facts_test [DEVICE] */
#include "bare.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { READS = 4, WORDS = 512, RETRIES = 4 };

static struct bare device;
static uint64_t *own, *theirs; /* the two halves of the region */

static int cases;

static void report(bool passed, const char *text)
{
    printf("%sok %d - %s\n", passed ? "" : "not ", ++cases, text);
    fflush(stdout);
}

static struct ibv_qp *connected(struct ibv_qp **other)
{
    struct ibv_qp *one = bare_create(&device), *two = bare_create(&device);
    bare_connect(one, &device, &device, two->qp_num, READS, RETRIES);
    bare_connect(two, &device, &device, one->qp_num, READS, RETRIES);
    *other = two;
    return one;
}

static struct bare_request copy(enum ibv_wr_opcode opcode, void *local, void *remote, uint32_t size,
                                unsigned flags)
{
    return bare_copy(opcode, &device, local, &device, remote, size, flags);
}

static struct bare_request atomic(enum ibv_wr_opcode opcode, void *local, void *remote, uint64_t operand,
                                  uint64_t swap, unsigned flags)
{
    return bare_atomic(opcode, &device, local, &device, remote, operand, swap, flags);
}

/* The status of the next completion; -1: none within a minute. */
static int completion(void)
{
    return bare_completion(&device, 60);
}

static int run(struct ibv_qp *pair, struct bare_request made)
{
    made.wr.send_flags |= IBV_SEND_SIGNALED;
    return bare_post(pair, &made, 1) == 0 ? completion() : -1;
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
    uint64_t pattern = UINT64_C(0x0102030405060708);
    own[0] = pattern;
    report(run(pair, copy(IBV_WR_RDMA_WRITE, own, theirs, 8, 0)) == 0 && theirs[0] == pattern, "write");

    struct bare_request inlined =
        copy(IBV_WR_RDMA_WRITE, own, theirs + 1, 8, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
    inlined.place.lkey = ~device.region->lkey;
    int posted = bare_post(pair, &inlined, 1);
    own[0] = 0;
    report(posted == 0 && completion() == 0 && theirs[1] == pattern,
           "inline data are taken by the post, and need no key");

    report(run(pair, copy(IBV_WR_RDMA_READ, own + 2, theirs, 8, 0)) == 0 && own[2] == pattern, "read");

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
    bool right = true;
    for (uint64_t round = 1; round <= 200; round++) {
        own[5] = 0;
        theirs[5] = round;
        theirs[6] = 0;
        struct bare_request chain[] = {
            atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own + 5, theirs + 5, 1, 0, 0),
            copy(IBV_WR_RDMA_WRITE, own + 5, theirs + 6, 8, IBV_SEND_FENCE),
            copy(IBV_WR_RDMA_READ, own + 7, theirs + 5, 16, IBV_SEND_FENCE | IBV_SEND_SIGNALED),
        };
        right &= bare_post(pair, chain, 3) == 0 && completion() == 0;
        right &= own[5] == round && own[7] == round + 1 && own[8] == round;
    }
    report(right, "behind a fence a put sends what an atomic has fetched");
}

/* The initiator holds back what the responder does not take. */
static void of_many_atomics(struct ibv_qp *pair)
{
    enum { MANY = BARE_DEPTH / 2 };
    bool right = true;
    theirs[9] = 0;
    for (int i = 0; i < MANY; i++) {
        struct bare_request add = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own + 16 + i, theirs + 9, 1, 0,
                                         i + 1 == MANY ? IBV_SEND_SIGNALED : 0);
        right &= bare_post(pair, &add, 1) == 0;
    }
    right &= completion() == 0 && theirs[9] == MANY;
    for (uint64_t i = 0; i < MANY; i++)
        right &= own[16 + i] == i;
    report(right, "more atomics at once than max_rd_atomic, in order; one completion for all of them");
}

static void of_loop_back(void)
{
    struct ibv_qp *pair = bare_create(&device);
    bare_connect(pair, &device, &device, pair->qp_num, READS, RETRIES);
    theirs[10] = 7;
    int status = run(pair, atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own + 10, theirs + 10, 1, 0, 0));
    report(status == 0 && own[10] == 7 && theirs[10] == 8, "a queue pair that is connected to itself");
    ibv_destroy_qp(pair);
}

/* What must not be posted, and what the other side refuses; each on a queue pair of its own, which it ruins. */
static void of_errors(void)
{
    struct ibv_qp *other, *pair = connected(&other);
    char *odd = (char *)theirs + 4;
    struct bare_request wrong = atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, own, odd, 1, 0, IBV_SEND_SIGNALED);
    int refused = bare_post(pair, &wrong, 1);
    report(refused != 0 || completion() != 0, "an atomic that is not aligned fails");

    pair = connected(&other);
    wrong = copy(IBV_WR_RDMA_READ, own, theirs, 8, 0);
    wrong.wr.wr.rdma.rkey ^= 0x40;
    report(run(pair, wrong) == IBV_WC_REM_ACCESS_ERR, "a wrong key is a remote access error");
    report(run(pair, copy(IBV_WR_RDMA_READ, own, theirs, 8, 0)) == IBV_WC_WR_FLUSH_ERR,
           "what is posted after an error is flushed");

    pair = connected(&other);
    wrong = copy(IBV_WR_RDMA_WRITE, own, theirs + WORDS, 8, 0);
    report(run(pair, wrong) == IBV_WC_REM_ACCESS_ERR, "so is an address outside the region");
}

static void of_a_dead_peer(void)
{
    struct ibv_qp *other, *pair = connected(&other);
    ibv_destroy_qp(other);
    report(run(pair, copy(IBV_WR_RDMA_READ, own, theirs, 8, 0)) == IBV_WC_RETRY_EXC_ERR,
           "a peer that is gone is an error after the retries");
}

static atomic_bool enough;
static unsigned long undone;

/* Ever greater values, each looked at for a while. */
static void *store(void *argument)
{
    uint64_t *word = argument;
    for (uint64_t i = 1; !enough; i++) {
        bool kept = true;
        __atomic_store_n(word, i, __ATOMIC_SEQ_CST);
        for (unsigned look = 0; look < 200 && kept; look++)
            kept = __atomic_load_n(word, __ATOMIC_ACQUIRE) == i;
        undone += !kept;
    }
    return NULL;
}

/* Only told, since devices differ: whether a compare-and-swap that fails writes back what it has read. */
static void of_failing_swaps(struct ibv_qp *pair)
{
    enum { SWAPS = 20000 };
    pthread_t thread;
    bool right = pthread_create(&thread, NULL, store, theirs + 11) == 0;
    for (unsigned i = 0; i < SWAPS && right; i++)
        right = run(pair, atomic(IBV_WR_ATOMIC_CMP_AND_SWP, own + 11, theirs + 11, UINT64_MAX, 0, 0)) == 0;
    enough = true;
    pthread_join(thread, NULL);
    report(right, "compare and swap while the processor stores");
    printf("# %d that fail have undone %lu of its stores\n", SWAPS, undone);
}

int main(int argc, char **argv)
{
    bare_open(&device, argc > 1 ? argv[1] : NULL, 2 * WORDS);
    own = device.words;
    theirs = own + WORDS;
    of_the_device();
    struct ibv_qp *other, *pair = connected(&other);
    of_single_operations(pair);
    of_the_fence(pair);
    of_many_atomics(pair);
    of_loop_back();
    of_failing_swaps(pair);
    of_errors();
    of_a_dead_peer();
    printf("1..%d\n", cases);
    return 0;
}
