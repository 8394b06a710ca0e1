/* Uncontended operations of one thread: the time of each in long rows, its percentiles one by one, and the ratio to the raw
 * yardstick measured in the same rounds.
 *
 * Rows are measured in processor time of the thread, so that other work on the machine disturbs little; a figure is the
 * median of ROUNDS rows, taken in turn with those of all other operations. Percentiles are of single operations by the time stamp
 * counter, its own cost taken off. On shared memory all this is a best case: the lines stay in the caller's cache. */
#include "cli/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, ROW = 20000, SAMPLES = 20000 };

struct context {
    struct bench *bench;
    rem_thread *thread;
    uint64_t *near, *far; /* local and symmetric remote words */
    uint64_t value;
};

typedef void row(struct context *context, unsigned count);

#define ROW_OF(name, code)                                                                                   \
    static void name(struct context *c, unsigned count)                                                      \
    {                                                                                                        \
        struct bench *b = c->bench;                                                                          \
        rem_thread *t = c->thread;                                                                           \
        (void)b, (void)t;                                                                                    \
        for (unsigned i = 0; i < count; i++) {                                                               \
            code;                                                                                            \
        }                                                                                                    \
    }

ROW_OF(raw_faa, atomic_fetch_add(&b->raw->word, 1))
ROW_OF(raw_cas, uint_least64_t e = 0; atomic_compare_exchange_strong(&b->raw->word, &e, 0))
ROW_OF(raw_ticket, uint64_t mine = atomic_fetch_add(&b->raw->ticket.next, 1);
       while (atomic_load_explicit(&b->raw->ticket.serving, memory_order_acquire) != mine);
       atomic_store_explicit(&b->raw->ticket.serving, mine + 1, memory_order_release))
ROW_OF(raw_mutex, pthread_mutex_lock(&b->raw->mutex); pthread_mutex_unlock(&b->raw->mutex))
ROW_OF(rfaa, rem_rfaa(t, c->near, b->target, c->far, 1, 0); rem_wait(t, 0))
ROW_OF(fetch_add, rem_fetch_add(t, &c->value, b->target, c->far, 1))
ROW_OF(rcas, rem_rcas(t, c->near, b->target, c->far, 0, 0, 0); rem_wait(t, 0))
ROW_OF(put, rem_put(t, b->target, c->far, c->near, 8, 0); rem_wait(t, 0))
ROW_OF(put_value, rem_put_value(t, b->target, c->far, 1, 0))
ROW_OF(put_page, rem_put(t, b->target, c->far, c->near, BENCH_BUFFER, 0); rem_wait(t, 0))
ROW_OF(get, rem_get(t, c->near, b->target, c->far, 8, 0); rem_wait(t, 0))
ROW_OF(get_value, rem_get_value(t, &c->value, b->target, c->far))
ROW_OF(get_page, rem_get(t, c->near, b->target, c->far, BENCH_BUFFER, 0); rem_wait(t, 0))
ROW_OF(put_gfence, rem_put_value(t, b->target, c->far, 1, 0); rem_gfence(t, REM_NODE(b->target)))
ROW_OF(nlock, rem_nlock_acquire(t, &b->nlock); rem_nlock_release(t, &b->nlock))
ROW_OF(nlock_try, rem_nlock_try_acquire(t, &b->nlock); rem_nlock_release(t, &b->nlock))
ROW_OF(wlock, rem_wlock_acquire(t, &b->wlock); rem_wlock_release(t, &b->wlock))
ROW_OF(slock, rem_slock_acquire(t, &b->slock); rem_slock_release(t, &b->slock))
ROW_OF(sc_read, rem_sc_read(t, &b->sc, 0, &c->value))
ROW_OF(sc_write, rem_sc_write(t, &b->sc, 0, 1))
ROW_OF(sc_cas, rem_sc_cas(t, &b->sc, 0, &c->value, 0, 0))
ROW_OF(sc_faa, rem_sc_faa(t, &b->sc, 0, &c->value, 1))
ROW_OF(broadcast, rem_sv_broadcast(t, &b->sv, REM_ALL_NODES, 0); rem_wait(t, 0))
ROW_OF(gfence, rem_gfence(t, REM_ALL_NODES))

enum { NONE = -1, RAW_FAA = 0, RAW_TICKET = 2 };

static const struct measured {
    const char *name;
    row *row;
    int yardstick; /* index into this table */
} table[] = {
    {"C11 fetch-add", raw_faa, NONE},
    {"C11 compare-exchange", raw_cas, RAW_FAA},
    {"plain ticket lock+unlock", raw_ticket, NONE},
    {"shared pthread mutex", raw_mutex, RAW_TICKET},
    {"rfaa+wait", rfaa, RAW_FAA},
    {"fetch_add", fetch_add, RAW_FAA},
    {"rcas+wait", rcas, RAW_FAA},
    {"put 8+wait", put, RAW_FAA},
    {"put_value", put_value, RAW_FAA},
    {"get 8+wait", get, RAW_FAA},
    {"get_value", get_value, RAW_FAA},
    {"put 4096+wait", put_page, RAW_FAA},
    {"get 4096+wait", get_page, RAW_FAA},
    {"put_value+gfence", put_gfence, RAW_FAA},
    {"gfence, all nodes", gfence, RAW_FAA},
    {"sv broadcast+wait", broadcast, RAW_FAA},
    {"nlock acquire+release", nlock, RAW_TICKET},
    {"nlock try+release", nlock_try, RAW_TICKET},
    {"wlock acquire+release", wlock, RAW_TICKET},
    {"slock acquire+release", slock, RAW_TICKET},
    {"sc read", sc_read, RAW_TICKET},
    {"sc write", sc_write, RAW_TICKET},
    {"sc cas", sc_cas, RAW_TICKET},
    {"sc faa", sc_faa, RAW_TICKET},
};
enum { ROWS = sizeof table / sizeof *table };

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_at(double *values, size_t count, double part)
{
    size_t index = (size_t)((double)count * part);
    return values[index < count ? index : count - 1];
}

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double measure_row(struct context *context, const struct measured *measured)
{
    double start = processor_time();
    measured->row(context, ROW);
    return (processor_time() - start) / ROW;
}

/* Ticks of the time stamp counter in a nanosecond. */
static double ticks_per_ns(void)
{
    uint64_t time = rem_clock(), ticks = __builtin_ia32_rdtsc();
    while (rem_clock() - time < 20000000)
        ;
    return (double)(__builtin_ia32_rdtsc() - ticks) / (double)(rem_clock() - time);
}

static void no_row(struct context *context, unsigned count)
{
    (void)context, (void)count;
}

/* Sorted times of single operations, in ticks. */
static void measure_singles(struct context *context, row *measured, double *samples)
{
    unsigned aux;
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t start = __builtin_ia32_rdtscp(&aux);
        measured(context, 1);
        samples[i] = (double)(__builtin_ia32_rdtscp(&aux) - start);
    }
    qsort(samples, SAMPLES, sizeof *samples, compare_doubles);
}

static void add_result(struct bench *bench, const char *name, double time, double ratio,
                       const double percentiles[3])
{
    json_t *result = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "name", name, "ns", time, "ratio", ratio,
                               "p50", percentiles[0], "p99", percentiles[1], "p99.9", percentiles[2]);
    json_array_append_new(json_object_get(bench->results, "uncontended"), result);
}

void bench_alone(struct bench *bench, rem_thread *thread)
{
    static double times[ROWS][ROUNDS], samples[SAMPLES];
    struct context context = {bench, thread, bench->words, bench->words + BENCH_BUFFER / 8, 0};
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < ROWS; i++)
            if (table[i].yardstick == NONE || bench_wants(bench, table[i].name))
                times[i][round] = measure_row(&context, &table[i]);
    double scale = ticks_per_ns();
    measure_singles(&context, no_row, samples);
    double own = sorted_at(samples, SAMPLES, 0.5);
    for (unsigned i = 0; i < ROWS; i++) {
        if (table[i].yardstick != NONE && !bench_wants(bench, table[i].name))
            continue;
        qsort(times[i], ROUNDS, sizeof(double), compare_doubles);
        double time = times[i][ROUNDS / 2];
        double yardstick = table[i].yardstick == NONE ? time : times[table[i].yardstick][ROUNDS / 2];
        measure_singles(&context, table[i].row, samples);
        double percentiles[3];
        for (unsigned p = 0; p < 3; p++) {
            double ticks = sorted_at(samples, SAMPLES, (double[]){0.5, 0.99, 0.999}[p]) - own;
            percentiles[p] = ticks > 0 ? ticks / scale : 0;
        }
        add_result(bench, table[i].name, time, time / yardstick, percentiles);
    }
}
