/* What it costs to run C code under the model: states a second of CPU time of the library's own code, and of the
 * same algorithm as a litmus test's expansion, on one client of each lock. bench-verify [statements a thread]. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "verify/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STATES = 400000 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *client_text(struct arena *arena, const char *lock, unsigned sections)
{
    const char *text =
        arena_printf(arena, "RDMA_WAIT bench-%s\n{ node 0: x; node 1: y, p1, p2; %s l on 0; }\n", lock, lock);
    for (unsigned t = 0; t < 3; t++) {
        text = arena_printf(arena, "%sP%u on %u {", text, t, t > 0);
        for (unsigned i = 0; i < sections; i++)
            text = t == 0 ? arena_printf(arena, "%s acquire(l); r%u = x; x = %u; put(y, 1); release(l);",
                                         text, i, i + 1)
                          : arena_printf(
                                arena,
                                "%s acquire(l); get(p%u, x, d); wait(d); r%u = p%u; put(x, %u); release(l);",
                                text, t, i, t, 10 * t + i);
        text = arena_printf(arena, "%s }\n", text);
    }
    return arena_printf(arena, "%sexists (true)\n", text);
}

static void report(const char *what, const struct result *result, double seconds)
{
    printf("  %-12s %9" PRIu64 " states, %6.2f s, %8.0f states/s\n", what, result->explored, seconds,
           (double)result->explored / seconds);
    outcomes_free(result->states);
}

static void measure(const char *lock, unsigned sections)
{
    struct arena *arena = arena_new();
    const char *text = client_text(arena, lock, sections);
    struct lm_test *test = lm_parse_text(arena, lock, text, strlen(text)).test;
    struct operational_options options = {0};
    struct limits limits = {.jobs = 1, .max_states = MOST_STATES};
    printf("%s, 3 threads, %u critical sections each\n", lock, sections);
    double start = cpu_seconds();
    struct client client;
    client_new(arena, &client, test, &(struct client_options){0});
    struct query code = {c_program_base(client.program), client.observables, client.n_observables, limits};
    struct result result = c_program_explore(client.program, &code, &options);
    report("C code", &result, cpu_seconds() - start);
    uint64_t points, runs;
    c_program_counts(client.program, &points, &runs);
    printf("  %-12s %9" PRIu64 " points, C code run on %" PRIu64 " times\n", "", points, runs);
    c_program_free(client.program);
    start = cpu_seconds();
    struct compiled compiled = compile_test(arena, test, LEVEL_TSO, true);
    struct query litmus = {compiled.program, compiled.observables, compiled.n_observables, limits};
    result = explore_operational(&litmus, &options);
    report("litmus test", &result, cpu_seconds() - start);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    unsigned sections = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    measure("nlock", sections);
    measure("wlock", sections);
    measure("slock", sections);
    return 0;
}
