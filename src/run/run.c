/* Runs a litmus test on a transport (run.h): sets the memory to the initial state, lets the threads play a batch
 * of iterations, reads the final state, counts; again and again.
 *
 * A batch begins when every thread has completed, waited for and globally fenced all that it did in the one before, so
 * its instances are quiet. Memory of nodes that live in other processes is written and read by put and get. */
#include "run/run.h"

#include "base/arena.h"
#include "base/clock.h"
#include "search/condition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MOST_INSTANCES = 1024, INSTANCES_BYTES = 4 << 20, SMALLEST_BATCH = 16 };
#define BATCH_SECONDS 0.03

/* Where a column of the outcome is found. */
struct column {
    enum { IN_RESULT, IN_MEMORY, IN_SC } kind;
    unsigned thread, node;
    size_t offset; /* of the word in the row, of the word in the instance; number of the sc location */
};

struct run {
    struct arena *arena;
    const struct lm_test *test;
    const struct verdict *verdict;
    const struct run_options *options;
    struct session *session;
    struct test_code *code;
    struct instances instances;
    struct crew crew;
    rem_thread thread; /* of this function, on the own node */
    unsigned self;
    struct column *columns;
    uint32_t **shown;
    unsigned *n_shown;
    uint64_t batch, size, seed; /* of the batch */
    bool cut_short;             /* it ended early, since a lock's waiter has given up */
    uint64_t *row;
    size_t allowed_seen;
    struct run_result *result;
};

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

/* ---- The initial state ---- */

static void write_image(const struct run *run, unsigned node, char *image)
{
    const struct test_code *code = run->code;
    for (uint64_t k = 0; k < run->size; k++) {
        char *words = image + crew_instance(run->seed, k, run->instances.count) * run->instances.size;
        for (uint32_t w = 0; w < code->n_words; w++) {
            const struct lm_decl *decl = code->words[w];
            if (decl->kind == LM_SHARED || decl->node == node)
                __atomic_store_n((uint64_t *)(void *)(words + (size_t)w * WORD_STEP), decl->init,
                                 __ATOMIC_RELAXED);
        }
    }
}

static void reset_node(struct run *run, unsigned node)
{
    const struct instances_node *here = &run->instances.node[node];
    if (session_plays(run->session, node)) {
        write_image(run, node, here->words);
        return;
    }
    const struct instances_node *own = &run->instances.node[run->self];
    write_image(run, node, own->scratch);
    if (run->instances.size)
        rem_put(&run->thread, (int)node, own->words, own->scratch, run->instances.size * run->instances.count,
                0);
    rem_wait(&run->thread, 0);
}

static void reset_scs(struct run *run)
{
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        for (uint64_t k = 0; k < run->size; k++)
            rem_sc_write(&run->thread, &run->instances.node[run->self].scs[s],
                         crew_instance(run->seed, k, run->instances.count), run->code->scs[s]->init);
}

/* A lock whose waiter has given up is made new, on every node. */
static void reset_lock(struct run *run, struct run_lock *lock)
{
    struct lock_memory memory = lock_memory_of(&run->instances, run->self, lock);
    for (unsigned part = 0; part < 2; part++)
        for (size_t at = 0; at < memory.size[part]; at += sizeof(uint64_t))
            for (unsigned n = 0; n < run->session->nodes; n++)
                rem_put_value(&run->thread, (int)n, (uint64_t *)(void *)((char *)memory.part[part] + at), 0,
                              0);
}

static void reset_locks(struct run *run)
{
    for (uint32_t l = 0; l < run->code->n_locks * LOCK_COPIES; l++)
        reset_lock(run, &run->instances.node[run->self].locks[l]);
}

/* ---- Batches ---- */

static int give_out(struct run *run, uint64_t batch)
{
    struct step_words *step = run->instances.node[run->self].step;
    rem_mfence(&run->thread);
    int error = rem_gfence(&run->thread, REM_ALL_NODES);
    for (int n = 0; n < (int)run->session->nodes && !error; n++) {
        rem_put_value(&run->thread, n, &step->size, run->size, 0);
        rem_put_value(&run->thread, n, &step->seed, run->seed, 0);
        error = rem_put_value(&run->thread, n, &step->go, batch, 0);
    }
    return error ? error : rem_gfence(&run->thread, REM_ALL_NODES);
}

static bool all_done(void *context)
{
    struct run *run = context;
    const struct step_words *step = run->instances.node[run->self].step;
    for (unsigned t = 0; t < run->test->n_threads; t++)
        if (rem_load(&run->thread, &step->done[t]) != run->batch)
            return false;
    return true;
}

static bool all_gone(void *context)
{
    struct run *run = context;
    return atomic_load(&run->crew.gone) == run->crew.n_workers;
}

/* ---- The final state ---- */

/* A copy of another process's memory, in the arena. */
static char *fetch(struct run *run, unsigned node, char *remote, size_t size)
{
    char *scratch = run->instances.node[run->self].scratch, *copy = xmalloc(size ? size : 1);
    if (size)
        rem_get(&run->thread, scratch, (int)node, remote, size, 0);
    rem_wait(&run->thread, 0);
    memcpy(copy, scratch, size);
    return copy;
}

/* What a batch has left: of each node its words, of each thread its results. */
struct final {
    char *words[REM_MAX_NODES], *results[REM_MAX_NODES];
    uint64_t **scs;
};

static void read_final(struct run *run, struct final *final)
{
    const struct instances *instances = &run->instances;
    const struct instances_node *own = &instances->node[run->self];
    for (unsigned n = 0; n < run->session->nodes; n++) {
        bool here = session_plays(run->session, n);
        final->words[n] =
            here ? instances->node[n].words : fetch(run, n, own->words, instances->size * instances->count);
        final->results[n] = here ? instances->node[n].results
                                 : fetch(run, n, own->results, instances_results_size(instances));
    }
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        for (uint64_t k = 0; k < run->size; k++) {
            uint32_t i = crew_instance(run->seed, k, instances->count);
            rem_sc_read(&run->thread, &run->instances.node[run->self].scs[s], i, &final->scs[s][i]);
        }
}

static void free_final(struct run *run, struct final *final)
{
    for (unsigned n = 0; n < run->session->nodes; n++)
        if (!session_plays(run->session, n)) {
            free(final->words[n]);
            free(final->results[n]);
        }
}

static const uint64_t *result_in(const struct run *run, const struct final *final, unsigned thread,
                                 uint32_t i)
{
    size_t row = (size_t)thread * run->instances.count + i;
    return (const uint64_t *)(void *) final->results[run->test->threads[thread].node] +
           row * run->instances.row;
}

static uint64_t value_in(const struct run *run, const struct final *final, const struct column *column,
                         uint32_t i)
{
    switch (column->kind) {
    case IN_RESULT:
        return result_in(run, final, column->thread, i)[column->offset];
    case IN_MEMORY:
        return __atomic_load_n(
            (uint64_t *)(void *)(final->words[column->node] + i * run->instances.size + column->offset),
            __ATOMIC_RELAXED);
    case IN_SC:
        return final->scs[column->offset][i];
    }
    return 0;
}

static void count_instance(struct run *run, const struct final *final, uint32_t i)
{
    bool dropped = false, stuck = false;
    for (unsigned t = 0; t < run->test->n_threads; t++) {
        uint64_t ending = result_in(run, final, t, i)[0];
        if (ending == 0 || ending == FAILED) {
            run->cut_short = true;
            return;
        }
        dropped |= ending == DROPPED;
        stuck |= ending == STUCK;
    }
    run->result->iterations++;
    run->result->dropped += dropped;
    run->result->stuck += stuck && !dropped;
    if (dropped || stuck)
        return;
    for (unsigned c = 0; c < run->verdict->n_columns; c++)
        run->row[c] = value_in(run, final, &run->columns[c], i);
    struct histogram *seen = run->result->seen;
    size_t number = histogram_add(seen, run->row);
    if (seen->counts[number] == 1 && outcomes_has(run->verdict->states, run->row))
        run->allowed_seen++;
}

static void count(struct run *run)
{
    struct final final;
    final.scs = xcalloc(run->code->n_scs + 1, sizeof *final.scs);
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        final.scs[s] = xcalloc(run->instances.count, sizeof **final.scs);
    read_final(run, &final);
    run->cut_short = false;
    for (uint64_t k = 0; k < run->size; k++)
        count_instance(run, &final, crew_instance(run->seed, k, run->instances.count));
    free_final(run, &final);
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        free(final.scs[s]);
    free(final.scs);
}

/* ---- The loop ---- */

static bool play_batch(struct run *run)
{
    for (unsigned n = 0; n < run->session->nodes; n++)
        reset_node(run, n);
    reset_scs(run);
    run->batch++;
    if (give_out(run, run->batch) != 0 || !crew_watch(&run->crew, all_done, run))
        return false;
    count(run);
    if (run->cut_short)
        reset_locks(run);
    return true;
}

static bool seen_all(const struct run *run)
{
    return run->options->stop_early && run->verdict->completion == DONE &&
           run->allowed_seen == outcomes_count(run->verdict->states);
}

static enum run_end ended(const struct run *run, double start)
{
    if (run->result->iterations >= run->options->iterations)
        return RUN_DONE;
    if (atomic_load(run->options->stop))
        return RUN_INTERRUPTED;
    if (run->options->timeout > 0 && now() - start > run->options->timeout)
        return RUN_TIMEOUT;
    return seen_all(run) ? RUN_SEEN_ALL : RUN_SKIPPED;
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Batches that take about BATCH_SECONDS, so that who wants to stop need not wait. */
static uint64_t next_size(const struct run *run, double seconds)
{
    uint64_t size = run->size, left = run->options->iterations - run->result->iterations;
    if (seconds < BATCH_SECONDS / 2)
        size *= 2;
    else if (seconds > 2 * BATCH_SECONDS && size > 1)
        size /= 2;
    size = size < run->instances.count ? size : run->instances.count;
    return size < left ? size : left;
}

static void lead(struct run *run)
{
    double start = now();
    uint64_t random = run->options->seed * UINT64_C(0x9e3779b97f4a7c15) + 0x1234567;
    struct run_result *result = run->result;
    run->size = SMALLEST_BATCH;
    double seconds = 0;
    for (;;) {
        result->end = ended(run, start);
        if (result->end != RUN_SKIPPED)
            break;
        run->size = next_size(run, seconds);
        run->seed = next_random(&random);
        double before = now();
        if (!play_batch(run)) {
            result->end = RUN_FAILED;
            break;
        }
        seconds = now() - before;
    }
    result->seconds = now() - start;
    if (result->end != RUN_FAILED)
        give_out(run, STEP_END);
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
    int error = crew_start(&run->crew);
    if (error) {
        fail(run, "starting threads: ", error);
        return;
    }
    if (session_leads(run->session))
        lead(run);
    else if (!crew_watch(&run->crew, all_gone, run))
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
    error = rem_attach(&run->session->jobs[run->self], &run->thread);
    if (!error)
        error = make_crew(run);
    if (error)
        fail(run, "threads: ", error);
    else
        play(run);
    free_crew(run);
    rem_detach(&run->thread);
    if (run->result->end != RUN_FAILED)
        instances_free(&run->instances);
}

static struct run *new_run(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                           const struct run_options *options, struct run_result *result)
{
    struct run *run = ARENA_NEW(arena, struct run);
    *run =
        (struct run){.arena = arena, .test = test, .verdict = verdict, .options = options, .result = result};
    *result = (struct run_result){.end = RUN_SKIPPED};
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
