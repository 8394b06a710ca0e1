/* What one operation takes from node 0 to node 1, counted as perftest counts (its ib_read_lat, ib_write_lat, ib_atomic_lat): by the
 * processor's clock, the median of single operations, each waited for; a write's is half the way there and back.
 *
 * usage: remora launch -n 2 --provider P -- latency TIMES [OPERATION...], which prints a line for each: name, microseconds */
#include "runtime/frame.h"

#include <sched.h>
#include <time.h>
#include <x86intrin.h>

struct run {
    rem_job *job;
    rem_thread thread;
    int self;
    unsigned long times;
    uint64_t *words; /* of each node: two, a cache line apart */
    rem_nlock lock;
    uint64_t *ticks; /* node 0's, one an operation */
};

enum { TARGET = 0, RESULT = 8, WORDS = 16 };

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* --- Operations; each is one of `times`, and says how long it took. --- */

/* Each atomic has happened once. */
static uint64_t fetched(struct run *run, uint64_t round, uint64_t start)
{
    uint64_t taken = __rdtsc() - start;
    CHECK(rem_load(&run->thread, &run->words[RESULT]) == round);
    return taken;
}

static uint64_t fetch_add(struct run *run, uint64_t round)
{
    uint64_t start = __rdtsc();
    TRY(rem_rfaa(&run->thread, &run->words[RESULT], 1, &run->words[TARGET], 1, 0));
    TRY(rem_wait(&run->thread, 0));
    return fetched(run, round, start);
}

static uint64_t compare_swap(struct run *run, uint64_t round)
{
    uint64_t start = __rdtsc();
    TRY(rem_rcas(&run->thread, &run->words[RESULT], 1, &run->words[TARGET], round, round + 1, 0));
    TRY(rem_wait(&run->thread, 0));
    return fetched(run, round, start);
}

static uint64_t read_word(struct run *run, uint64_t round)
{
    (void)round;
    uint64_t start = __rdtsc();
    TRY(rem_get(&run->thread, &run->words[RESULT], 1, &run->words[TARGET], sizeof(uint64_t), 0));
    TRY(rem_wait(&run->thread, 0));
    return __rdtsc() - start;
}

static uint64_t acquire(struct run *run, uint64_t round)
{
    (void)round;
    uint64_t start = __rdtsc();
    TRY(rem_nlock_acquire(&run->thread, &run->lock));
    uint64_t taken = __rdtsc() - start;
    TRY(rem_nlock_release(&run->thread, &run->lock));
    return taken;
}

static uint64_t acquire_release(struct run *run, uint64_t round)
{
    (void)round;
    uint64_t start = __rdtsc();
    TRY(rem_nlock_acquire(&run->thread, &run->lock));
    TRY(rem_nlock_release(&run->thread, &run->lock));
    return __rdtsc() - start;
}

static void await(struct run *run, uint64_t value)
{
    while (rem_load(&run->thread, &run->words[TARGET]) != value)
        ;
}

/* Node 0's half of a rally; node 1's is answer. */
static uint64_t write_word(struct run *run, uint64_t round)
{
    uint64_t start = __rdtsc();
    TRY(rem_put_value(&run->thread, 1, &run->words[TARGET], round + 1, 0));
    TRY(rem_wait(&run->thread, 0));
    await(run, round + 1);
    return (__rdtsc() - start) / 2;
}

static void answer(struct run *run, uint64_t round)
{
    await(run, round + 1);
    TRY(rem_put_value(&run->thread, 0, &run->words[TARGET], round + 1, 0));
    TRY(rem_wait(&run->thread, 0));
}

static const struct operation {
    const char *name;
    uint64_t (*time)(struct run *run, uint64_t round);
    void (*partner)(struct run *run, uint64_t round);
} operations[] = {
    {"fetch-add", fetch_add, NULL},   {"compare-swap", compare_swap, NULL},
    {"read", read_word, NULL},        {"write", write_word, answer},
    {"nlock-acquire", acquire, NULL}, {"nlock-acquire-release", acquire_release, NULL},
};

static void measure(struct run *run, const struct operation *operation)
{
    rem_store(&run->thread, &run->words[TARGET], 0);
    TRY(rem_barrier(run->job));
    uint64_t ticks = __rdtsc(), start = nanoseconds();
    for (unsigned long i = 0; i < run->times && run->self == 0; i++)
        run->ticks[i] = operation->time(run, i);
    for (unsigned long i = 0; i < run->times && run->self == 1 && operation->partner; i++)
        operation->partner(run, i);
    double rate = (double)(__rdtsc() - ticks) / (double)(nanoseconds() - start) * 1e3;
    TRY(rem_barrier(run->job));
    if (run->self != 0)
        return;
    qsort(run->ticks, run->times, sizeof *run->ticks, compare);
    printf("%s %.2f\n", operation->name, (double)run->ticks[run->times / 2] / rate);
}

/* The nodes apart, as two pollers on one processor would take turns. */
static void pin(int self)
{
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    int skip = CPU_COUNT(&all) > 1 && self == 0 ? 1 : 0;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && skip-- == 0)
            CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(name, argv[i]) == 0)
            return true;
    return argc == 2;
}

static void node(rem_job *job, int argc, char **argv)
{
    struct run run = {.job = job, .self = rem_node_self(job)};
    CHECK(argc >= 2 && rem_node_count(job) == 2);
    run.times = strtoul(argv[1], NULL, 10);
    run.ticks = calloc(run.times, sizeof *run.ticks);
    CHECK(run.times > 0 && run.ticks);
    pin(run.self);
    void *words;
    TRY(rem_alloc(job, WORDS * sizeof(uint64_t), &words));
    run.words = words;
    TRY(rem_nlock_init(job, &run.lock, 1));
    TRY(rem_attach(job, &run.thread));
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (wanted(operations[i].name, argc, argv))
            measure(&run, &operations[i]);
    TRY(rem_detach(&run.thread));
    TRY(rem_nlock_destroy(job, &run.lock));
    free(run.ticks);
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
