/* remora fuzz: compares the two engines on random programs. Under RDMA_TSO their outcomes must be equal
 * (semantics, section 3), under RDMA_WAIT the outcomes of the implementations must be allowed by the
 * specifications (sections 5 to 8). A program on which they are not is shrunk and printed. The same options
 * give the same programs on every machine and with any number of threads. */
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/report/report.h"
#include "litmus/litmus.h"
#include "search/generate.h"
#include "base/random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char command[] = "remora fuzz";

enum {
    REPORTED = 5, /* disagreements that are shrunk and printed; the others are only counted */
    BATCH = 1024
};

struct options {
    struct generate_options generate;
    uint64_t seed, count, max_states;
    double timeout;
    unsigned jobs;
    const char *save;
    bool print, quiet;
};

enum {
    KEY_ARCH = 256,
    KEY_THREADS,
    KEY_OPS,
    KEY_NODES,
    KEY_LIBRARIES,
    KEY_MAX_STATES,
    KEY_TIMEOUT,
    KEY_SAVE,
    KEY_PRINT
};

static const struct argp_option option_table[] = {
    {"seed", 's', "S", 0, "Which programs (default 1)", 1},
    {"count", 'n', "N", 0, "How many programs (default 100)", 1},
    {"arch", KEY_ARCH, "ARCH", 0, "RDMA_TSO (default) or RDMA_WAIT", 1},
    {"threads", KEY_THREADS, "N", 0, "Up to N threads, 2 to 8 (default 3)", 1},
    {"ops", KEY_OPS, "N", 0, "Up to N operations a thread, 2 to 20 (default 5)", 1},
    {"nodes", KEY_NODES, "N", 0, "Up to N nodes, 1 to 8 (default 3)", 1},
    {"libraries", KEY_LIBRARIES, NULL, 0, "With calls of sv, wlock, slock, nlock and sc (RDMA_WAIT)", 1},
    {"max-states", KEY_MAX_STATES, "N", 0, "Skip a program beyond N states or executions (default 100000)",
     2},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Skip a program after that time (default 10)", 2},
    {"jobs", 'j', "N", 0, "Check N programs at a time (default: one for each processor)", 2},
    {"save", KEY_SAVE, "DIR", 0, "Save each shrunk program to a file in DIR", 3},
    {"print", KEY_PRINT, NULL, 0, "Print the programs and don't check them", 3},
    {"quiet", 'q', NULL, 0, "No progress line", 3},
    {0}};

static enum lm_arch parse_arch(struct argp_state *state, const char *name)
{
    if (strcmp(name, "RDMA_TSO") == 0)
        return LM_RDMA_TSO;
    if (strcmp(name, "RDMA_WAIT") != 0)
        argp_error(state, "there is no arch `%s': RDMA_TSO, RDMA_WAIT", name);
    return LM_RDMA_WAIT;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    struct generate_options *generate = &options->generate;
    switch (key) {
    case 's':
        options->seed = option_number(state, "seed", argument, 0, UINT64_MAX);
        return 0;
    case 'n':
        options->count = option_number(state, "count", argument, 1, 100000000);
        return 0;
    case KEY_ARCH:
        generate->arch = parse_arch(state, argument);
        return 0;
    case KEY_THREADS:
        generate->threads = (unsigned)option_number(state, "threads", argument, 2, 8);
        return 0;
    case KEY_OPS:
        generate->ops = (unsigned)option_number(state, "ops", argument, 2, 20);
        return 0;
    case KEY_NODES:
        generate->nodes = (unsigned)option_number(state, "nodes", argument, 1, 8);
        return 0;
    case KEY_LIBRARIES:
        generate->libraries = true;
        return 0;
    case KEY_MAX_STATES:
        options->max_states = option_number(state, "max-states", argument, 1, UINT64_MAX);
        return 0;
    case KEY_TIMEOUT:
        options->timeout = option_seconds(state, "timeout", argument);
        return 0;
    case 'j':
        options->jobs = (unsigned)option_number(state, "jobs", argument, 1, 1024);
        return 0;
    case KEY_SAVE:
        options->save = argument;
        return 0;
    case KEY_PRINT:
        options->print = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_SUCCESS:
        if (generate->libraries && generate->arch != LM_RDMA_WAIT)
            argp_error(state, "--libraries wants --arch RDMA_WAIT");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum fate { NOT_BEGUN, INVALID, SKIPPED, AGREED, DISAGREED };

struct program_result {
    enum fate fate;
    bool partly; /* AGREED, as far as the operational engine got */
    uint64_t states, implementation, stuck, explored;
};

struct totals {
    uint64_t fates[DISAGREED + 1], partly, states, implementation, stuck, explored;
    bool not_saved;
};

struct fuzz {
    struct options options;
    struct judge_options judge;
    size_t first;                   /* of the batch under way */
    struct program_result *results; /* of that batch */
    struct totals totals;
    atomic_uint_fast64_t explored;
};

static uint64_t seed_of(const struct fuzz *fuzz, size_t i)
{
    uint64_t state = fuzz->options.seed;
    state = random_next(&state) + i;
    return random_next(&state);
}

/* A program is compared if the answers that its theorem is about are there: under RDMA_TSO both in full;
 * under RDMA_WAIT what the specification allows in full, the other engine's as far as they go. */
static enum fate fate_of(const struct lm_test *test, const struct verdict *verdict)
{
    if (engines_disagree(verdict))
        return DISAGREED;
    if (verdict->completion == DONE)
        return AGREED;
    return test->arch == LM_RDMA_WAIT && verdict->declarative_complete && verdict->implementation ? AGREED
                                                                                                  : SKIPPED;
}

/* A task of the pool. */
static void fuzz_one(void *context, size_t i)
{
    struct fuzz *fuzz = context;
    struct program_result *result = &fuzz->results[i];
    if (atomic_load(fuzz->judge.limits.stop))
        return;
    struct arena *arena = arena_new();
    struct lm_test *test = generate_test(arena, &fuzz->options.generate, seed_of(fuzz, fuzz->first + i));
    result->fate = INVALID;
    if (test) {
        struct verdict verdict = judge(arena, test, &fuzz->judge);
        result->fate = fate_of(test, &verdict);
        result->states = outcomes_count(verdict.states);
        result->implementation = verdict.implementation;
        result->stuck = verdict.stuck;
        result->explored = verdict.explored;
        result->partly = verdict.completion != DONE;
        if (verdict.completion == INTERRUPTED && result->fate == SKIPPED)
            result->fate = NOT_BEGUN;
        verdict_free(&verdict);
    }
    arena_free(arena);
}

static bool still_disagrees(void *context, const struct lm_test *test)
{
    const struct fuzz *fuzz = context;
    struct arena *arena = arena_new();
    struct verdict verdict = judge(arena, test, &fuzz->judge);
    bool disagree = engines_disagree(&verdict);
    verdict_free(&verdict);
    arena_free(arena);
    return disagree;
}

/* The test asks for the state that one engine has and the other lacks. */
static void ask_for_state(struct arena *arena, struct lm_test *test, const struct verdict *verdict)
{
    const struct outcomes *states =
        verdict->only_operational ? verdict->only_operational : verdict->only_declarative;
    const uint64_t *row = outcomes_row(states, 0);
    struct lm_cond *all = NULL;
    for (unsigned c = verdict->n_columns; c-- > 0;) {
        struct lm_cond *atom = ARENA_NEW(arena, struct lm_cond), *both = ARENA_NEW(arena, struct lm_cond);
        *atom = (struct lm_cond){.kind = LM_C_EQ, .atom = verdict->columns[c], .value = row[c]};
        *both = (struct lm_cond){.kind = LM_C_AND, .a = atom, .b = all};
        all = all ? both : atom;
    }
    if (all)
        test->cond = all;
    const char **docs = ARENA_ARRAY(arena, const char *, 1);
    docs[0] = verdict->only_operational
                  ? "The operational engine reaches this state; the declarative one does not allow it"
                  : "The declarative engine allows this state; the operational one does not reach it";
    test->docs = docs;
    test->n_docs = 1;
}

static bool save_program(const char *folder, const char *name, const char *text)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s.litmus", folder, name) >= (int)sizeof path) {
        complain(command, "%s: %s", folder, strerror(ENAMETOOLONG));
        return false;
    }
    FILE *out = fopen(path, "w");
    bool good = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        good = false;
    if (!good)
        complain(command, "%s: %s", path, strerror(errno));
    return good;
}

static bool report_disagreement(struct fuzz *fuzz, size_t i)
{
    struct arena *arena = arena_new();
    struct lm_test *test = generate_test(arena, &fuzz->options.generate, seed_of(fuzz, i));
    const char *name = test->name;
    if (still_disagrees(fuzz, test)) /* a matter of luck only if a time limit is */
        test = shrink_test(arena, test, still_disagrees, fuzz);
    struct verdict verdict = judge(arena, test, &fuzz->judge);
    if (engines_disagree(&verdict))
        ask_for_state(arena, test, &verdict);
    verdict_free(&verdict);
    test->name = name;
    char *text = lm_print_test(arena, test);
    output(text, strlen(text));
    output("\n", 1);
    bool good = !fuzz->options.save || save_program(fuzz->options.save, name, text);
    arena_free(arena);
    return good;
}

/* What a batch of programs adds to the summary. */
static void add_up(struct fuzz *fuzz, size_t n)
{
    struct totals *totals = &fuzz->totals;
    for (size_t i = 0; i < n; i++) {
        const struct program_result *result = &fuzz->results[i];
        totals->fates[result->fate]++;
        totals->partly += result->fate == AGREED && result->partly;
        if (result->fate == AGREED || result->fate == DISAGREED) {
            totals->states += result->states;
            totals->implementation += result->implementation;
        }
        totals->stuck += result->stuck > 0;
        totals->explored += result->explored;
        if (result->fate == DISAGREED && totals->fates[DISAGREED] <= REPORTED &&
            !report_disagreement(fuzz, fuzz->first + i))
            totals->not_saved = true;
    }
}

static enum status summarise(const struct fuzz *fuzz)
{
    const struct totals *totals = &fuzz->totals;
    const uint64_t *fates = totals->fates;
    uint64_t skipped = fates[SKIPPED] + fates[INVALID], compared = fates[AGREED] + fates[DISAGREED];
    uint64_t not_begun = fuzz->options.count - skipped - compared;
    char text[512];
    int length = snprintf(text, sizeof text,
                          "Programs %" PRIu64 "\nCompared %" PRIu64 "\nPartly %" PRIu64 "\nSkipped %" PRIu64
                          "\nStates %" PRIu64 "\nImplementation %" PRIu64 "\nStuck %" PRIu64
                          "\nExplored %" PRIu64 "\nDisagreements %" PRIu64 "\n",
                          fuzz->options.count, compared, totals->partly, skipped, totals->states,
                          totals->implementation, totals->stuck, totals->explored, fates[DISAGREED]);
    output(text, (size_t)length);
    if (fates[INVALID])
        complain(command, "%" PRIu64 " generated programs were not valid tests", fates[INVALID]);
    if (not_begun)
        complain(command, "interrupted: %" PRIu64 " programs were not compared", not_begun);
    if (fates[DISAGREED])
        return STATUS_DISAGREE;
    if (fates[INVALID] || totals->not_saved)
        return STATUS_BAD;
    return not_begun ? STATUS_UNFINISHED : STATUS_HOLDS;
}

static void run_batch(struct fuzz *fuzz, struct progress *progress, size_t n)
{
    memset(fuzz->results, 0, n * sizeof *fuzz->results);
    struct pool *pool = pool_start(fuzz->options.jobs, n, fuzz_one, fuzz, fuzz->judge.limits.stop);
    for (size_t i = 0; i < n; i++)
        while (!pool_wait(pool, i, 0.1)) {
            size_t current, done = pool_done(pool, &current);
            char name[32];
            snprintf(name, sizeof name, "program %zu", fuzz->first + current);
            progress_show(progress, fuzz->first + done, fuzz->options.count, name,
                          atomic_load(&fuzz->explored));
        }
    progress_clear(progress);
    pool_finish(pool);
    add_up(fuzz, n);
}

/* In batches, so that memory does not grow with the number of programs. */
static void run_all(struct fuzz *fuzz)
{
    struct progress progress = progress_start();
    progress.on &= !fuzz->options.quiet;
    fuzz->results = xcalloc(BATCH, sizeof *fuzz->results);
    while (fuzz->first < fuzz->options.count && !atomic_load(fuzz->judge.limits.stop)) {
        size_t left = fuzz->options.count - fuzz->first, n = left < BATCH ? left : BATCH;
        run_batch(fuzz, &progress, n);
        fuzz->first += n;
    }
    free(fuzz->results);
}

static void print_all(const struct fuzz *fuzz)
{
    for (size_t i = 0; i < fuzz->options.count; i++) {
        struct arena *arena = arena_new();
        struct lm_test *test = generate_test(arena, &fuzz->options.generate, seed_of(fuzz, i));
        char *text = test ? lm_print_test(arena, test) : NULL;
        if (text)
            output(text, strlen(text));
        output("\n", 1);
        arena_free(arena);
    }
}

static const char description[] =
    "Compares the operational and the declarative engine on random programs.\v"
    "A program on which they disagree is shrunk and printed as a litmus test that asks for the state in "
    "question.\n"
    "Exit status: 0 no disagreement, 2 bad usage, 3 interrupted, 4 a disagreement.";

int fuzz_main(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse_option, NULL, description, NULL, NULL, NULL};
    struct fuzz fuzz = {.options = {.generate = {.arch = LM_RDMA_TSO, .threads = 3, .ops = 5, .nodes = 3},
                                    .seed = 1,
                                    .count = 100,
                                    .max_states = 100000,
                                    .timeout = 10,
                                    .jobs = cpu_count()}};
    argp_parse(&argp, argc, argv, 0, NULL, &fuzz.options);
    if (fuzz.options.print) {
        print_all(&fuzz);
        return STATUS_HOLDS;
    }
    if (fuzz.options.save && access(fuzz.options.save, W_OK | X_OK) != 0) {
        complain(command, "%s: %s", fuzz.options.save, strerror(errno));
        return STATUS_BAD;
    }
    fuzz.judge =
        (struct judge_options){.engine = ENGINE_BOTH, .all_state = true, .timeout = fuzz.options.timeout};
    fuzz.judge.limits = (struct limits){.max_states = fuzz.options.max_states,
                                        .jobs = 1,
                                        .stop = interrupt_flag(),
                                        .progress = &fuzz.explored};
    run_all(&fuzz);
    return (int)summarise(&fuzz);
}
