/* What the checker costs: states per second and bytes per state of the operational engine, what the reduction
 * saves, executions per second of the declarative engine, and how the families grow with which checkers of
 * CPU memory models are compared.
 *
 * Times are CPU seconds, the least of several runs. The baseline of the state rate is the visited set alone:
 * the same number of random states put into it, in the same run. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "search/engine.h"
#include "search/judge.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 3, TEXT = 1 << 16 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- tests made here --- */

struct text {
    char data[TEXT];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->data + text->n, sizeof text->data - text->n, format, args);
    va_end(args);
    text->n += (size_t)n;
}

static void sb_ring(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO sb-ring\n{ node 0: x0");
    for (unsigned i = 1; i < n; i++)
        put(t, ", x%u", i);
    put(t, "; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t, "P%u on 0 { x%u = 1; r0 = x%u; }\n", i, i, (i + 1) % n);
    put(t, "exists (0:r0 = 0");
    for (unsigned i = 1; i < n; i++)
        put(t, " /\\ %u:r0 = 0", i);
    put(t, ")\n");
}

static void increments(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO increments\n{ node 0: x; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t, "P%u on 0 { faa(x, 1); }\n", i);
    put(t, "forall (x = %u)\n", n);
}

static void stores(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO stores\n{ node 0: x; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t, "P%u on 0 { x = %u; }\n", i, i + 1);
    put(t, "exists (x = 1)\n");
}

static void show_all(struct text *t, unsigned n, const char *const *regs)
{
    put(t, "locations [");
    for (unsigned i = 0; i < n; i++)
        for (unsigned r = 0; regs[r]; r++)
            put(t, "%u:%s; ", i, regs[r]);
    put(t, "]\n");
}

static void store_store_load_load(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO stores-and-loads\n{ node 0: x, y; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t, "P%u on 0 { x = %u; y = %u; r0 = x; r1 = y; }\n", i, i + 1, i + 1);
    show_all(t, n, (const char *const[]){"r0", "r1", NULL});
    put(t, "exists (x = 1 /\\ y = 2)\n");
}

static void ticket_lock(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO ticket-lock\n{ node 0: next, serving, c; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t,
            "P%u on 0 { r0 = faa(next, 1); await(serving == r0); r1 = c; c = r1 + 1; serving = r0 + 1; }\n",
            i);
    put(t, "forall (c = %u)\n", n);
}

/* As above, but the threads are told apart: each leaves its own mark in the critical section. */
static void marked_ticket_lock(struct text *t, unsigned n)
{
    put(t, "RDMA_TSO marked-ticket-lock\n{ node 0: next, serving, c; }\n");
    for (unsigned i = 0; i < n; i++)
        put(t, "P%u on 0 { r0 = faa(next, 1); await(serving == r0); c = %u; r1 = c; serving = r0 + 1; }\n", i,
            i + 1);
    put(t, "forall (0:r1 = 1)\n");
}

/* Three threads on three nodes, six operations each, that put, get and fetch-and-add into each other's
 * memory. */
static void three_by_six(struct text *t, unsigned operations)
{
    put(t, "RDMA_TSO three-by-six\n{ node 0: x0, y0, a0; node 1: x1, y1, a1; node 2: x2, y2, a2; }\n");
    for (unsigned i = 0; i < 3; i++) {
        unsigned next = (i + 1) % 3, far = (i + 2) % 3;
        const char *const lines[] = {"x%u = 1;",           "put(x%u, %u);", "get(a%u, y%u);",
                                     "rfaa(a%u, y%u, 1);", "poll(%u);",     "r0 = a%u;"};
        put(t, "P%u on %u { ", i, i);
        for (unsigned k = 0; k < operations; k++)
            switch (k % 6) {
            case 0:
                put(t, lines[0], i);
                break;
            case 1:
                put(t, lines[1], next, i + 2);
                break;
            case 2:
                put(t, lines[2], i, far);
                break;
            case 3:
                put(t, lines[3], i, next);
                break;
            case 4:
                put(t, lines[4], next);
                break;
            default:
                put(t, lines[5], i);
                break;
            }
        put(t, " }\n");
    }
    put(t, "exists (0:r0 = 1 /\\ 1:r0 = 1 /\\ 2:r0 = 1)\n");
}

/* --- measuring --- */

static struct lm_test *parse(struct arena *arena, const struct text *text)
{
    struct lm_parse parsed = lm_parse_text(arena, "bench", text->data, text->n);
    if (!parsed.test) {
        lm_print_diagnostics(stderr, "bench", &parsed, false);
        exit(1);
    }
    return parsed.test;
}

struct cost {
    double seconds;
    struct result result;
};

static struct cost explore(struct arena *arena, const struct lm_test *test, enum level level,
                           bool no_reduction, uint64_t max, unsigned runs)
{
    struct compiled c = compile_test(arena, test, level, false);
    struct query query = {c.program, c.observables, c.n_observables, {.jobs = 1, .max_states = max}};
    struct operational_options options = {.no_reduction = no_reduction};
    struct cost best = {.seconds = 1e9};
    for (unsigned run = 0; run < runs; run++) {
        double start = cpu_seconds();
        struct result result =
            level == LEVEL_TSO ? explore_operational(&query, &options) : explore_declarative(&query);
        double seconds = cpu_seconds() - start;
        outcomes_free(result.states);
        if (seconds < best.seconds)
            best = (struct cost){seconds, result};
    }
    return best;
}

static void measure_engines(unsigned operations)
{
    struct arena *arena = arena_new();
    struct text text = {.n = 0};
    three_by_six(&text, operations);
    struct lm_test *test = parse(arena, &text);
    struct cost reduced = explore(arena, test, LEVEL_TSO, false, 0, RUNS);
    printf("operational, 3 threads x %u operations on 3 nodes: %" PRIu64
           " states in %.3f s: %.2f million states/s, %.1f bytes/state\n",
           operations, reduced.result.explored, reduced.seconds,
           (double)reduced.result.explored / reduced.seconds / 1e6,
           (double)reduced.result.bytes / (double)reduced.result.explored);
    struct cost plain = explore(arena, test, LEVEL_TSO, true, 2000000, 1);
    printf("  without reduction: %s%" PRIu64
           " states in %.3f s: %.2f million states/s; the reduction's factor is %s%.1f\n",
           plain.result.completion == DONE ? "" : "more than ", plain.result.explored, plain.seconds,
           (double)plain.result.explored / plain.seconds / 1e6,
           plain.result.completion == DONE ? "" : "more than ",
           (double)plain.result.explored / (double)reduced.result.explored);
    struct cost declared = explore(arena, test, LEVEL_CLIENT, false, 0, RUNS);
    printf("declarative, same test: %" PRIu64 " executions, %" PRIu64
           " partial ones in %.3f s: %.0f executions/s, %.2f million partial/s\n",
           declared.result.executions, declared.result.explored, declared.seconds,
           (double)declared.result.executions / declared.seconds,
           (double)declared.result.explored / declared.seconds / 1e6);
    arena_free(arena);
}

struct family {
    const char *name;
    void (*make)(struct text *, unsigned);
    unsigned sizes[5];
};

static double judge_once(const struct text *text, const char **engine, size_t *states)
{
    double start = cpu_seconds();
    struct arena *arena = arena_new();
    struct judge_options options = {.engine = ENGINE_DEFAULT, .limits = {.jobs = 1}};
    struct verdict verdict = judge(arena, parse(arena, text), &options);
    double seconds = cpu_seconds() - start;
    *engine = verdict.engine;
    *states = outcomes_count(verdict.states);
    verdict_free(&verdict);
    arena_free(arena);
    return seconds;
}

static void measure_family(const struct family *family)
{
    for (unsigned i = 0; family->sizes[i]; i++) {
        struct text text = {.n = 0};
        const char *engine = "";
        size_t states = 0;
        double least = 1e9;
        family->make(&text, family->sizes[i]);
        for (unsigned run = 0; run < RUNS; run++) {
            double seconds = judge_once(&text, &engine, &states);
            least = seconds < least ? seconds : least;
        }
        printf("%-42s %4u %9.4f  %8zu  %s\n", family->name, family->sizes[i], least, states, engine);
    }
}

int main(void)
{
    static const struct family families[] = {
        {"SB ring", sb_ring, {4, 8, 10, 12}},
        {"locked increments of one word", increments, {5, 6, 7}},
        {"stores of different values to one word", stores, {5, 6, 7}},
        {"store x, store y, load x, load y", store_store_load_load, {2, 3, 4}},
        {"ticket lock", ticket_lock, {6, 8, 9}},
        {"ticket lock, threads told apart", marked_ticket_lock, {6, 8, 9}},
    };
    printf("CPU seconds, least of %d runs, one thread\n", RUNS);
    measure_engines(4);
    measure_engines(6);
    measure_engines(8);
    printf("\n%-42s %4s %9s  %8s  %s\n", "family (default engine, parsing included)", "n", "seconds",
           "states", "decided by");
    for (unsigned i = 0; i < sizeof families / sizeof *families; i++)
        measure_family(&families[i]);
    return 0;
}
