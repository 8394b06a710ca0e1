/* remora run: runs litmus tests on transports and holds what it sees against what the model allows. The output and
 * the exit statuses are those of remora-run(1). */
#include "cli/report/run.h"
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "litmus/litmus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char command[] = "remora run";

enum { MOST_PROVIDERS = 16 };

/* The exit statuses beyond those of check: a lost transport, and what this command is for. */
enum { STATUS_TRANSPORT = 4, STATUS_FORBIDDEN = 5 };

struct options {
    struct run_options run;
    struct judge_options judge;
    const char *providers[MOST_PROVIDERS];
    size_t n_providers;
    bool json, verbose, quiet, summary;
    unsigned jobs;
};

enum {
    KEY_TIMEOUT = 256,
    KEY_JSON,
    KEY_SEED,
    KEY_PIN,
    KEY_STOP_EARLY,
    KEY_MODEL_TIMEOUT,
    KEY_PATIENCE,
    KEY_INSTANCES
};

static const struct argp_option option_table[] = {
    {"provider", 'p', "NAME,...", 0, "The transports to run on (default shm); `remora info' lists them", 1},
    {"iterations", 'n', "N", 0, "How often each test is run (default 100000)", 1},
    {"stop-early", KEY_STOP_EARLY, NULL, 0, "End a test when all outcomes that the model allows were seen",
     1},
    {"all-state", 'a', NULL, 0, "Show every register and location in the states", 1},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Stop a test on a provider after that time", 2},
    {"model-timeout", KEY_MODEL_TIMEOUT, "SECONDS", 0, "Time to find what the model allows (default 60)", 2},
    {"patience", KEY_PATIENCE, "SECONDS", 0,
     "Nodes in several processes: after that time a wait counts as stuck (default 0.5)", 2},
    {"jobs", 'j', "N", 0, "Run N tests side by side (default 1)", 2},
    {"seed", KEY_SEED, "N", 0, "Of all random choices (default: another one each time)", 3},
    {"instances", KEY_INSTANCES, "N", 0,
     "How many instances of a test lie side by side (default: up to 1024)", 3},
    {"pin", KEY_PIN, "HOW", 0, "Threads to processors: random (default), fixed, none", 3},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object per test and provider, on a line of its own", 4},
    {"summary", 's', NULL, 0, "Print the summary only", 4},
    {"verbose", 'v', NULL, 0, "Tell which allowed outcomes were not seen", 4},
    {"quiet", 'q', NULL, 0, "No warnings and no progress line", 4},
    {0}};

static void parse_providers(struct argp_state *state, struct options *options, char *list)
{
    options->n_providers = 0;
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        if (!fabric_find(name))
            argp_error(state, "no provider `%s'; `remora info' lists them", name);
        if (options->n_providers == MOST_PROVIDERS)
            argp_error(state, "more than %d providers", MOST_PROVIDERS);
        options->providers[options->n_providers++] = name;
    }
    if (!options->n_providers)
        argp_error(state, "--provider wants a name");
}

static enum pinning parse_pinning(struct argp_state *state, const char *name)
{
    if (strcmp(name, "random") == 0)
        return PIN_RANDOM;
    if (strcmp(name, "fixed") == 0)
        return PIN_FIXED;
    if (strcmp(name, "none") != 0)
        argp_error(state, "--pin wants random, fixed or none, not `%s'", name);
    return PIN_NONE;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        parse_providers(state, options, argument);
        return 0;
    case 'n':
        options->run.iterations = option_number(state, "iterations", argument, 1, UINT64_MAX / 2);
        return 0;
    case KEY_STOP_EARLY:
        options->run.stop_early = true;
        return 0;
    case 'a':
        options->judge.all_state = true;
        return 0;
    case KEY_TIMEOUT:
        options->run.timeout = option_seconds(state, "timeout", argument);
        return 0;
    case KEY_MODEL_TIMEOUT:
        options->judge.timeout = option_seconds(state, "model-timeout", argument);
        return 0;
    case KEY_PATIENCE:
        options->run.patience = option_seconds(state, "patience", argument);
        return 0;
    case 'j':
        options->jobs = (unsigned)option_number(state, "jobs", argument, 1, 1024);
        return 0;
    case KEY_SEED:
        options->run.seed = option_number(state, "seed", argument, 0, UINT64_MAX);
        options->run.seeded = true;
        return 0;
    case KEY_INSTANCES:
        options->run.instances = (uint32_t)option_number(state, "instances", argument, 1, 1 << 20);
        return 0;
    case KEY_PIN:
        options->run.pinning = parse_pinning(state, argument);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case 's':
        options->summary = true;
        return 0;
    case 'v':
        options->verbose = true;
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

struct outcome {
    char *text, *messages;
    size_t text_length, messages_length;
    int status;
};

struct running {
    struct options options;
    struct inputs inputs;
    struct outcome *outcomes;
    struct run_line *lines; /* a test's stand side by side, one a provider */
    const atomic_bool *stop;
    struct session session;
    bool launched;    /* this process is one node of a job: node 0 leads and tells, the others take part */
    atomic_bool lost; /* that job has failed */
    char *standard_input;
    size_t standard_input_length;
    atomic_uint_fast64_t iterations;
};

static int worse(int a, int b)
{
    return a > b ? a : b;
}

/* ---- One test ---- */

static int status_of(const struct run_result *result, const struct run_figures *figures)
{
    int status = STATUS_HOLDS;
    if (!figures->judged && result->end != RUN_SKIPPED)
        status = STATUS_UNFINISHED;
    if (result->end == RUN_TIMEOUT || result->end == RUN_INTERRUPTED)
        status = STATUS_UNFINISHED;
    if (result->end == RUN_FAILED)
        status = STATUS_TRANSPORT;
    return figures->forbidden ? STATUS_FORBIDDEN : status;
}

static void tell(struct running *running, size_t i, size_t p, const struct run_report *report, FILE *out,
                 FILE *messages)
{
    const struct run_result *result = report->result;
    struct run_figures figures = run_figures(report);
    running->outcomes[i].status = worse(running->outcomes[i].status, status_of(result, &figures));
    running->lines[i * running->options.n_providers + p] =
        (struct run_line){.file = report->file,
                          .ran = result->seen != NULL,
                          .end = result->end,
                          .quantifier = report->test->quantifier,
                          .figures = figures,
                          .iterations = result->iterations,
                          .stuck = result->stuck};
    atomic_fetch_add(&running->iterations, result->iterations);
    if (running->options.json)
        run_report_json(out, report);
    else if (!running->options.summary)
        run_report_text(out, report);
    if (result->end == RUN_FAILED)
        fprintf(messages, "%s: %s on %s: %s\n", command, report->file, report->provider, result->why);
    else if (result->end == RUN_SKIPPED)
        fprintf(messages, "%s: %s skipped on %s: %s\n", command, report->file, report->provider, result->why);
    run_report_alarm(messages, report);
}

static bool leads(const struct running *running)
{
    return !running->launched || session_leads(&running->session);
}

/* Whether to begin anything more. Who does not lead follows. */
static bool goes_on(struct running *running)
{
    return !atomic_load(&running->lost) && (!leads(running) || !atomic_load(running->stop));
}

static void run_test(struct running *running, size_t i, struct arena *arena, const struct lm_test *test,
                     FILE *out, FILE *messages)
{
    struct verdict verdict = judge(arena, test, &running->options.judge);
    for (size_t p = 0; p < running->options.n_providers && goes_on(running); p++) {
        const char *provider = running->options.providers[p];
        struct run_result result =
            running->launched ? run_in(arena, test, &verdict, &running->session, &running->options.run)
                              : run_here(arena, test, &verdict, provider, &running->options.run);
        struct run_report report = {.file = running->inputs.files[i],
                                    .provider = provider,
                                    .test = test,
                                    .verdict = &verdict,
                                    .result = &result,
                                    .verbose = running->options.verbose};
        if (leads(running))
            tell(running, i, p, &report, out, messages);
        if (running->launched && result.end == RUN_FAILED)
            atomic_store(&running->lost, true);
        run_result_free(&result);
    }
    verdict_free(&verdict);
}

static struct lm_parse parse(const struct running *running, struct arena *arena, const char *file)
{
    if (strcmp(file, "-") == 0)
        return lm_parse_text(arena, "<stdin>", running->standard_input, running->standard_input_length);
    return lm_parse_file(arena, file);
}

/* A task of the pool. */
static void run_file(void *context, size_t i)
{
    struct running *running = context;
    struct outcome *outcome = &running->outcomes[i];
    if (!goes_on(running))
        return;
    const char *file = running->inputs.files[i];
    struct arena *arena = arena_new();
    FILE *out = open_memstream(&outcome->text, &outcome->text_length);
    FILE *messages = open_memstream(&outcome->messages, &outcome->messages_length);
    if (!out || !messages)
        out_of_memory();
    struct lm_parse parsed = parse(running, arena, file);
    if (leads(running))
        lm_print_diagnostics(messages, strcmp(file, "-") == 0 ? "<stdin>" : file, &parsed,
                             !running->options.quiet);
    if (parsed.test)
        run_test(running, i, arena, parsed.test, out, messages);
    else
        outcome->status = STATUS_BAD;
    if (fclose(out) != 0 || fclose(messages) != 0)
        out_of_memory();
    arena_free(arena);
}

/* ---- All of them ---- */

static void print_outcome(struct outcome *outcome)
{
    if (outcome->messages_length) {
        output_flush();
        fwrite(outcome->messages, 1, outcome->messages_length, stderr);
    }
    output(outcome->text, outcome->text_length);
    output_flush();
    free(outcome->text);
    free(outcome->messages);
    outcome->text = outcome->messages = NULL;
}

static void show_progress(struct progress *progress, struct pool *pool, struct running *running)
{
    size_t current, done = pool_done(pool, &current);
    if (current < running->inputs.count)
        progress_show(progress, done, running->inputs.count, running->inputs.files[current],
                      atomic_load(&running->iterations));
}

static void print_summary(struct running *running)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        out_of_memory();
    run_report_summary(out, running->lines, running->inputs.count, running->options.providers,
                       running->options.n_providers);
    fclose(out);
    output(text, length);
    free(text);
}

static int run_all(struct running *running)
{
    int worst = running->inputs.failed ? STATUS_BAD : STATUS_HOLDS;
    size_t not_begun = 0;
    struct progress progress = progress_start();
    progress.on &= !running->options.quiet && leads(running);
    struct pool *pool =
        pool_start(running->options.jobs, running->inputs.count, run_file, running, running->stop);
    for (size_t i = 0; i < running->inputs.count; i++) {
        while (!pool_wait(pool, i, 0.1))
            show_progress(&progress, pool, running);
        progress_clear(&progress);
        if (running->outcomes[i].text)
            print_outcome(&running->outcomes[i]);
        else
            not_begun++;
        worst = worse(worst, running->outcomes[i].status);
    }
    pool_finish(pool);
    if (!leads(running))
        return STATUS_HOLDS;
    if (!running->options.json && (running->options.summary || running->inputs.count > 1))
        print_summary(running);
    output_flush();
    if (not_begun)
        complain(command, "%s: %zu of %zu tests were not begun",
                 atomic_load(&running->lost) ? "the job has failed" : "interrupted", not_begun,
                 running->inputs.count);
    return not_begun ? worse(worst, STATUS_UNFINISHED) : worst;
}

static bool read_standard_input(struct running *running, struct arena *arena)
{
    for (size_t i = 0; i < running->inputs.count; i++)
        if (strcmp(running->inputs.files[i], "-") == 0) {
            running->standard_input = read_stream(arena, stdin, &running->standard_input_length);
            if (!running->standard_input)
                complain(command, "standard input: %s", strerror(errno));
            return running->standard_input != NULL;
        }
    return true;
}

/* Under a launcher: becomes a node of its job, whose transport the launcher has chosen. Others than node 0 need not know
 * what is allowed. */
static bool join(struct running *running)
{
    struct options *options = &running->options;
    if (session_join(&running->session, &running->launched) != 0) {
        complain(command, "%s", running->session.why);
        return false;
    }
    if (!running->launched)
        return true;
    const char *provider = running->session.fabric->traits.name;
    if (options->n_providers > 1 || (options->n_providers && strcmp(options->providers[0], provider) != 0)) {
        complain(command, "this process is a node of a job on %s: leave --provider to the launcher",
                 provider);
        session_close(&running->session);
        return false;
    }
    options->providers[0] = provider;
    options->n_providers = 1;
    options->jobs = 1;
    if (!leads(running))
        options->judge.limits.max_states = 1;
    return true;
}

static void fill_in(struct options *options)
{
    if (!options->n_providers) {
        options->providers[0] = fabric_find(NULL)->traits.name;
        options->n_providers = 1;
    }
    if (!options->run.seeded) {
        uint32_t seed = 1;
        if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
            seed = 1;
        options->run.seed = seed;
    }
}

static const char description[] = "Runs litmus tests on transports and compares what is seen with what the "
                                  "model allows. A FOLDER stands for the "
                                  "*.litmus files in it, `-' for standard input.\v"
                                  "Exit status: 0 nothing forbidden was seen, 2 bad usage or a test that "
                                  "can't be read, 3 a test not finished or "
                                  "not judged, 4 a transport failed, 5 an outcome was seen that the model "
                                  "forbids; of several, the largest.";

int run_main(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse_option, "FILE|FOLDER...", description, NULL,
                                     NULL,         NULL};
    struct running running = {
        .options = {.run = {.iterations = 100000, .patience = 0.5}, .judge = {.timeout = 60}, .jobs = 1}};
    int first;
    argp_parse(&argp, argc, argv, 0, &first, &running.options);
    if (!join(&running))
        return STATUS_BAD;
    fill_in(&running.options);
    struct arena *arena = arena_new();
    running.inputs = inputs_find(arena, command, argv + first, (size_t)(argc - first));
    if (!read_standard_input(&running, arena)) {
        arena_free(arena);
        return STATUS_BAD;
    }
    running.outcomes = xcalloc(running.inputs.count, sizeof *running.outcomes);
    running.lines = xcalloc(running.inputs.count * running.options.n_providers, sizeof *running.lines);
    running.stop = interrupt_flag();
    running.options.run.stop = running.stop;
    running.options.judge.limits.stop = running.stop;
    running.options.judge.limits.jobs = 1;
    int status = run_all(&running);
    if (running.launched)
        session_close(&running.session);
    free(running.outcomes);
    free(running.lines);
    arena_free(arena);
    return status;
}
