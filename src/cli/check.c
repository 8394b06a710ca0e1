/* remora check: decides litmus tests. Files are checked in parallel and reported in the order of the command
 * line. The output and the exit statuses are those of remora-check(1). */
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/details.h"
#include "cli/inputs.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/report/report.h"
#include "litmus/litmus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char command[] = "remora check";

struct options {
    struct judge_options judge;
    struct details details;
    bool json, verbose, quiet;
    unsigned jobs; /* 0: not given */
};

enum {
    KEY_MAX_STATES = 256,
    KEY_TIMEOUT,
    KEY_MEMORY,
    KEY_NO_REDUCTION,
    KEY_JSON,
    KEY_WHY,
    KEY_DOT,
    KEY_SVG,
    KEY_TRACE
};

static const struct argp_option option_table[] = {
    {"engine", 'e', "ENGINE", 0, "declarative, operational, or both, which compares them", 1},
    {"all-state", 'a', NULL, 0, "Show every register and location in the states", 1},
    {"no-reduction", KEY_NO_REDUCTION, NULL, 0, "Explore every interleaving (operational engine)", 1},
    {"max-states", KEY_MAX_STATES, "N", 0, "Stop a test after N states or executions", 2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Stop a test after that time", 2},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "Stop a test beyond that memory: 500M, 4G (default: half of the machine's)", 2},
    {"jobs", 'j', "N", 0, "Use N threads: over the files, or within the test if there is just one", 2},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object per test and line", 3},
    {"why", KEY_WHY, NULL, 0, "Explain in words why the outcome asked for is allowed or forbidden", 3},
    {"dot", KEY_DOT, "FILE", 0,
     "Write its execution graph for graphviz (several tests: a folder for their graphs)", 3},
    {"svg", KEY_SVG, "FILE", 0, "Draw its execution graph (needs graphviz's `dot')", 3},
    {"trace", KEY_TRACE, "full", OPTION_ARG_OPTIONAL,
     "Show a run with that outcome, step by step; full: all of the state at each step", 3},
    {"verbose", 'v', NULL, 0, "Tell the engine and its work too", 3},
    {"quiet", 'q', NULL, 0, "No warnings and no progress line", 3},
    {0}};

static enum engine_choice parse_engine(struct argp_state *state, const char *name)
{
    if (strcmp(name, "declarative") == 0)
        return ENGINE_DECLARATIVE;
    if (strcmp(name, "operational") == 0)
        return ENGINE_OPERATIONAL;
    if (strcmp(name, "both") != 0)
        argp_error(state, "there is no engine `%s': declarative, operational, both", name);
    return ENGINE_BOTH;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    struct judge_options *judge = &options->judge;
    switch (key) {
    case 'e':
        judge->engine = parse_engine(state, argument);
        return 0;
    case 'a':
        judge->all_state = true;
        return 0;
    case KEY_NO_REDUCTION:
        judge->no_reduction = true;
        return 0;
    case KEY_MAX_STATES:
        judge->limits.max_states = option_number(state, "max-states", argument, 1, UINT64_MAX);
        return 0;
    case KEY_TIMEOUT:
        judge->timeout = option_seconds(state, "timeout", argument);
        return 0;
    case KEY_MEMORY:
        judge->limits.max_memory = option_size(state, "memory", argument);
        return 0;
    case 'j':
        options->jobs = (unsigned)option_number(state, "jobs", argument, 1, 1024);
        return 0;
    case KEY_WHY:
        options->details.why = true;
        return 0;
    case KEY_DOT:
        options->details.pictures.dot = argument;
        return 0;
    case KEY_SVG:
        options->details.pictures.svg = argument;
        return 0;
    case KEY_TRACE:
        if (argument && strcmp(argument, "full") != 0)
            argp_error(state, "--trace can be followed by =full, not by =%s", argument);
        options->details.trace = true;
        options->details.full_trace = argument != NULL;
        return 0;
    case KEY_JSON:
        options->json = options->details.json = true;
        return 0;
    case 'v':
        options->verbose = options->details.verbose = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file given");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What checking one file came to. */
struct outcome {
    char *text, *messages; /* for standard output and standard error; NULL if the test was not begun */
    size_t text_length, messages_length;
    enum status status;
};

struct run {
    struct options options;
    struct inputs inputs;
    struct outcome *outcomes;
    const atomic_bool *stop;
    char *standard_input; /* the text of `-` */
    size_t standard_input_length;
    atomic_uint_fast64_t explored; /* by all tests so far, for the progress line */
};

static struct lm_parse parse(const struct run *run, struct arena *arena, const char *file)
{
    if (strcmp(file, "-") == 0)
        return lm_parse_text(arena, "<stdin>", run->standard_input, run->standard_input_length);
    return lm_parse_file(arena, file);
}

static enum status status_of(const struct verdict *verdict)
{
    if (engines_disagree(verdict))
        return STATUS_DISAGREE;
    if (verdict->completion != DONE)
        return STATUS_UNFINISHED;
    return verdict->holds == ANSWER_YES ? STATUS_HOLDS : STATUS_FAILS;
}

static enum status larger(enum status a, enum status b)
{
    return a > b ? a : b;
}

static enum status check_test(const struct run *run, size_t i, struct arena *arena,
                              const struct lm_test *test, FILE *out, FILE *messages)
{
    struct verdict verdict = judge(arena, test, &run->options.judge);
    if (verdict_is_void(&verdict) && !run->options.quiet)
        fprintf(messages, "%s: warning: %s, so there is no state to ask about\n", run->inputs.files[i],
                every_run_gets_stuck(test, &verdict) ? "every run gets stuck" : "no run comes to its end");
    struct report report = {
        .file = run->inputs.files[i], .test = test, .verdict = &verdict, .verbose = run->options.verbose};
    enum status details =
        details_tell(&run->options.details, i, arena, &run->options.judge, &report, messages);
    enum status status = larger(status_of(&verdict), details);
    if (run->options.json)
        report_json(out, &report);
    else
        report_text(out, &report);
    verdict_free(&verdict);
    return status;
}

/* A task of the pool. */
static void check_file(void *context, size_t i)
{
    struct run *run = context;
    struct outcome *outcome = &run->outcomes[i];
    if (atomic_load(run->stop))
        return;
    const char *file = run->inputs.files[i];
    struct arena *arena = arena_new();
    FILE *out = open_memstream(&outcome->text, &outcome->text_length);
    FILE *messages = open_memstream(&outcome->messages, &outcome->messages_length);
    if (!out || !messages)
        out_of_memory();
    struct lm_parse parsed = parse(run, arena, file);
    lm_print_diagnostics(messages, strcmp(file, "-") == 0 ? "<stdin>" : file, &parsed, !run->options.quiet);
    outcome->status = parsed.test ? check_test(run, i, arena, parsed.test, out, messages) : STATUS_BAD;
    if (fclose(out) != 0 || fclose(messages) != 0)
        out_of_memory();
    arena_free(arena);
}

static void print_outcome(struct outcome *outcome)
{
    if (outcome->messages_length) {
        output_flush(); /* so that both streams stay in order on a terminal */
        fwrite(outcome->messages, 1, outcome->messages_length, stderr);
    }
    output(outcome->text, outcome->text_length);
    output_flush(); /* it is not lost if a later test ends the program */
    free(outcome->text);
    free(outcome->messages);
    outcome->text = outcome->messages = NULL;
}

static void show_progress(struct progress *progress, struct pool *pool, const struct run *run)
{
    size_t current, done = pool_done(pool, &current);
    if (current < run->inputs.count)
        progress_show(progress, done, run->inputs.count, run->inputs.files[current],
                      atomic_load(&run->explored));
}

static enum status check_all(struct run *run, unsigned workers)
{
    enum status worst = run->inputs.failed ? STATUS_BAD : STATUS_HOLDS;
    size_t not_begun = 0;
    struct progress progress = progress_start();
    progress.on &= !run->options.quiet;
    struct pool *pool = pool_start(workers, run->inputs.count, check_file, run, run->stop);
    for (size_t i = 0; i < run->inputs.count; i++) {
        while (!pool_wait(pool, i, 0.1))
            show_progress(&progress, pool, run);
        progress_clear(&progress);
        if (run->outcomes[i].text)
            print_outcome(&run->outcomes[i]);
        else
            not_begun++;
        worst = larger(worst, run->outcomes[i].status);
    }
    pool_finish(pool);
    output_flush();
    if (not_begun)
        complain(command, "interrupted: %zu of %zu tests were not begun", not_begun, run->inputs.count);
    return not_begun ? larger(worst, STATUS_UNFINISHED) : worst;
}

static uint64_t half_of_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

/* Threads go over the files; only a single test gets them for itself, and only when asked for. */
static unsigned share_threads(struct run *run)
{
    struct options *options = &run->options;
    unsigned workers = options->jobs ? options->jobs : cpu_count();
    options->judge.limits.jobs = 1;
    if (run->inputs.count == 1)
        options->judge.limits.jobs = options->jobs ? options->jobs : 1;
    if (run->inputs.count < workers)
        workers = (unsigned)run->inputs.count;
    if (!options->judge.limits.max_memory)
        options->judge.limits.max_memory = half_of_memory() / (workers ? workers : 1);
    return workers;
}

/* Before anything runs and while Ctrl-C still ends the program at once. */
static bool read_standard_input(struct run *run, struct arena *arena)
{
    for (size_t i = 0; i < run->inputs.count; i++)
        if (strcmp(run->inputs.files[i], "-") == 0) {
            run->standard_input = read_stream(arena, stdin, &run->standard_input_length);
            if (!run->standard_input)
                complain(command, "standard input: %s", strerror(errno));
            return run->standard_input != NULL;
        }
    return true;
}

static const char description[] =
    "Decides litmus tests exhaustively. A FOLDER stands for the *.litmus files in it, `-' for standard "
    "input.\v"
    "Exit status: 0 all tests hold, 1 some test does not, 2 bad usage or a test that can't be read, 3 not "
    "finished "
    "(the states are a lower bound), 4 two engines disagree; of several, the largest.";

int check_main(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse_option, "FILE|FOLDER...", description, NULL,
                                     NULL,         NULL};
    struct run run = {0};
    int first;
    argp_parse(&argp, argc, argv, 0, &first, &run.options);
    struct arena *arena = arena_new();
    run.inputs = inputs_find(arena, command, argv + first, (size_t)(argc - first));
    if (!read_standard_input(&run, arena) ||
        !pictures_prepare(arena, command, &run.options.details.pictures, &run.inputs)) {
        arena_free(arena);
        return STATUS_BAD;
    }
    run.outcomes = xcalloc(run.inputs.count, sizeof *run.outcomes);
    run.stop = interrupt_flag();
    run.options.judge.limits.stop = run.stop;
    run.options.judge.limits.progress = &run.explored;
    run.options.details.color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    unsigned workers = share_threads(&run);
    enum status status = check_all(&run, workers);
    free(run.outcomes);
    arena_free(arena);
    return (int)status;
}
