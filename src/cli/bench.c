/* remora bench: what each operation and lock costs here, beside a raw yardstick in the same process and minute. Started alone it
 * launches itself as the nodes of a job; under a launcher it is a node. Node 0 prints. */
#include "cli/bench/bench.h"
#include "cli/cli.h"
#include "cli/launcher.h"
#include "job/environment.h"
#include "job/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char command[] = "remora bench";

struct options {
    unsigned nodes, threads;
    double seconds;
    const char *only;
    bool json;
};

static const struct argp_option option_table[] = {
    {"nodes", 'n', "N", 0, "Start N nodes (default 2); under a launcher, those that it started", 0},
    {"threads", 't', "N", 0, "Up to N contenders (default 4)", 0},
    {"seconds", 's', "S", 0, "Seconds for each contended measurement (default 0.25)", 0},
    {"only", 'o', "TEXT", 0, "Only what has TEXT in its name, and the yardsticks", 0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'n':
        options->nodes = (unsigned)option_number(state, "nodes", argument, 1, REM_MAX_NODES);
        return 0;
    case 't':
        options->threads = (unsigned)option_number(state, "threads", argument, 2, BENCH_THREADS);
        return 0;
    case 's':
        options->seconds = option_seconds(state, "seconds", argument);
        return 0;
    case 'o':
        options->only = argument;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "`%s' is not an option", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool bench_wants(const struct bench *bench, const char *name)
{
    return !bench->only || strstr(name, bench->only);
}

static int allocate(struct bench *bench)
{
    void *page = NULL, *words = NULL, *counts = NULL;
    int error = rem_alloc(&bench->job, sizeof(struct raw_page), &page);
    if (!error)
        error = rem_alloc(&bench->job, 2 * (size_t)BENCH_BUFFER, &words);
    if (!error)
        error = rem_alloc(&bench->job, (BENCH_THREADS + 8) * sizeof(uint64_t), &counts);
    if (error)
        return error;
    struct rem_node *node = bench->job.node;
    size_t offset = (size_t)((char *)page - node->home);
    bench->raw = (struct raw_page *)(void *)(node->memory + (size_t)bench->target * node->heap_size + offset);
    bench->words = words;
    bench->counts = (uint64_t *)counts + 8;
    bench->meeting = counts;
    return 0;
}

static void set_up_mutex(struct bench *bench)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&bench->raw->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static int set_up(struct bench *bench, const struct options *options)
{
    int error = rem_open(&bench->job);
    if (error)
        return error;
    bench->self = rem_node_self(&bench->job);
    bench->nodes = rem_node_count(&bench->job);
    bench->target = bench->nodes > 1 ? 1 : 0;
    bench->threads = options->threads;
    bench->seconds = options->seconds;
    bench->only = options->only;
    bench->json = options->json;
    error = allocate(bench);
    if (!error && bench->self == bench->target)
        set_up_mutex(bench);
    if (!error)
        error = rem_nlock_init(&bench->job, &bench->nlock, bench->target);
    if (!error)
        error = rem_wlock_init(&bench->job, &bench->wlock, bench->target);
    if (!error)
        error = rem_slock_init(&bench->job, &bench->slock, bench->target);
    if (!error)
        error = rem_sc_init(&bench->job, &bench->sc, 1, bench->target);
    if (!error)
        error = rem_sv_init(&bench->job, &bench->sv);
    return error;
}

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static void print_tables(const json_t *results)
{
    size_t i;
    json_t *row;
    printf("nodes %d, processors %d, line there and back %.0f ns before, %.0f ns after\n\n",
           (int)number(results, "nodes"), (int)number(results, "processors"),
           number(results, "round_trip_before"), number(results, "round_trip_after"));
    printf("one thread, uncontended; ns    mean   ratio     p50     p99   p99.9\n");
    json_array_foreach(json_object_get(results, "uncontended"), i, row)
    {
        printf("%-26s %8.1f %7.2f %7.0f %7.0f %7.0f\n", json_string_value(json_object_get(row, "name")),
               number(row, "ns"), number(row, "ratio"), number(row, "p50"), number(row, "p99"),
               number(row, "p99.9"));
    }
    printf("\ncounter under contention  contenders  nodes      ns   ratio  fairness\n");
    json_array_foreach(json_object_get(results, "contended"), i, row)
    {
        printf("%-26s %9d %6d %7.0f %7.2f %9.3f\n", json_string_value(json_object_get(row, "name")),
               (int)number(row, "contenders"), (int)number(row, "nodes"), number(row, "ns"),
               number(row, "ratio"), number(row, "fairness"));
    }
}

static void print(struct bench *bench)
{
    if (bench->json) {
        json_dumpf(bench->results, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        printf("\n");
    } else {
        print_tables(bench->results);
    }
}

static int measure(struct bench *bench)
{
    rem_thread thread;
    double before = bench->nodes > 1 ? bench_round_trip(bench) : 0;
    bench->results =
        json_pack("{s:s, s:i, s:i, s:f, s:[], s:[]}", "provider", "shm", "nodes", bench->nodes, "processors",
                  (int)cpu_count(), "round_trip_before", before, "uncontended", "contended");
    if (bench->self == 0) {
        int error = rem_attach(&bench->job, &thread);
        if (error)
            return error;
        bench_alone(bench, &thread);
        rem_detach(&thread);
    }
    rem_barrier(&bench->job);
    bench_contended(bench);
    double after = bench->nodes > 1 ? bench_round_trip(bench) : 0;
    json_object_set_new(bench->results, "round_trip_after", json_real(after));
    if (bench->self == 0)
        print(bench);
    json_decref(bench->results);
    return 0;
}

static int run_node(const struct options *options)
{
    struct bench bench = {0};
    int error = set_up(&bench, options);
    if (!error)
        error = measure(&bench);
    if (!error) {
        rem_barrier(&bench.job);
        error = rem_close(&bench.job);
    }
    if (error)
        complain(command, "%s", rem_strerror(error));
    return error ? STATUS_FAILS : STATUS_HOLDS;
}

static int launch_self(const struct options *options, int argc, char **argv)
{
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    if (!arguments)
        return STATUS_BAD;
    char program[] = "/proc/self/exe", name[] = "bench";
    arguments[0] = program;
    arguments[1] = name;
    for (int i = 1; i < argc; i++)
        arguments[i + 1] = argv[i];
    struct launch launch = {
        .nodes = options->nodes, .options = {.threads = BENCH_THREADS + 1}, .grace = 3, .argv = arguments};
    int status = launch_run(&launch);
    free(arguments);
    return status;
}

int bench_main(int argc, char **argv)
{
    static const struct argp parser = {
        option_table, parse_option, NULL, "Measures the runtime on this machine.", NULL, NULL, NULL};
    struct options options = {.nodes = 2, .threads = 4, .seconds = 0.25};
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    return getenv(ENVIRONMENT_JOB) ? run_node(&options) : launch_self(&options, argc, argv);
}
