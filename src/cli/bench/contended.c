/* A counter under each lock, with 2, 3, 4 … contenders, all on one node and spread over the nodes: time for each section and
 * fairness, the least served contender's share of the most served one's. Wall time, since contenders wait for each other.
 *
 * All contenders start together, and count what they did until a common end. The section is what the plain lock's section
 * would be: a read and a write of a word beside the lock. */
#include "cli/bench/bench.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

struct contender {
    struct bench *bench;
    const struct lock *lock;
    unsigned number, all; /* among all contenders */
    pthread_t id;
};

enum { START_IN = 10000000 }; /* nanoseconds */

struct lock {
    const char *name;
    void (*section)(struct bench *bench, rem_thread *thread);
};

static void count_raw(struct bench *bench)
{
    __atomic_store_n(&bench->raw->counter, __atomic_load_n(&bench->raw->counter, __ATOMIC_RELAXED) + 1,
                     __ATOMIC_RELAXED);
}

static void count_remotely(struct bench *bench, rem_thread *thread)
{
    uint64_t value;
    rem_get_value(thread, &value, bench->target, bench->words);
    rem_put_value(thread, bench->target, bench->words, value + 1, 0);
}

static void ticket_section(struct bench *bench, rem_thread *thread)
{
    struct raw_ticket *lock = &bench->raw->ticket;
    (void)thread;
    uint64_t mine = atomic_fetch_add(&lock->next, 1);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != mine)
        __builtin_ia32_pause();
    count_raw(bench);
    atomic_store_explicit(&lock->serving, mine + 1, memory_order_release);
}

static void mutex_section(struct bench *bench, rem_thread *thread)
{
    (void)thread;
    pthread_mutex_lock(&bench->raw->mutex);
    count_raw(bench);
    pthread_mutex_unlock(&bench->raw->mutex);
}

static void nlock_section(struct bench *bench, rem_thread *thread)
{
    rem_nlock_acquire(thread, &bench->nlock);
    count_remotely(bench, thread);
    rem_nlock_release(thread, &bench->nlock);
}

static void wlock_section(struct bench *bench, rem_thread *thread)
{
    rem_wlock_acquire(thread, &bench->wlock);
    count_remotely(bench, thread);
    rem_gfence(thread, REM_NODE(bench->target));
    rem_wlock_release(thread, &bench->wlock);
}

static void slock_section(struct bench *bench, rem_thread *thread)
{
    rem_slock_acquire(thread, &bench->slock);
    count_remotely(bench, thread);
    rem_slock_release(thread, &bench->slock);
}

static void sc_section(struct bench *bench, rem_thread *thread)
{
    uint64_t old;
    rem_sc_faa(thread, &bench->sc, 0, &old, 1);
}

static void rfaa_section(struct bench *bench, rem_thread *thread)
{
    uint64_t old;
    rem_fetch_add(thread, &old, bench->target, bench->words, 1);
}

static const struct lock locks[] = {
    {"plain ticket", ticket_section}, {"shared mutex", mutex_section}, {"nlock", nlock_section},
    {"wlock+gfence", wlock_section},  {"slock", slock_section},        {"sc faa", sc_section},
    {"fetch_add", rfaa_section},
};

/* The word on node 0 reaches the next multiple of `all`. */
static void meet(struct bench *bench, rem_thread *thread, unsigned all)
{
    uint64_t arrived;
    rem_fetch_add(thread, &arrived, 0, bench->meeting, 1);
    uint64_t full = (arrived / all + 1) * all;
    for (unsigned round = 0; arrived < full; round++) {
        rem_get_value(thread, &arrived, 0, bench->meeting);
        if (round > 100)
            sched_yield();
    }
}

/* Contender 0 names a time that is near; all begin then. */
static uint64_t await_start(const struct contender *contender, rem_thread *thread)
{
    struct bench *bench = contender->bench;
    uint64_t start;
    meet(bench, thread, contender->all);
    if (contender->number == 0)
        rem_put_value(thread, 0, &bench->meeting[1], rem_clock() + START_IN, 0);
    rem_gfence(thread, REM_NODE(0));
    meet(bench, thread, contender->all);
    rem_get_value(thread, &start, 0, &bench->meeting[1]);
    while (rem_clock() < start)
        sched_yield();
    return start;
}

static void *contend(void *argument)
{
    struct contender *contender = argument;
    struct bench *bench = contender->bench;
    rem_thread thread;
    if (rem_attach(&bench->job, &thread) != 0)
        return NULL;
    uint64_t end = await_start(contender, &thread) + (uint64_t)(bench->seconds * 1e9), count = 0;
    do {
        for (unsigned i = 0; i < 16; i++)
            contender->lock->section(bench, &thread);
        count += 16;
    } while (rem_clock() < end);
    meet(bench, &thread, contender->all); /* the others still need its turns */
    rem_put_value(&thread, 0, &bench->counts[contender->number], count, 0);
    rem_gfence(&thread, REM_NODE(0));
    rem_detach(&thread);
    return NULL;
}

/* Contender i is on node i modulo `nodes`. */
static void run(struct bench *bench, const struct lock *lock, unsigned all, unsigned nodes)
{
    struct contender contenders[BENCH_THREADS];
    memset(bench->meeting, 0, sizeof *bench->meeting);
    rem_barrier(&bench->job);
    for (unsigned i = 0; i < all; i++) {
        contenders[i] = (struct contender){.bench = bench, .lock = lock, .number = i, .all = all};
        if (i % nodes == (unsigned)bench->self)
            pthread_create(&contenders[i].id, NULL, contend, &contenders[i]);
    }
    for (unsigned i = 0; i < all; i++)
        if (i % nodes == (unsigned)bench->self)
            pthread_join(contenders[i].id, NULL);
    rem_barrier(&bench->job);
}

static void add_result(struct bench *bench, const char *name, unsigned all, unsigned nodes, double *yardstick)
{
    uint64_t least = UINT64_MAX, most = 0, total = 0;
    for (unsigned i = 0; i < all; i++) {
        uint64_t count = bench->counts[i];
        least = count < least ? count : least;
        most = count > most ? count : most;
        total += count;
    }
    double time = bench->seconds * 1e9 / (double)total;
    if (*yardstick == 0)
        *yardstick = time;
    json_t *result =
        json_pack("{s:s, s:i, s:i, s:f, s:f, s:f}", "name", name, "contenders", (int)all, "nodes", (int)nodes,
                  "ns", time, "ratio", time / *yardstick, "fairness", (double)least / (double)most);
    json_array_append_new(json_object_get(bench->results, "contended"), result);
}

void bench_contended(struct bench *bench)
{
    for (unsigned nodes = 1; nodes <= (unsigned)bench->nodes; nodes += (unsigned)bench->nodes - 1) {
        for (unsigned all = 2; all <= bench->threads; all += all < 4 ? 1 : 4) {
            double yardstick = 0;
            for (unsigned i = 0; i < sizeof locks / sizeof *locks; i++) {
                if (i > 0 && !bench_wants(bench, locks[i].name))
                    continue;
                run(bench, &locks[i], all, nodes);
                if (bench->self == 0)
                    add_result(bench, locks[i].name, all, nodes, &yardstick);
            }
        }
        if (bench->nodes == 1)
            break;
    }
}

enum { TRIPS = 20000 };

double bench_round_trip(struct bench *bench)
{
    atomic_uint_least64_t *ping = &bench->raw->ping;
    rem_barrier(&bench->job);
    if (bench->self == 0)
        atomic_store(ping, 0);
    rem_barrier(&bench->job);
    double best = 1e9;
    for (unsigned block = 0; block < 10 && bench->self < 2; block++) {
        uint64_t start = rem_clock(), base = (uint64_t)block * TRIPS * 2;
        for (uint64_t i = 0; i < TRIPS / 10; i++) {
            uint64_t mine = base + 2 * i + (uint64_t)bench->self;
            for (unsigned spin = 0; atomic_load_explicit(ping, memory_order_acquire) < mine; spin++)
                if (spin > 10000)
                    sched_yield();
            atomic_store_explicit(ping, mine + 1, memory_order_release);
        }
        double time = (double)(rem_clock() - start) / (TRIPS / 10.0);
        best = time < best ? time : best;
        base += TRIPS / 5;
        while (atomic_load(ping) < base && bench->self == 0)
            sched_yield();
        if (bench->self == 0)
            atomic_store(ping, (uint64_t)(block + 1) * TRIPS * 2);
    }
    rem_barrier(&bench->job);
    return best;
}
