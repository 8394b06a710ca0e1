/* The main of a program of tests under the model (remora/model.h). */
#include "base/arena.h"
#include "job/node.h"
#include "verify/run_tell.h"

#include <remora/model.h>

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MOST_WORDS = 64 };

/* Words that the setup has named. */
struct named {
    const char *name;
    unsigned node;
    uint64_t *words;
    size_t count;
};

struct frame_of_world {
    struct named named[MOST_WORDS];
    unsigned n_named;
    void *frames[REM_MAX_NODES];
    uint64_t *results; /* of the thread at work */
    bool failed;
};

struct options {
    uint64_t max_states;
    unsigned jobs;
    char **names;
    unsigned n_names;
};

/* --- called by the tests --- */

_Noreturn void rem_model_fail(const char *message, const char *file, unsigned line)
{
    c_program_fail(message, file, line);
}

void rem_model_result(unsigned index, uint64_t value)
{
    struct frame_of_world *frame = c_program_running()->frame;
    if (index >= REM_MODEL_RESULTS)
        rem_model_fail("rem_model_result: no such index", "", 0);
    frame->results[index] = value;
}

int rem_model_words(rem_job *job, uint64_t **words, size_t count, const char *name)
{
    struct frame_of_world *frame = c_program_running()->frame;
    void *memory;
    if (rem_alloc(job, count * sizeof **words, &memory) != 0) {
        frame->failed = true;
        return 0;
    }
    *words = memory;
    if (frame->n_named < MOST_WORDS)
        frame->named[frame->n_named++] = (struct named){name, (unsigned)rem_node_self(job), *words, count};
    return 1;
}

/* --- one test --- */

static void set_up(void *context, struct world *world)
{
    const struct rem_model_test *test = context;
    struct frame_of_world *frame = world->frame = world_alloc(world, sizeof *frame);
    for (unsigned t = 0; t < world->shape->n_threads; t++)
        frame->failed |= rem_attach(&world->jobs[test->threads[t].node], &world->threads[t]) != 0;
    for (int n = 0; n < test->nodes; n++) {
        frame->frames[n] = world_alloc(world, test->frame ? test->frame : 1);
        if (test->set_up && frame->frames[n])
            test->set_up(&world->jobs[n], frame->frames[n]);
        frame->failed |= !frame->frames[n];
    }
}

static void body(void *context, struct world *world, unsigned t, uint64_t *regs)
{
    const struct rem_model_test *test = context;
    struct frame_of_world *frame = world->frame;
    frame->results = regs;
    test->threads[t].body(&world->threads[t], frame->frames[test->threads[t].node]);
}

static const char *location_name(struct arena *arena, const void *context, unsigned loc)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    const struct world *world = c_program_world(program, 0);
    const struct frame_of_world *frame = world->frame;
    unsigned node;
    size_t offset;
    c_program_place(program, loc, &node, &offset);
    const uint64_t *word = (const uint64_t *)(const void *)(world->nodes[node].home + offset);
    for (unsigned i = 0; i < frame->n_named; i++) {
        const struct named *named = &frame->named[i];
        if (named->node != node || word < named->words || word >= named->words + named->count)
            continue;
        return named->count == 1
                   ? arena_printf(arena, "%s@%u", named->name, node)
                   : arena_printf(arena, "%s[%zu]@%u", named->name, (size_t)(word - named->words), node);
    }
    if (offset < node_reserved(&world->nodes[node]))
        return arena_printf(arena, "a private word of node %u", node);
    return arena_printf(arena, "word %zu of node %u", offset / sizeof *word, node);
}

static const char *no_statement(struct arena *arena, const void *context, unsigned thread, unsigned number)
{
    (void)arena;
    (void)context;
    (void)thread;
    (void)number;
    return NULL;
}

/* What a test can change besides the model's memory. */
static uint64_t static_memory(void)
{
    extern char __data_start[], _end[];
    return XXH3_64bits(__data_start, (size_t)(_end - __data_start));
}

struct run_of_test {
    struct arena *arena;
    const struct rem_model_entry *entry;
    struct c_program *program;
    struct query query;
    struct result result;
    unsigned n_threads;
    bool descending;
};

static bool holds(const struct run_of_test *run, const uint64_t *row)
{
    uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS] = {{0}};
    for (unsigned t = 0; t < run->n_threads; t++)
        memcpy(results[t], row + t * REM_MODEL_RESULTS, sizeof results[t]);
    return run->entry->test->holds((const uint64_t(*)[REM_MODEL_RESULTS])results);
}

static void tell(const struct run_of_test *run, const struct run_goal *goal)
{
    const struct run_names names = {run->program, run->program, location_name, no_statement};
    run_tell(stdout, run->arena, &names, &run->query, goal);
}

static void show_results(const struct run_of_test *run, const uint64_t *row)
{
    for (unsigned t = 0; t < run->n_threads; t++)
        for (unsigned r = 0; r < REM_MODEL_RESULTS; r++)
            if (row[t * REM_MODEL_RESULTS + r])
                printf("  P%u result %u = %" PRIu64 "\n", t, r, row[t * REM_MODEL_RESULTS + r]);
}

static int say_unknown(const struct run_of_test *run, const char *why)
{
    printf("UNKNOWN %s: %s\n", run->entry->name, why);
    return 3;
}

/* The words of one put or get arrive in any order; two are tried, and the first is not spoken of. */
static const char *way(const struct run_of_test *run)
{
    return run->descending ? " (the words of a put or get arriving last word first)" : "";
}

/* 0 all is well, 1 a failure, 3 not known. */
static int judge(const struct run_of_test *run)
{
    const struct rem_model_test *test = run->entry->test;
    const struct c_failure *failure = c_program_failure(run->program);
    struct run_goal goal = {.query = &run->query};
    if (failure) {
        printf("FAILED  %s%s: P%u, %s:%u: %s\n", run->entry->name, way(run), failure->thread, failure->file,
               failure->line, failure->message);
        goal.failed = true;
        goal.thread = failure->thread;
        goal.point = failure->point;
        tell(run, &goal);
        return 1;
    }
    if (c_program_fault(run->program))
        return say_unknown(run, c_program_fault(run->program));
    for (size_t i = 0; test->holds && i < outcomes_count(run->result.states); i++) {
        goal.row = outcomes_row(run->result.states, i);
        if (holds(run, goal.row))
            continue;
        printf("FAILED  %s%s: .holds is false of a run, which ends with these results (others are 0):\n",
               run->entry->name, way(run));
        show_results(run, goal.row);
        tell(run, &goal);
        return 1;
    }
    if (run->result.stuck && !test->may_block) {
        printf("FAILED  %s%s: it can get stuck, some thread waits for ever\n", run->entry->name, way(run));
        goal.stuck = true;
        tell(run, &goal);
        return 1;
    }
    if (run->result.completion != DONE)
        return say_unknown(run, run->result.why ? run->result.why : "a limit was reached");
    size_t outcomes = outcomes_count(run->result.states);
    printf("ok      %s%s%s, %zu outcome%s, %" PRIu64 " states\n", run->entry->name,
           c_program_bounded(run->program) ? " (bounded: a waiting loop keeps changing its own state)" : "",
           way(run), outcomes, outcomes == 1 ? "" : "s", run->result.explored);
    return 0;
}

static int explore(struct run_of_test *run, const struct options *options)
{
    struct observable *observables =
        ARENA_ARRAY(run->arena, struct observable, run->n_threads * REM_MODEL_RESULTS);
    unsigned n = 0;
    for (unsigned t = 0; t < run->n_threads; t++)
        for (unsigned r = 0; r < REM_MODEL_RESULTS; r++)
            observables[n++] = (struct observable){.is_reg = true, .thread = t, .index = r};
    run->query = (struct query){.program = c_program_base(run->program),
                                .observables = observables,
                                .n_observables = n,
                                .limits = {.jobs = options->jobs, .max_states = options->max_states}};
    uint64_t before = static_memory();
    run->result = c_program_explore(run->program, &run->query, &(struct operational_options){0});
    if (static_memory() != before)
        return say_unknown(run, "it changes static variables, which the model does not see");
    return judge(run);
}

/* *several: it puts or gets several words at once. */
static int run_one_way(const struct rem_model_entry *entry, const struct options *options, bool descending,
                       bool *several)
{
    const struct rem_model_test *test = entry->test;
    struct run_of_test run = {.arena = arena_new(), .entry = entry, .descending = descending};
    struct c_code code = {.shape = {.n_nodes = (unsigned)test->nodes, .heap = 256 << 10},
                          .descending = descending,
                          .setup = set_up,
                          .body = body,
                          .context = (void *)(uintptr_t)test};
    for (unsigned t = 0; t < REM_MODEL_THREADS && test->threads[t].body; t++) {
        code.shape.thread_node[t] = (unsigned char)test->threads[t].node;
        code.n_regs[t] = REM_MODEL_RESULTS;
        run.n_threads = code.shape.n_threads = t + 1;
    }
    c_program_new(run.arena, &code, &run.program);
    const struct frame_of_world *frame = c_program_world(run.program, 0)->frame;
    int status = frame->failed ? say_unknown(&run, "its setup ran out of memory") : explore(&run, options);
    *several = c_program_several_words(run.program);
    outcomes_free(run.result.states);
    c_program_free(run.program);
    arena_free(run.arena);
    return status;
}

/* The words of one put or get are not ordered among themselves: both orders. */
static int run_test(const struct rem_model_entry *entry, const struct options *options)
{
    bool several;
    int status = run_one_way(entry, options, false, &several);
    return status == 0 && several ? run_one_way(entry, options, true, &several) : status;
}

/* --- all of them --- */

enum { KEY_MAX_STATES = 256 };

static const struct argp_option option_table[] = {
    {"max-states", KEY_MAX_STATES, "N", 0, "Give up beyond N states (default 5000000; 0: never)", 0},
    {"jobs", 'j', "N", 0, "Search with N threads", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_MAX_STATES:
        options->max_states = strtoull(argument, NULL, 10);
        return 0;
    case 'j':
        options->jobs = (unsigned)strtoul(argument, NULL, 10);
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

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_table, parse_option, "[TEST...]", "Explores the tests under the memory model.",
        NULL,         NULL,         NULL};
    extern const struct rem_model_entry __start_rem_model_tests[], __stop_rem_model_tests[];
    struct options options = {.max_states = 5000000, .jobs = 1};
    int status = 0;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const struct rem_model_entry *entry = __start_rem_model_tests; entry < __stop_rem_model_tests;
         entry++)
        if (wanted(&options, entry->name)) {
            int one = run_test(entry, &options);
            status = one > status ? one : status;
        }
    return status;
}
