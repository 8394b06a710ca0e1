/* The ofi provider beside bare libfabric: the same two processes, the same rounds, the same provider of libfabric, a
 * thread at the target that sleeps and watches in the same way in both. Times are medians of the rounds.
 *
 *   remora launch -n 2 --provider ofi -- build/bench/ofi [ROUNDS [OPERATIONS [TEXT]]]
 * TEXT: only what has it in its name.
 *
 * The target's own program computes all the while if COMPUTE=1 is in the environment, else it sleeps in a barrier. */
#include <remora/remora.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 4096, WORDS = BYTES / 8, MOST_ROUNDS = 999 };

static void must(long result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "bench/ofi: %s: %ld\n", what, result);
    exit(1);
}
#define MUST(call) must((call), #call)

/* ---- Bare libfabric ---- */

struct bare {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_mr *mr;
    void *descriptor;
    uint64_t *memory;
    fi_addr_t to;
    uint64_t key, base;
};

struct card {
    unsigned char name[256];
    uint64_t key, base;
};

static struct fi_info *choose(void)
{
    const char *name = getenv("REMORA_OFI_PROVIDER");
    struct fi_info *hints = fi_allocinfo(), *info = NULL;
    hints->caps = FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(name ? name : "tcp;ofi_rxm");
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    const char *node = name && strcmp(name, "shm") == 0 ? NULL : "127.0.0.1";
    MUST(fi_getinfo(FI_VERSION(1, 17), node, NULL, node ? FI_SOURCE : 0, hints, &info));
    fi_freeinfo(hints);
    return info;
}

static void open_bare(struct bare *bare, bool target)
{
    const uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    bare->info = choose();
    bare->memory = aligned_alloc(4096, 4 * BYTES);
    memset(bare->memory, 0, 4 * BYTES);
    MUST(fi_fabric(bare->info->fabric_attr, &bare->fabric, NULL));
    MUST(fi_domain(bare->fabric, bare->info, &bare->domain, NULL));
    MUST(fi_endpoint(bare->domain, bare->info, &bare->ep, NULL));
    struct fi_av_attr names = {.type = FI_AV_TABLE};
    MUST(fi_av_open(bare->domain, &names, &bare->av, NULL));
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .size = 256};
    queue.wait_obj = target ? FI_WAIT_FD : FI_WAIT_NONE;
    if (fi_cq_open(bare->domain, &queue, &bare->cq, NULL) != 0) {
        queue.wait_obj = FI_WAIT_NONE;
        MUST(fi_cq_open(bare->domain, &queue, &bare->cq, NULL));
    }
    MUST(fi_ep_bind(bare->ep, &bare->av->fid, 0));
    MUST(fi_ep_bind(bare->ep, &bare->cq->fid, FI_TRANSMIT | FI_RECV));
    MUST(fi_enable(bare->ep));
    MUST(fi_mr_reg(bare->domain, bare->memory, 4 * BYTES, access, 0, 42, 0, &bare->mr, NULL));
    if (bare->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        MUST(fi_mr_bind(bare->mr, &bare->ep->fid, 0));
        MUST(fi_mr_enable(bare->mr));
    }
    bare->descriptor = fi_mr_desc(bare->mr);
}

static void fill_card(const struct bare *bare, struct card *card)
{
    size_t size = sizeof card->name;
    MUST(fi_getname(&bare->ep->fid, card->name, &size));
    card->key = fi_mr_key(bare->mr);
    card->base = bare->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)bare->memory : 0;
}

struct server {
    struct bare *bare;
    atomic_bool stop;
};

/* As the provider's server: sleeps until something comes, then looks out for more for a moment. */
static void *serve(void *argument)
{
    struct server *server = argument;
    struct bare *bare = server->bare;
    const char *text = getenv("REMORA_OFI_WATCH");
    uint64_t watch = (text ? strtoul(text, NULL, 10) : 100) * UINT64_C(1000), until = 0, looked = 0;
    struct fi_cq_msg_entry entry;
    struct fid *queue = &bare->cq->fid;
    struct pollfd called = {.events = POLLIN};
    if (fi_control(queue, FI_GETWAIT, &called.fd) != 0)
        called.fd = -1;
    while (!atomic_load(&server->stop)) {
        fi_cq_read(bare->cq, &entry, 1);
        uint64_t now = rem_clock();
        if (until && now - looked > 500000) /* pushed aside */
            until = 0;
        looked = now;
        if (called.fd < 0 || now < until)
            continue;
        until = 0;
        if (fi_trywait(bare->fabric, &queue, 1) != 0 || poll(&called, 1, 100) > 0) {
            looked = rem_clock();
            until = looked + watch;
        }
    }
    return NULL;
}

static struct fi_context2 bare_context;

static void await(struct bare *bare)
{
    struct fi_cq_msg_entry entry;
    ssize_t result;
    while ((result = fi_cq_read(bare->cq, &entry, 1)) != 1)
        if (result != -FI_EAGAIN)
            MUST(result);
}

/* The call until it is taken, then its completion. */
#define RUN(call)                                                                                            \
    do {                                                                                                     \
        ssize_t result_;                                                                                     \
        while ((result_ = (call)) == -FI_EAGAIN)                                                             \
            fi_cq_read(bare->cq, NULL, 0);                                                                   \
        MUST(result_);                                                                                       \
        await(bare);                                                                                         \
    } while (0)

static void bare_read(struct bare *bare, size_t size)
{
    RUN(fi_read(bare->ep, bare->memory, size, bare->descriptor, bare->to, bare->base, bare->key,
                &bare_context));
}

static void bare_write(struct bare *bare, size_t size, uint64_t flags)
{
    struct iovec from = {bare->memory, size};
    struct fi_rma_iov to = {bare->base, size, bare->key};
    struct fi_msg_rma message = {.msg_iov = &from,
                                 .desc = &bare->descriptor,
                                 .iov_count = 1,
                                 .addr = bare->to,
                                 .rma_iov = &to,
                                 .rma_iov_count = 1,
                                 .context = &bare_context};
    RUN(fi_writemsg(bare->ep, &message, FI_COMPLETION | flags));
}

static void bare_faa(struct bare *bare, size_t size)
{
    (void)size;
    bare->memory[1] = 1;
    RUN(fi_fetch_atomic(bare->ep, &bare->memory[1], 1, bare->descriptor, bare->memory, bare->descriptor,
                        bare->to, bare->base, bare->key, FI_UINT64, FI_SUM, &bare_context));
}

static void bare_cas(struct bare *bare, size_t size)
{
    (void)size;
    bare->memory[1] = bare->memory[2] = 0;
    RUN(fi_compare_atomic(bare->ep, &bare->memory[1], 1, bare->descriptor, &bare->memory[2], bare->descriptor,
                          bare->memory, bare->descriptor, bare->to, bare->base, bare->key, FI_UINT64,
                          FI_CSWAP, &bare_context));
}

static void bare_put(struct bare *bare, size_t size)
{
    bare_write(bare, size, 0);
}

static void bare_put_there(struct bare *bare, size_t size)
{
    bare_write(bare, size, FI_DELIVERY_COMPLETE);
}

/* ---- Remora ---- */

struct ours {
    rem_job job;
    rem_thread thread;
    uint64_t *block; /* WORDS local, WORDS remote */
    rem_nlock lock;
};

static void our_get(struct ours *ours, size_t size)
{
    MUST(rem_get(&ours->thread, ours->block, 1, ours->block + WORDS, size, 0));
    MUST(rem_wait(&ours->thread, 0));
}

static void our_put(struct ours *ours, size_t size)
{
    MUST(rem_put(&ours->thread, 1, ours->block + WORDS, ours->block, size, 0));
    MUST(rem_wait(&ours->thread, 0));
}

static void our_put_there(struct ours *ours, size_t size)
{
    MUST(rem_put(&ours->thread, 1, ours->block + WORDS, ours->block, size, 0));
    MUST(rem_gfence(&ours->thread, 2));
}

static void our_faa(struct ours *ours, size_t size)
{
    uint64_t old;
    (void)size;
    MUST(rem_fetch_add(&ours->thread, &old, 1, ours->block + WORDS, 1));
}

static void our_cas(struct ours *ours, size_t size)
{
    uint64_t old;
    (void)size;
    MUST(rem_compare_swap(&ours->thread, &old, 1, ours->block + WORDS, 0, 0));
}

static void our_lock(struct ours *ours, size_t size)
{
    (void)size;
    MUST(rem_nlock_acquire(&ours->thread, &ours->lock));
    MUST(rem_nlock_release(&ours->thread, &ours->lock));
}

/* ---- Side by side ---- */

static const struct pair {
    const char *name;
    size_t size;
    void (*bare)(struct bare *, size_t);
    void (*ours)(struct ours *, size_t);
    double target;
} pairs[] = {
    {"get 8 | fi_read", 8, bare_read, our_get, 1.1},
    {"get 4096 | fi_read", 4096, bare_read, our_get, 1.1},
    {"put 8, source free | fi_write", 8, bare_put, our_put, 1.1},
    {"put 4096, source free | fi_write", 4096, bare_put, our_put, 1.1},
    {"put 8, then gfence | fi_write, delivered", 8, bare_put_there, our_put_there, 0},
    {"fetch-add | fi_fetch_atomic", 8, bare_faa, our_faa, 1.1},
    {"compare-swap | fi_compare_atomic", 8, bare_cas, our_cas, 1.1},
    {"nlock acquire, release | ONE fetch_atomic", 8, bare_faa, our_lock, 1.2},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static double time_of(uint64_t start, int operations)
{
    return (double)(rem_clock() - start) / 1000 / operations;
}

/* Short turns, one after the other, so that both meet the same weather. */
static void measure(struct bare *bare, struct ours *ours, int rounds, int operations, const char *only)
{
    static double theirs[PAIRS][MOST_ROUNDS], mine[PAIRS][MOST_ROUNDS];
    for (int p = 0; p < PAIRS; p++)
        for (int round = -1; round < rounds && strstr(pairs[p].name, only); round++) {
            uint64_t start = rem_clock();
            for (int i = 0; i < operations; i++)
                pairs[p].bare(bare, pairs[p].size);
            theirs[p][round < 0 ? 0 : round] = time_of(start, operations);
            start = rem_clock();
            for (int i = 0; i < operations; i++)
                pairs[p].ours(ours, pairs[p].size);
            mine[p][round < 0 ? 0 : round] = time_of(start, operations);
        }
    printf("%-42s %9s %9s %7s %7s\n", "remora | bare libfabric", "us", "bare us", "ratio", "target");
    for (int p = 0; p < PAIRS; p++) {
        if (!strstr(pairs[p].name, only))
            continue;
        double us = median(mine[p], rounds), bare_us = median(theirs[p], rounds);
        printf("%-42s %9.2f %9.2f %7.2f", pairs[p].name, us, bare_us, us / bare_us);
        printf(pairs[p].target > 0 ? " %7.2f\n" : "\n", pairs[p].target);
    }
}

static void compute_until(const uint64_t *word)
{
    volatile double sink = 1;
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        for (int i = 0; i < 1000; i++)
            sink = sink * 1.0000001;
}

/* All threads of a node on one processor, or the scheduler's choice for each of them would decide the outcome. */
static void pin_all(int node)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((unsigned)node % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
        if (entry->d_name[0] != '.')
            sched_setaffinity(atoi(entry->d_name), sizeof set, &set);
    }
    if (tasks)
        closedir(tasks);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 199, operations = argc > 2 ? atoi(argv[2]) : 10;
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    struct ours ours = {0};
    MUST(rem_open(&ours.job));
    struct bare bare = {0};
    struct card *card;
    uint64_t *done;
    int self = rem_node_self(&ours.job);
    MUST(rem_alloc(&ours.job, 2 * BYTES, (void **)&ours.block));
    MUST(rem_alloc(&ours.job, sizeof *card, (void **)&card));
    MUST(rem_alloc(&ours.job, sizeof *done, (void **)&done));
    MUST(rem_nlock_init(&ours.job, &ours.lock, 1));
    MUST(rem_attach(&ours.job, &ours.thread));
    pin_all(self);
    open_bare(&bare, self == 1);
    struct server server = {.bare = &bare};
    pthread_t id;
    if (self == 1) {
        fill_card(&bare, card);
        pthread_create(&id, NULL, serve, &server);
    }
    MUST(rem_barrier(&ours.job));
    if (self == 0) {
        MUST(rem_get(&ours.thread, card, 1, card, sizeof *card, 0));
        MUST(rem_wait(&ours.thread, 0));
        bare.key = card->key;
        bare.base = card->base;
        if (fi_av_insert(bare.av, card->name, 1, &bare.to, 0, NULL) != 1)
            return 1;
        measure(&bare, &ours, rounds, operations, argc > 3 ? argv[3] : "");
        MUST(rem_put_value(&ours.thread, 1, done, 1, 0));
        MUST(rem_gfence(&ours.thread, 2));
    } else if (getenv("COMPUTE")) {
        compute_until(done);
    }
    MUST(rem_barrier(&ours.job));
    if (self == 1) {
        atomic_store(&server.stop, true);
        pthread_join(id, NULL);
    }
    MUST(rem_detach(&ours.thread));
    MUST(rem_nlock_destroy(&ours.job, &ours.lock));
    MUST(rem_close(&ours.job));
    return 0;
}
