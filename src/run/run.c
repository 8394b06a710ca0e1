/* Runs a litmus test on a transport (run.h): where its outcomes are to be found, its memory, its threads. */
#include "run/run_intern.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MOST_INSTANCES = 1024, INSTANCES_BYTES = 4 << 20 };

/* ---- What is shown ---- */

static unsigned add_shown(struct run *run, unsigned thread, unsigned reg)
{
    unsigned n = run->n_shown[thread]++;
    run->shown[thread][n] = reg;
    return n;
}

static struct column column_of(struct run *run, const struct lm_atom *atom)
{
    if (atom->is_reg)
        return (struct column){.kind = IN_RESULT,
                               .thread = atom->thread,
                               .node = run->test->threads[atom->thread].node,
                               .offset = 1 + add_shown(run, atom->thread, atom->reg)};
    const struct lm_decl *decl = atom->decl;
    return (struct column){.kind = decl->kind == LM_SC ? IN_SC : IN_MEMORY,
                           .node = decl->kind == LM_SHARED ? atom->node : decl->node,
                           .offset = run->code->places[decl->index]};
}

static void find_columns(struct run *run)
{
    unsigned n = run->verdict->n_columns, threads = run->test->n_threads;
    run->columns = ARENA_ARRAY(run->arena, struct column, n);
    run->row = ARENA_ARRAY(run->arena, uint64_t, n);
    run->shown = ARENA_ARRAY(run->arena, uint32_t *, threads);
    run->n_shown = ARENA_ARRAY(run->arena, unsigned, threads);
    for (unsigned t = 0; t < threads; t++)
        run->shown[t] = ARENA_ARRAY(run->arena, uint32_t, n);
    for (unsigned c = 0; c < n; c++)
        run->columns[c] = column_of(run, &run->verdict->columns[c]);
    run->instances.row = 1;
    for (unsigned t = 0; t < threads; t++)
        if (run->instances.row < 1 + run->n_shown[t])
            run->instances.row = 1 + run->n_shown[t];
}

/* A power of two. */
static uint32_t instance_count(const struct run *run)
{
    size_t each = (size_t)run->code->n_words * WORD_STEP + (size_t)run->code->n_scs * WORD_STEP +
                  (size_t)run->test->n_threads * run->instances.row * sizeof(uint64_t);
    uint32_t most = run->options->instances ? run->options->instances : MOST_INSTANCES, count = 1;
    while (2 * count <= most && 2 * count * each <= INSTANCES_BYTES)
        count *= 2;
    return count;
}

/* ---- Setting up ---- */

static int make_worker(struct run *run, unsigned t)
{
    const struct thread_code *code = &run->code->threads[t];
    struct worker *w = aligned_alloc(WORD_STEP, (sizeof *w + WORD_STEP - 1) / WORD_STEP * WORD_STEP);
    if (!w)
        return REM_ENOMEM;
    memset(w, 0, sizeof *w);
    w->crew = &run->crew;
    w->number = t;
    w->code = code;
    w->instances = &run->instances;
    w->regs = ARENA_ARRAY(run->arena, uint64_t, code->n_regs + 8);
    w->shown = run->shown[t];
    w->n_shown = run->n_shown[t];
    if (run->code->tso) {
        w->polls = ARENA_ARRAY(run->arena, struct poll_queue, run->session->nodes);
        for (unsigned n = 0; n < run->session->nodes; n++)
            w->polls[n].number = ARENA_ARRAY(run->arena, uint64_t, code->n_code);
    }
    int error = rem_attach(&run->session->jobs[code->node], &w->thread);
    if (error) {
        free(w);
        return error;
    }
    run->crew.workers[run->crew.n_workers++] = w;
    return 0;
}

/* The nodes of the test whose processes have threads of it; none if there is but one process. */
static uint64_t other_nodes(const struct run *run)
{
    uint64_t nodes = 0;
    for (unsigned t = 0; t < run->test->n_threads && run->session->self >= 0; t++)
        nodes |= UINT64_C(1) << run->test->threads[t].node;
    return nodes & ~(UINT64_C(1) << run->self);
}

static unsigned processors(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

static int make_crew(struct run *run)
{
    struct crew *crew = &run->crew;
    crew->instances = &run->instances;
    crew->workers = ARENA_ARRAY(run->arena, struct worker *, run->test->n_threads);
    crew->pinning = run->options->pinning;
    crew->patience = run->options->patience;
    crew->crowded = run->test->n_threads > processors();
    int error = 0;
    for (unsigned t = 0; t < run->test->n_threads && !error; t++)
        if (session_plays(run->session, run->test->threads[t].node))
            error = make_worker(run, t);
    if (error || !crew->n_workers)
        return error;
    crew->gate_nodes = other_nodes(run);
    return crew->gate_nodes ? rem_attach(&run->session->jobs[run->self], &crew->gate_thread) : 0;
}

static void free_crew(struct run *run)
{
    struct crew *crew = &run->crew;
    if (crew->gate_thread.state)
        rem_detach(&crew->gate_thread);
    for (unsigned i = 0; i < crew->n_workers; i++) {
        crew->workers[i]->thread.held = 0;
        atomic_store(&crew->workers[i]->call_off, 0);
        rem_detach(&crew->workers[i]->thread);
        free(crew->workers[i]);
    }
}

static void fail(struct run *run, const char *what, int error)
{
    const char *text = NULL;
    struct run_result *result = run->result;
    result->end = RUN_FAILED;
    if (!session_failure(run->session, &text) || !text)
        text = rem_strerror(error);
    snprintf(result->why, sizeof result->why, "%s%s", what, text);
}

/* The threads are ready. */
static void play(struct run *run)
{
    if (session_leads(run->session))
        run_make_final(run);
    if (run->runner) {
        run_alone(run);
        return;
    }
    int error = crew_start(&run->crew);
    if (error) {
        fail(run, "starting threads: ", error);
        return;
    }
    if (session_leads(run->session))
        run_in_batches(run);
    else if (!crew_watch(&run->crew, run_all_gone, run))
        run->result->end = RUN_FAILED;
    crew_join(&run->crew);
    if (run->result->end == RUN_FAILED)
        fail(run, "", atomic_load(&run->crew.failure));
}

static void set_up_and_play(struct run *run)
{
    int error = instances_make(run->arena, &run->instances);
    if (error) {
        fail(run, "memory: ", error);
        return;
    }
    error = run_is_alone(run) ? run_prepare_alone(run) : 0;
    if (!error)
        error = rem_attach(&run->session->jobs[run->self], &run->thread);
    if (!error)
        error = make_crew(run);
    if (error)
        fail(run, "threads: ", error);
    else
        play(run);
    free_crew(run);
    rem_detach(&run->thread);
    if (run->runner)
        run_forget_alone(run);
    if (run->result->end != RUN_FAILED)
        instances_free(&run->instances);
}

static struct run *new_run(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                           const struct run_options *options, struct run_result *result)
{
    /* The gate has cache lines to itself; an arena's memory does not begin at one. */
    char *memory = arena_alloc(arena, sizeof(struct run) + WORD_STEP);
    struct run *run = (struct run *)(void *)(memory + (-(uintptr_t)memory & (WORD_STEP - 1)));
    *run =
        (struct run){.arena = arena, .test = test, .verdict = verdict, .options = options, .result = result};
    *result = (struct run_result){.end = RUN_SKIPPED, .seed = options->seed};
    const char *why;
    run->code = code_compile(arena, test, &why);
    if (!run->code) {
        snprintf(result->why, sizeof result->why, "%s", why);
        return NULL;
    }
    run->instances.code = run->code;
    find_columns(run);
    run->instances.count = instance_count(run);
    return run;
}

struct run_result run_in(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                         struct session *session, const struct run_options *options)
{
    struct run_result result;
    struct run *run = new_run(arena, test, verdict, options, &result);
    if (!run)
        return result;
    if (test->nodes > session->nodes) {
        snprintf(result.why, sizeof result.why, "it needs %u nodes, the job has %u", test->nodes,
                 session->nodes);
        return result;
    }
    run->session = run->instances.session = session;
    run->self = session->self < 0 ? 0 : (unsigned)session->self;
    result.seen = histogram_new(verdict->n_columns);
    result.seed = options->seed;
    prctl(PR_SET_TIMERSLACK, 1000);
    set_up_and_play(run);
    histogram_sort(result.seen);
    return result;
}

/* Threads of the busiest node, and the one that leads. */
static unsigned threads_of_a_node(const struct lm_test *test)
{
    unsigned count[LM_MAX_NODES] = {0}, most = 0;
    for (unsigned t = 0; t < test->n_threads; t++)
        count[test->threads[t].node]++;
    for (unsigned n = 0; n < test->nodes; n++)
        most = count[n] > most ? count[n] : most;
    return most + 1;
}

struct run_result run_here(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                           const char *provider, const struct run_options *options)
{
    struct run_result result;
    struct run *run = new_run(arena, test, verdict, options, &result);
    if (!run)
        return result;
    unsigned threads = threads_of_a_node(test);
    size_t heap = instances_heap(run->code, test->nodes, threads, run->instances.count, run->instances.row);
    struct session *session = ARENA_NEW(arena, struct session);
    if (session_open(session, provider, test->nodes, threads, heap) != 0) {
        result.end = RUN_FAILED;
        snprintf(result.why, sizeof result.why, "%s", session->why);
        return result;
    }
    result = run_in(arena, test, verdict, session, options);
    session_close(session);
    return result;
}

void run_result_free(struct run_result *result)
{
    histogram_free(result->seen);
}
