/* The main of a program of tests under the model (remora/model.h). */
#include "base/arena.h"
#include "job/node.h"
#include "verify/run_tell.h"
#include "verify/source_line.h"
#include "verify/test_names.h"

#include <remora/model.h>

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct options {
    uint64_t max_states;
    unsigned jobs;
    char **names;
    unsigned n_names;
};

/* --- called by the tests --- */

_Noreturn void rem_model_fail(const char *message, const char *function, const char *file, unsigned line)
{
    c_program_fail(&(struct c_failure){.message = message, .function = function, .file = file, .line = line});
}

_Noreturn void rem_model_fail_comparison(const char *message, uint64_t left, uint64_t right,
                                         const char *function, const char *file, unsigned line)
{
    c_program_fail(&(struct c_failure){.message = message,
                                       .function = function,
                                       .file = file,
                                       .line = line,
                                       .compares = true,
                                       .left = left,
                                       .right = right});
}

void rem_model_result(unsigned index, uint64_t value)
{
    struct model_frame *frame = c_program_running()->frame;
    if (index >= REM_MODEL_RESULTS)
        rem_model_fail("rem_model_result: no such index", NULL, "", 0);
    frame->results[index] = value;
}

/* --- one test --- */

static void set_up(void *context, struct world *world)
{
    const struct rem_model_test *test = context;
    struct model_frame *frame = world->frame = world_alloc(world, sizeof *frame);
    for (unsigned t = 0; t < world->shape->n_threads; t++)
        frame->failed |= rem_attach(&world->jobs[test->threads[t].node], &world->threads[t]) != 0;
    for (int n = 0; n < test->nodes; n++) {
        frame->node = (unsigned)n;
        frame->frames[n] = world_alloc(world, test->frame ? test->frame : 1);
        if (test->set_up && frame->frames[n])
            test->set_up(&world->jobs[n], frame->frames[n]);
        frame->failed |= !frame->frames[n];
    }
}

static void body(void *context, struct world *world, unsigned t, uint64_t *regs)
{
    const struct rem_model_test *test = context;
    struct model_frame *frame = world->frame;
    frame->results = regs;
    test->threads[t].body(&world->threads[t], frame->frames[test->threads[t].node]);
}

/* What a test can change besides the model's memory. */
static uint64_t static_memory(void)
{
    extern char __data_start[], _end[];
    return XXH3_64bits(__data_start, (size_t)(_end - __data_start));
}

/* A test, and what is known of it so far. */
struct trial {
    const struct rem_model_entry *entry;
    const struct options *options;
    struct word_counts counts; /* of its puts and gets of several words */
    struct word_orders orders; /* of those words, in this exploration */
    struct outcomes *outcomes; /* of all explorations */
    uint64_t explorations, states;
    bool together; /* not all choices of orders are explored, but all operations get the same one */
    bool bounded;
    bool timed; /* it asks for the time: c_code.announces */
};

/* One exploration of it. */
struct run_of_test {
    struct arena *arena;
    const struct rem_model_test *test;
    const char *name;
    struct c_program *program;
    struct query query;
    struct result result;
    unsigned n_threads;
};

static bool holds(const struct run_of_test *run, const uint64_t *row)
{
    uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS] = {{0}};
    for (unsigned t = 0; t < run->n_threads; t++)
        memcpy(results[t], row + t * REM_MODEL_RESULTS, sizeof results[t]);
    return run->test->holds((const uint64_t(*)[REM_MODEL_RESULTS])results);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- what is wrong with it --- */

/* Who runs what, and the run. */
static void tell(const struct run_of_test *run, const struct run_goal *goal)
{
    const struct run_names names = {.context = run->program,
                                    .program = run->program,
                                    .location = model_location_name,
                                    .is_result = model_is_result,
                                    .place_word = model_place_word,
                                    .held = model_held,
                                    .work_id = model_work_id,
                                    .is_users = true};
    struct source_lines *lines = source_lines_new(run->arena);
    for (unsigned t = 0; t < run->n_threads; t++) {
        const struct rem_model_thread *thread = &run->test->threads[t];
        struct source_line line = source_line_of_function(lines, (const void *)(uintptr_t)thread->body);
        printf("%sP%u runs %s on node %d%s", t ? " " : "  ", t, line.function ? line.function : "its body",
               thread->node, t + 1 < run->n_threads ? "," : "\n");
    }
    source_lines_free(lines);
    run_tell(stdout, run->arena, &names, &run->query, goal);
}

static void say_failure(const struct run_of_test *run, const struct c_failure *failure)
{
    printf("FAILED  %s: in P%u, ", run->name, failure->thread);
    if (failure->function)
        printf("%s, %s:%u: ", failure->function, file_name(failure->file), failure->line);
    printf("%s", failure->message);
    if (failure->compares)
        printf(" (they are %" PRIu64 " and %" PRIu64 ")", failure->left, failure->right);
    putchar('\n');
}

static void say_results(const struct run_of_test *run, const uint64_t *row)
{
    struct source_lines *lines = source_lines_new(run->arena);
    struct source_line line = source_line_of_function(lines, (const void *)(uintptr_t)run->test->holds);
    if (line.function && line.file)
        printf("FAILED  %s: .holds (%s, %s:%u) is false at the end of a run with these results:\n", run->name,
               line.function, line.file, line.line);
    else
        printf("FAILED  %s: .holds is false at the end of a run with these results:\n", run->name);
    source_lines_free(lines);
    bool any = false;
    for (unsigned t = 0; t < run->n_threads; t++)
        for (unsigned r = 0; r < REM_MODEL_RESULTS; r++) {
            uint64_t value = row[t * REM_MODEL_RESULTS + r];
            if (value)
                printf("  results[%u][%u], which P%u left, is %" PRIu64 "\n", t, r, t, value);
            any |= value != 0;
        }
    puts(any ? "  all others are 0" : "  all are 0");
}

static int say_unknown(const char *name, const char *why)
{
    printf("UNKNOWN %s: %s\n", name, why);
    return 3;
}

/* 0 all is well, 1 a failure, 3 not known. */
static int judge(const struct run_of_test *run)
{
    const struct rem_model_test *test = run->test;
    const struct c_failure *failure = c_program_failure(run->program);
    struct run_goal goal = {.query = &run->query};
    if (failure) {
        say_failure(run, failure);
        goal.failed = true;
        goal.thread = failure->thread;
        goal.point = failure->point;
        tell(run, &goal);
        return 1;
    }
    if (c_program_fault(run->program))
        return say_unknown(run->name, c_program_fault(run->program));
    for (size_t i = 0; test->holds && i < outcomes_count(run->result.states); i++) {
        goal.row = outcomes_row(run->result.states, i);
        if (holds(run, goal.row))
            continue;
        say_results(run, goal.row);
        tell(run, &goal);
        return 1;
    }
    if (run->result.stuck && !test->may_block) {
        printf("FAILED  %s: it can get stuck, some thread waits for ever\n", run->name);
        goal.stuck = true;
        tell(run, &goal);
        return 1;
    }
    if (run->result.completion != DONE)
        return say_unknown(run->name, run->result.why ? run->result.why : "a limit was reached");
    return 0;
}

/* --- exploring it --- */

enum { AGAIN = -1 };

/* AGAIN: it is to be explored anew, since it asks for the time. */
static int explore(struct run_of_test *run, const struct trial *trial)
{
    struct observable *observables =
        ARENA_ARRAY(run->arena, struct observable, run->n_threads * REM_MODEL_RESULTS);
    unsigned n = 0;
    for (unsigned t = 0; t < run->n_threads; t++)
        for (unsigned r = 0; r < REM_MODEL_RESULTS; r++)
            observables[n++] = (struct observable){.is_reg = true, .thread = t, .index = r};
    run->query =
        (struct query){.program = c_program_base(run->program),
                       .observables = observables,
                       .n_observables = n,
                       .limits = {.jobs = trial->options->jobs, .max_states = trial->options->max_states}};
    uint64_t before = static_memory();
    run->result = c_program_explore(run->program, &run->query, &(struct operational_options){0});
    if (static_memory() != before)
        return say_unknown(run->name, "it changes static variables, which the model does not see");
    return c_program_timed(run->program) && !trial->timed ? AGAIN : judge(run);
}

static void add_outcomes(struct trial *trial, const struct run_of_test *run)
{
    if (!trial->outcomes)
        trial->outcomes = outcomes_new(run->n_threads * REM_MODEL_RESULTS);
    for (size_t i = 0; i < outcomes_count(run->result.states); i++)
        outcomes_add(trial->outcomes, outcomes_row(run->result.states, i));
    trial->states += run->result.explored;
    trial->explorations++;
    trial->bounded |= c_program_bounded(run->program);
}

static int run_one_order(struct trial *trial)
{
    const struct rem_model_test *test = trial->entry->test;
    struct run_of_test run = {.arena = arena_new(), .test = test, .name = trial->entry->name};
    struct c_code code = {.shape = {.n_nodes = (unsigned)test->nodes, .heap = 256 << 10},
                          .orders = &trial->orders,
                          .announces = trial->timed,
                          .setup = set_up,
                          .body = body,
                          .context = (void *)(uintptr_t)test};
    for (unsigned t = 0; t < REM_MODEL_THREADS && test->threads[t].body; t++) {
        code.shape.thread_node[t] = (unsigned char)test->threads[t].node;
        code.n_regs[t] = REM_MODEL_RESULTS;
        run.n_threads = code.shape.n_threads = t + 1;
    }
    c_program_new(run.arena, &code, &run.program);
    const struct model_frame *frame = c_program_world(run.program, 0)->frame;
    int status = frame->failed ? say_unknown(run.name, "its setup ran out of memory") : explore(&run, trial);
    c_program_count_words(run.program, &trial->counts);
    trial->timed |= c_program_timed(run.program);
    if (status == 0)
        add_outcomes(trial, &run);
    outcomes_free(run.result.states);
    c_program_free(run.program);
    arena_free(run.arena);
    return status;
}

static int run_next_order(struct trial *trial)
{
    int status = run_one_order(trial);
    return status == AGAIN ? run_one_order(trial) : status;
}

static void say_ok(const struct trial *trial)
{
    size_t outcomes = outcomes_count(trial->outcomes);
    unsigned most = word_counts_most(&trial->counts);
    printf("ok      %s%s, %zu outcome%s, %" PRIu64 " states", trial->entry->name,
           trial->bounded ? " (bounded: a waiting loop keeps changing its own state)" : "", outcomes,
           outcomes == 1 ? "" : "s", trial->states);
    if (most > WORDS_ALL_ORDERS)
        printf(" (bounded: of the orders in which the words of a put or get can arrive, %" PRIu64
               " were explored)",
               trial->explorations);
    else if (trial->together)
        printf(" (bounded: the words of all its puts and gets arriving in the same order, each of %" PRIu64
               ")",
               trial->explorations);
    else if (most > 1)
        printf(" (in all %" PRIu64 " orders in which the words of its puts and gets can arrive)",
               trial->explorations);
    putchar('\n');
}

/* The words of one put or get arrive in any order: once for every choice of orders, as long as that is not too much work.
 * What operations there are is seen on the way. */
static int run_test(const struct rem_model_entry *entry, const struct options *options)
{
    enum { MOST_CHOICES = 150, MOST_STATES = 20000000 };
    struct trial trial = {.entry = entry, .options = options};
    int status = run_next_order(&trial);
    while (status == 0) {
        uint64_t choices = word_orders_count(&trial.counts);
        if (!trial.together && choices > 1 &&
            (choices > MOST_CHOICES || choices > MOST_STATES / (trial.states / trial.explorations + 1))) {
            trial.together = true;
            trial.orders = (struct word_orders){0};
            trial.explorations = 1;
        }
        if (!word_orders_next(&trial.orders, &trial.counts, trial.together)) {
            say_ok(&trial);
            break;
        }
        status = run_next_order(&trial);
    }
    outcomes_free(trial.outcomes);
    return status;
}

/* --- all of them --- */

enum { KEY_MAX_STATES = 256, BAD_USAGE = 2 };

static const struct argp_option option_table[] = {
    {"max-states", KEY_MAX_STATES, "N", 0, "Give up beyond N states (default 5000000; 0: never)", 0},
    {"jobs", 'j', "N", 0, "Search with N threads", 0},
    {0}};

/* Bad usage ends the program. */
static uint64_t number_of(const char *argument, uint64_t most, struct argp_state *state)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(argument, &end, 10);
    if (errno || end == argument || *end || *argument == '-' || number > most)
        argp_error(state, "`%s' is no number from 0 to %" PRIu64, argument, most);
    return number;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_MAX_STATES:
        options->max_states = number_of(argument, UINT64_MAX, state);
        return 0;
    case 'j':
        options->jobs = (unsigned)number_of(argument, 256, state);
        return 0;
    case ARGP_KEY_ARGS:
        options->names = state->argv + state->next;
        options->n_names = (unsigned)(state->argc - state->next);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool wanted(const struct options *options, const char *name)
{
    for (unsigned i = 0; i < options->n_names; i++)
        if (strcmp(options->names[i], name) == 0)
            return true;
    return options->n_names == 0;
}

/* As they stand in the sources. */
static int compare_entries(const void *a, const void *b)
{
    const struct rem_model_entry *x = *(const struct rem_model_entry *const *)a;
    const struct rem_model_entry *y = *(const struct rem_model_entry *const *)b;
    int files = strcmp(x->file, y->file);
    return files ? files : (x->line > y->line) - (x->line < y->line);
}

/* A name that no test has would else look as if it passed. */
static bool are_all_there(const struct options *options, const struct rem_model_entry *const *entries,
                          size_t n)
{
    for (unsigned k = 0; k < options->n_names; k++) {
        size_t i = 0;
        while (i < n && strcmp(entries[i]->name, options->names[k]) != 0)
            i++;
        if (i == n) {
            fprintf(stderr, "%s: there is no test `%s'\n", program_invocation_short_name, options->names[k]);
            return false;
        }
    }
    return true;
}

static int run_tests(const struct options *options)
{
    extern const struct rem_model_entry __start_rem_model_tests[], __stop_rem_model_tests[];
    size_t n = (size_t)(__stop_rem_model_tests - __start_rem_model_tests);
    struct arena *arena = arena_new();
    const struct rem_model_entry **entries = ARENA_ARRAY(arena, const struct rem_model_entry *, n);
    int status = 0;
    for (size_t i = 0; i < n; i++)
        entries[i] = &__start_rem_model_tests[i];
    qsort(entries, n, sizeof *entries, compare_entries);
    if (!are_all_there(options, entries, n)) {
        arena_free(arena);
        return BAD_USAGE;
    }
    for (size_t i = 0; i < n; i++)
        if (wanted(options, entries[i]->name)) {
            int one = run_test(entries[i], options);
            status = one > status ? one : status;
        }
    arena_free(arena);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_table, parse_option, "[TEST...]", "Explores the tests under the memory model.",
        NULL,         NULL,         NULL};
    struct options options = {.max_states = 5000000, .jobs = 1};
    argp_err_exit_status = BAD_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return run_tests(&options);
}
