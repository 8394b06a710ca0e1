/* The verbs provider over the fake device: accounts that never overrun a queue, order, errors, and what is told at opening.
 *
 * usage: verbs_test SEED */
#include "../runtime/frame.h"
#include "fake_verbs.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { NODES = 2, WORDS = 4096, SOFT_ROCE = 0xffffff };

struct job {
    rem_job nodes[NODES];
    rem_thread threads[NODES];
    uint64_t *words[NODES]; /* symmetric */
};

static unsigned seed = 1;

static struct fake_device good(void)
{
    struct fake_device device = fake_good;
    device.seed = seed;
    return device;
}

static void *allocate(void *argument)
{
    struct job *job = argument;
    void *words;
    TRY(rem_alloc(&job->nodes[1], WORDS * 8, &words));
    job->words[1] = words;
    return NULL;
}

/* The calling thread becomes a thread of every node. */
static void open_job(struct job *job, const struct fake_device *device)
{
    struct rem_options options = {.heap = 64u << 20, .threads = 2, .provider = "verbs"};
    pthread_t other;
    void *words;
    *job = (struct job){0};
    fake_become(device);
    TRY(rem_open_nodes(job->nodes, NODES, &options));
    CHECK(pthread_create(&other, NULL, allocate, job) == 0);
    TRY(rem_alloc(&job->nodes[0], WORDS * 8, &words));
    job->words[0] = words;
    pthread_join(other, NULL);
    for (int n = 0; n < NODES; n++)
        TRY(rem_attach(&job->nodes[n], &job->threads[n]));
}

static void close_job(struct job *job, bool failed)
{
    for (int n = 0; n < NODES; n++) {
        int error = rem_detach(&job->threads[n]);
        CHECK(failed ? error != 0 : error == 0);
    }
    for (int n = 0; n < NODES; n++)
        TRY(rem_close(&job->nodes[n]));
    struct fake_counts counts = fake_counts();
    if (counts.faults)
        fprintf(stderr, "%lu faults, the first: %s\n", counts.faults, counts.fault);
    CHECK(counts.faults == 0);
    CHECK(counts.objects == 0);
}

/* ---- Accounts ---- */

/* Who only puts never waits, and goes on for ever. */
static void put_for_ever(unsigned max_inline)
{
    struct fake_device device = good();
    device.max_inline = max_inline;
    struct job job;
    open_job(&job, &device);
    const unsigned long count = frame_scaled(10000);
    for (unsigned long i = 1; i <= count; i++) {
        TRY(rem_put_value(&job.threads[0], 1, job.words[0], i, 0));
        TRY(rem_put_value(&job.threads[0], 1, job.words[0] + 2, ~i, 0));
        TRY(rem_put_value(&job.threads[0], 0, job.words[0] + 1, i, 0));
    }
    TRY(rem_gfence(&job.threads[0], REM_ALL_NODES));
    CHECK(rem_load(&job.threads[1], job.words[1]) == count);
    CHECK(rem_load(&job.threads[1], job.words[1] + 2) == ~count);
    CHECK(rem_load(&job.threads[0], job.words[0] + 1) == count);
    fake_pause(true); /* values wait where they are until the device takes them */
    for (unsigned i = 0; i < 20; i++)
        TRY(rem_put_value(&job.threads[0], 1, job.words[0] + 8 + i, i + 1, 0));
    fake_pause(false);
    TRY(rem_gfence(&job.threads[0], REM_ALL_NODES));
    for (unsigned i = 0; i < 20; i++)
        CHECK(rem_load(&job.threads[1], job.words[1] + 8 + i) == i + 1);
    struct fake_counts counts = fake_counts();
    CHECK(counts.deepest <= 128 && counts.fullest <= 256);
    CHECK(counts.entries * 16 < counts.requests); /* completions are asked for seldom */
    CHECK(max_inline ? counts.inlined >= 3 * count : counts.inlined == 0);
    close_job(&job, false);
}

/* Whoever waits for a put of which no completion was asked for gets one. */
static void wait_for_value(void)
{
    struct fake_device device = good();
    struct job job;
    open_job(&job, &device);
    struct fake_counts before = fake_counts();
    for (unsigned i = 0; i < 330; i++) {
        TRY(rem_put_value(&job.threads[0], 1, job.words[0], i, 7));
        TRY(rem_wait(&job.threads[0], 7));
    }
    struct fake_counts after = fake_counts();
    CHECK(after.empty - before.empty == 10); /* and, having learnt, asks at once the next 32 times */
    close_job(&job, false);
}

/* All kinds, waits and fences by chance, towards both nodes. */
static void mix(const struct fake_device *device)
{
    struct job job;
    uint64_t sums[NODES] = {0}, last[NODES] = {0}, old;
    unsigned random = seed;
    open_job(&job, device);
    rem_thread *t = &job.threads[0];
    for (unsigned long i = 1; i <= frame_scaled(6000); i++) {
        random = random * 1103515245u + 12345u;
        unsigned choice = random >> 16, work = choice % 60;
        int node = choice >> 8 & 1;
        uint64_t *words = job.words[0];
        switch (choice % 13) {
        case 0 ... 2:
            TRY(rem_put_value(t, node, &words[0], last[node] = i, work));
            break;
        case 3:
            TRY(rem_put(t, node, &words[1024], &words[512], 8 + (choice & 0x3f8), work));
            break;
        case 4 ... 5:
            TRY(rem_put(t, node, &words[1024], &words[512], 8 + (choice & 0x38), work));
            break;
        case 6:
            TRY(rem_get(t, &words[256], node, &words[1024], 8 + (choice & 0xff), work));
            break;
        case 7 ... 8:
            sums[node] += i;
            TRY(rem_rfaa(t, &words[8 + work], node, &words[1], i, work));
            break;
        case 9:
            TRY(rem_rcas(t, &words[128 + work], node, &words[2], 0, 1, work));
            break;
        case 10:
            TRY(rem_rfence(t, node));
            break;
        case 11:
            TRY(rem_wait(t, work));
            break;
        case 12:
            TRY(rem_fetch_add(t, &old, node, &words[1], 0));
            CHECK(old == sums[node]);
            break;
        }
    }
    for (int n = 0; n < NODES; n++) {
        TRY(rem_get_value(t, &old, n, &job.words[0][0]));
        CHECK(old == last[n]);
    }
    CHECK(fake_counts().most_reads <= (unsigned)device->initiates);
    close_job(&job, false);
}

static void mixes(void)
{
    struct fake_device device = good();
    mix(&device);
    device.initiates = 1;
    device.answers = 3;
    mix(&device);
    device.initiates = 16;
    device.answers = 2;
    device.max_inline = 0;
    mix(&device);
    device = good();
    device.max_qp_wr = 64;
    device.max_inline = 16;
    device.laziness = 1;
    mix(&device);
    device.vendor = SOFT_ROCE;
    mix(&device);
}

/* A put longer than the device's longest message, and than its queue holds of them. */
static void long_put(void)
{
    struct fake_device device = good();
    device.max_message = 256;
    struct job job;
    open_job(&job, &device);
    rem_thread *t = &job.threads[0];
    for (unsigned i = 2048; i < WORDS; i++)
        rem_store(t, &job.words[0][i], i);
    TRY(rem_put(t, 1, job.words[0], &job.words[0][2048], 2048 * 8, 0));
    TRY(rem_put_value(t, 1, job.words[0], 1, 0));
    TRY(rem_wait(t, 0));
    TRY(rem_gfence(t, REM_ALL_NODES));
    CHECK(rem_load(&job.threads[1], &job.words[1][0]) == 1);
    for (unsigned i = 2049; i < WORDS; i++)
        CHECK(rem_load(&job.threads[1], &job.words[1][i - 2048]) == i);
    TRY(rem_get(t, job.words[0], 1, job.words[0], 2048 * 8, 0));
    TRY(rem_wait(t, 0));
    CHECK(rem_load(t, &job.words[0][2047]) == WORDS - 1);
    close_job(&job, false);
}

/* ---- Order ---- */

/* get; rfence; put: the put never overtakes; without the fence it does, or the fake would prove nothing. */
static unsigned long overtakings(bool fence, bool inlined, uint32_t vendor)
{
    struct fake_device device = good();
    device.vendor = vendor;
    struct job job;
    unsigned long seen = 0;
    open_job(&job, &device);
    rem_thread *t = &job.threads[0];
    uint64_t *words = job.words[0];
    for (unsigned long i = 1; i <= frame_scaled(2000); i++) {
        rem_store(t, &words[8], i);
        TRY(rem_get(t, &words[16], 1, &words[0], 8, 0));
        if (fence)
            TRY(rem_rfence(t, 1));
        TRY(inlined ? rem_put_value(t, 1, &words[0], i, 0) : rem_put(t, 1, &words[0], &words[8], 8, 0));
        TRY(rem_wait(t, 0));
        seen += rem_load(t, &words[16]) == i;
    }
    close_job(&job, false);
    return seen;
}

/* get x; rfence; put from x: the put's source is what the get brought, however small it is. */
static void fenced_source(uint32_t vendor)
{
    struct fake_device device = good();
    device.vendor = vendor;
    struct job job;
    open_job(&job, &device);
    rem_thread *t = &job.threads[0];
    uint64_t *words = job.words[0];
    for (unsigned long i = 1; i <= frame_scaled(2000); i++) {
        TRY(rem_put_value(t, 1, &words[0], i, 0));
        TRY(rem_get(t, &words[8], 1, &words[0], 8, 0));
        TRY(rem_rfence(t, 1));
        if (i & 1)
            TRY(rem_put_value(t, 1, &words[16], i,
                              0)); /* takes the fence; what follows is behind it all the same */
        TRY(rem_put(t, 1, &words[24], &words[8], 8, 0));
        TRY(rem_wait(t, 0));
        TRY(rem_gfence(t, REM_ALL_NODES));
        CHECK(rem_load(&job.threads[1], &job.words[1][24]) == i);
    }
    CHECK(vendor == SOFT_ROCE || fake_counts().fenced >= frame_scaled(2000));
    close_job(&job, false);
}

/* Behind gets that have been waited for a fence costs nothing. */
static void idle_fences(void)
{
    struct fake_device device = good();
    struct job job;
    uint64_t value;
    open_job(&job, &device);
    rem_thread *t = &job.threads[0];
    for (unsigned i = 0; i < 100; i++) {
        TRY(rem_get_value(t, &value, 1, job.words[0]));
        TRY(rem_rfence(t, 1));
        TRY(rem_put_value(t, 1, job.words[0], i, 0));
    }
    CHECK(fake_counts().fenced == 0);
    close_job(&job, false);
}

struct stores {
    struct job *job;
    unsigned long count;
};

/* y, then x: for ever greater. */
static void *store_both(void *argument)
{
    struct stores *stores = argument;
    rem_thread thread;
    TRY(rem_attach(&stores->job->nodes[0], &thread));
    for (unsigned long i = 1; i <= stores->count; i++) {
        rem_store(&thread, &stores->job->words[0][600], i);
        rem_store(&thread, &stores->job->words[0][500], i);
    }
    TRY(rem_detach(&thread));
    return NULL;
}

/* Sources are read in order: if the first put, too long to be inlined, has seen x, then the second has seen y. */
static void sources_in_order(void)
{
    struct fake_device device = good();
    struct job job;
    open_job(&job, &device);
    rem_thread *t = &job.threads[0];
    uint64_t *words = job.words[0];
    struct stores stores = {&job, frame_scaled(4000000)};
    pthread_t other;
    CHECK(pthread_create(&other, NULL, store_both, &stores) == 0);
    for (unsigned long i = 1; i <= frame_scaled(2000); i++) {
        TRY(rem_put(t, 1, &words[0], &words[500], 64 * 8, 0));
        TRY(rem_put(t, 1, &words[128], &words[600], 8, 0));
        TRY(rem_gfence(t, REM_ALL_NODES));
        uint64_t x = rem_load(&job.threads[1], &job.words[1][0]);
        CHECK(x <= rem_load(&job.threads[1], &job.words[1][128]));
    }
    pthread_join(other, NULL);
    close_job(&job, false);
}

/* ---- Errors ---- */

static void check_failure(struct job *job, int expected)
{
    const char *text = NULL;
    int node = -1;
    CHECK(rem_failure(&job->nodes[1], &node, &text) == expected);
    CHECK(node == 1 && text && strstr(text, "node 1") && strstr(text, "fake0"));
}

/* Whatever a thread is doing when its operation fails, it hears of it. */
static void fail_amid(unsigned long after, enum ibv_wc_status status, int expected)
{
    struct fake_device device = good();
    struct job job;
    uint64_t value;
    int error = 0;
    open_job(&job, &device);
    fake_fail(after, status);
    for (unsigned long i = 0; i < 100000 && !error; i++) {
        error = rem_put_value(&job.threads[0], 1, job.words[0], i, 3);
        if (!error && i % 100 == 99)
            error = rem_wait(&job.threads[0], 3);
    }
    CHECK(error == expected);
    CHECK(rem_get_value(&job.threads[0], &value, 1, job.words[0]) == expected);
    check_failure(&job, expected);
    close_job(&job, true);
}

static rem_nlock locks[NODES];

static void *init_lock(void *argument)
{
    struct job *job = argument;
    TRY(rem_nlock_init(&job->nodes[1], &locks[1], 1));
    return NULL;
}

static void take_and_give(struct job *job, int n)
{
    TRY(rem_nlock_acquire(&job->threads[n], &locks[n]));
    TRY(rem_nlock_release(&job->threads[n], &locks[n]));
}

/* A lock whose home is gone is not acquired, whether the thread expects to be alone there or not. */
static void fail_lock(bool shared, unsigned long after)
{
    struct fake_device device = good();
    struct job job;
    pthread_t other;
    open_job(&job, &device);
    CHECK(pthread_create(&other, NULL, init_lock, &job) == 0);
    TRY(rem_nlock_init(&job.nodes[0], &locks[0], 1));
    pthread_join(other, NULL);
    for (int i = 0; i < 3; i++) {
        if (shared)
            take_and_give(&job, 1);
        take_and_give(&job, 0);
    }
    fake_fail(after, IBV_WC_RETRY_EXC_ERR);
    CHECK(rem_nlock_acquire(&job.threads[0], &locks[0]) == REM_EUNREACHABLE);
    CHECK(rem_nlock_acquire(&job.threads[0], &locks[0]) == REM_EUNREACHABLE);
    CHECK(rem_nlock_try_acquire(&job.threads[0], &locks[0]) == REM_EUNREACHABLE);
    CHECK(rem_nlock_acquire_until(&job.threads[0], &locks[0], rem_clock() + 1000000) == REM_EUNREACHABLE);
    CHECK(rem_gfence(&job.threads[0], REM_ALL_NODES) == REM_EUNREACHABLE);
    close_job(&job, true);
}

static int put_and_wait(struct job *job)
{
    TRY(rem_put_value(&job->threads[0], 1, job->words[0], 1, 0));
    return rem_wait(&job->threads[0], 0);
}

static int fetch(struct job *job)
{
    uint64_t value;
    return rem_get_value(&job->threads[0], &value, 1, job->words[0]);
}

static int put_and_gfence(struct job *job)
{
    TRY(rem_put_value(&job->threads[0], 1, job->words[0], 1, 0));
    return rem_gfence(&job->threads[0], REM_NODE(1));
}

/* More than the queue holds. */
static int put_on(struct job *job)
{
    int error = 0;
    for (unsigned i = 0; i < 1000 && !error; i++)
        error = rem_put_value(&job->threads[0], 1, job->words[0], 1, 0);
    return error;
}

static int put_much(struct job *job)
{
    return rem_put(&job->threads[0], 1, job->words[0], &job->words[0][2048], 2048 * 8, 0);
}

static int fenced_put(struct job *job)
{
    TRY(rem_get(&job->threads[0], &job->words[0][8], 1, job->words[0], 8, 0));
    TRY(rem_rfence(&job->threads[0], 1));
    int error = rem_put_value(&job->threads[0], 1, job->words[0], 1, 0);
    return error ? error : rem_wait(&job->threads[0], 0);
}

/* A device that forgets an operation: whoever waits for it hears of it, and it does not happen later. */
static void forgotten(int (*act)(struct job *), uint32_t vendor)
{
    struct fake_device device = good();
    struct job job;
    const char *text = NULL;
    int node = -1;
    device.vendor = vendor;
    device.max_message = 64;
    setenv("REMORA_VERBS_TIMEOUT", "8", 1); /* with the retries 0: patience for 17 ms */
    setenv("REMORA_VERBS_RETRY", "0", 1);
    open_job(&job, &device);
    fake_pause(true);
    uint64_t start = rem_clock();
    EXPECT(REM_EUNREACHABLE, act(&job));
    CHECK(rem_clock() - start >= 16000000);
    fake_pause(false);
    CHECK(rem_failure(&job.nodes[0], &node, &text) == REM_EUNREACHABLE && node == 1);
    CHECK(text && strstr(text, "node 1 does not answer: nothing has completed for 0.0 s (fake0)"));
    CHECK(rem_load(&job.threads[1], job.words[1]) == 0);
    close_job(&job, true);
    unsetenv("REMORA_VERBS_TIMEOUT");
    unsetenv("REMORA_VERBS_RETRY");
}

static atomic_ulong fetched;
static atomic_bool steady;

/* Five times the device answers nothing for 300 ms. */
static void *stutter(void *argument)
{
    const struct timespec pause = {.tv_nsec = 300000000};
    (void)argument;
    for (unsigned i = 0; i < 5; i++) {
        unsigned long before = fetched;
        nanosleep(&pause, NULL);
        fake_pause(false);
        while (fetched == before)
            sched_yield();
        fake_pause(i < 4);
    }
    steady = true;
    return NULL;
}

/* A node that is slow is not dead: patience, of a second here, begins anew with each completion. */
static void slow_but_alive(void)
{
    struct fake_device device = good();
    struct job job;
    pthread_t other;
    setenv("REMORA_VERBS_RETRY", "0", 1);
    open_job(&job, &device);
    fake_pause(true);
    CHECK(pthread_create(&other, NULL, stutter, NULL) == 0);
    for (; !steady; fetched++)
        TRY(fetch(&job));
    pthread_join(other, NULL);
    close_job(&job, false);
    unsetenv("REMORA_VERBS_RETRY");
}

static void errors(void)
{
    static int (*const acts[])(struct job *) = {put_and_wait, fetch,    put_and_gfence,
                                                put_on,       put_much, fenced_put};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        forgotten(acts[i], 0);
        forgotten(acts[i], SOFT_ROCE);
    }
    slow_but_alive();
    fail_amid(1, IBV_WC_RETRY_EXC_ERR, REM_EUNREACHABLE);
    fail_amid(50, IBV_WC_RNR_RETRY_EXC_ERR, REM_EUNREACHABLE);
    fail_amid(333, IBV_WC_REM_ACCESS_ERR, REM_ETRANSPORT);
    fail_lock(false, 1);
    fail_lock(true, 1);
    fail_lock(true, 2);
}

/* ---- Opening ---- */

static void open_fails(const struct fake_device *device, int expected, const char *words)
{
    struct rem_options options = {.heap = 1u << 20, .threads = 2, .provider = "verbs"};
    rem_job jobs[NODES];
    const char *text = "";
    fake_become(device);
    EXPECT(expected, rem_open_nodes(jobs, NODES, &options));
    CHECK(rem_failure(&jobs[0], NULL, &text) == expected);
    if (!strstr(text, words))
        fprintf(stderr, "`%s' says nothing of `%s'\n", text, words);
    CHECK(strstr(text, words));
    CHECK(fake_counts().objects == 0);
}

static void bad_devices(void)
{
    struct fake_device device = good();
    device.names[0] = NULL;
    open_fails(&device, REM_EPROVIDER, "no RDMA device");
    device = good();
    device.atomics = IBV_ATOMIC_NONE;
    open_fails(&device, REM_EPROVIDER, "no remote atomics");
    device = good();
    device.port = IBV_PORT_DOWN;
    open_fails(&device, REM_EPROVIDER, "no port of fake0 is active");
    device = good();
    device.swapped = true;
    open_fails(&device, REM_EPROVIDER, "other byte order");
    device = good();
    device.gids[1] = (struct fake_gid){1, IBV_GID_TYPE_ROCE_V2, "::ffff:169.254.3.4"};
    open_fails(&device, REM_EPROVIDER, "link-local");
    device = good();
    device.max_qp_wr = 32;
    open_fails(&device, REM_EPROVIDER, "room for 32 requests");
}

static void with(const char *name, const char *value, int expected, const char *words)
{
    struct fake_device device = good();
    setenv(name, value, 1);
    open_fails(&device, expected, words);
    unsetenv(name);
}

static void bad_environment(void)
{
    with("REMORA_VERBS_DEVICE", "mlx5_7", REM_EPROVIDER, "mlx5_7");
    with("REMORA_VERBS_PORT", "2", REM_EPROVIDER, "port 2");
    with("REMORA_VERBS_PORT", "x", REM_EENVIRONMENT, "REMORA_VERBS_PORT is `x'");
    with("REMORA_VERBS_GID", "5", REM_EPROVIDER, "index 5");
    with("REMORA_VERBS_RETRY", "7", REM_EENVIRONMENT, "for ever");
    with("REMORA_VERBS_DEPTH", "100", REM_EENVIRONMENT, "power of two");
    with("REMORA_VERBS_DEPTH", "4096", REM_EPROVIDER, "4096 are needed");
    with("REMORA_VERBS_MTU", "4096", REM_EPROVIDER, "has 1024");
    with("REMORA_VERBS_TIMEOUT", "0", REM_EENVIRONMENT, "REMORA_VERBS_TIMEOUT is `0'");
    with("REMORA_VERBS_TIMEOUT", "12 ", REM_EENVIRONMENT, "`12 '");
}

/* RoCE v2 over IPv4 is best, wherever it stands; what is asked for is taken. */
static void choices(void)
{
    struct fake_device device = good();
    struct job job;
    device.gids[0] = (struct fake_gid){0, IBV_GID_TYPE_ROCE_V1, "::ffff:10.0.0.1"};
    device.gids[1] = (struct fake_gid){1, IBV_GID_TYPE_ROCE_V2, "fd00::5"};
    device.gids[2] = (struct fake_gid){3, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1"};
    open_job(&job, &device);
    struct ibv_qp_attr told = fake_last_attributes();
    CHECK(told.ah_attr.is_global && told.ah_attr.grh.sgid_index == 3 && told.path_mtu == IBV_MTU_1024);
    CHECK(told.timeout == 14 && told.retry_cnt == 4 && told.rnr_retry == 6 && told.max_rd_atomic == 16);
    close_job(&job, false);
    setenv("REMORA_VERBS_GID", "1", 1);
    setenv("REMORA_VERBS_MTU", "512", 1);
    setenv("REMORA_VERBS_TRAFFIC_CLASS", "106", 1);
    setenv("REMORA_VERBS_READS", "3", 1);
    setenv("REMORA_VERBS_DEVICE", "fake1,fake0", 1);
    device.names[1] = "fake1";
    open_job(&job, &device);
    told = fake_last_attributes();
    CHECK(told.ah_attr.grh.sgid_index == 1 && told.path_mtu == IBV_MTU_512 &&
          told.ah_attr.grh.traffic_class == 106);
    CHECK(told.max_rd_atomic == 3 && told.max_dest_rd_atomic == 3);
    close_job(&job, false);
    unsetenv("REMORA_VERBS_GID");
    unsetenv("REMORA_VERBS_MTU");
    unsetenv("REMORA_VERBS_TRAFFIC_CLASS");
    unsetenv("REMORA_VERBS_READS");
    unsetenv("REMORA_VERBS_DEVICE");
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    put_for_ever(64);
    put_for_ever(0);
    wait_for_value();
    mixes();
    long_put();
    for (int inlined = 0; inlined < 2; inlined++) {
        CHECK(overtakings(true, inlined, 0) == 0);
        CHECK(overtakings(true, inlined, SOFT_ROCE) == 0);
    }
    CHECK(overtakings(false, true, 0) > 0);
    fenced_source(0);
    fenced_source(SOFT_ROCE);
    idle_fences();
    sources_in_order();
    errors();
    bad_devices();
    bad_environment();
    choices();
    return 0;
}
