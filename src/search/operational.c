/* The operational engine: explicit-state search of the machine of section 2 (model/machine.h). A state is
 * stored when it is new, and then expanded: from a copy of it, each step that the reduction leaves is taken
 * (docs/reduction.md), or every enabled step if no reduction is wanted. */
#include "search/operational.h"

#include "base/arena.h"
#include "search/operational_moves.h"

#include <stdlib.h>
#include <time.h>

enum { CHECK_EVERY = 1024 };

/* --- ends of runs --- */

static uint64_t observe(const struct machine *m, const uint8_t *state, struct observable what)
{
    return what.is_reg ? local_of(m, state, what.thread)->regs[what.index]
                       : machine_value(m, get_memory(m, state)[what.index]);
}

void observe_state(const struct machine *m, const uint8_t *state, const struct query *query, uint64_t *row)
{
    for (unsigned i = 0; i < query->n_observables; i++)
        row[i] = observe(m, state, query->observables[i]);
}

static void record_outcome(struct worker *w)
{
    observe_state(w->search->machine, w->state, w->search->query, w->row);
    outcomes_add(w->outcomes, w->row);
}

static void record_stuck(struct worker *w)
{
    const struct query *query = w->search->query;
    const struct machine *m = w->search->machine;
    observe_state(m, w->state, query, w->row);
    for (unsigned t = 0; t < m->n_threads; t++) {
        const struct local *local = local_of(m, w->state, t);
        w->row[query->n_observables + t] = local->kind == OP_END ? UINT64_MAX : local->point;
    }
    outcomes_add(w->stuck, w->row);
}

/* --- limits --- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void halt(struct search *search, enum completion why)
{
    int going = DONE;
    atomic_compare_exchange_strong(&search->halted, &going, (int)why);
}

void check_time_and_memory(struct search *search, size_t more_bytes)
{
    const struct limits *limits = &search->query->limits;
    if (limits->stop && atomic_load(limits->stop))
        halt(search, INTERRUPTED);
    else if (limits->deadline > 0 && now() >= limits->deadline)
        halt(search, LIMIT_TIME);
    else if (limits->max_memory && visited_bytes(search->visited) + machine_bytes(search->machine) +
                                           atomic_load(&search->stack_bytes) + more_bytes >
                                       limits->max_memory)
        halt(search, LIMIT_MEMORY);
}

static void check_limits(struct worker *w)
{
    struct search *search = w->search;
    uint64_t stored = atomic_fetch_add(&search->stored, w->unchecked) + w->unchecked;
    uint64_t most = search->query->limits.max_states;
    w->unchecked = 0;
    atomic_fetch_add(&search->stack_bytes, w->stack.capacity - w->stack_bytes);
    w->stack_bytes = w->stack.capacity;
    if (most && stored >= most)
        halt(search, LIMIT_STATES);
    check_time_and_memory(search, 0);
}

void worker_count(struct worker *w)
{
    w->stored++;
    if (++w->unchecked == CHECK_EVERY)
        check_limits(w);
}

/* --- one state --- */

void worker_reserve(struct worker *w, size_t state_size)
{
    enum { SLACK = 256 }; /* entries */
    const struct machine *m = w->search->machine;
    size_t wanted = state_size + STEP_GROWTH + sizeof(entry_t);
    if (w->capacity < wanted) {
        w->capacity = 2 * wanted + SLACK * sizeof(entry_t);
        w->state = xrealloc(w->state, w->capacity);
        w->spare = xrealloc(w->spare, w->capacity);
        w->room = (unsigned)((w->capacity - m->entries_at - STEP_GROWTH) / sizeof(entry_t) - 1);
    }
    size_t steps = 2 * (state_size / sizeof(entry_t)) + 2 * m->n_threads + MAX_MOVES;
    if (w->steps_capacity < steps) {
        w->steps_capacity = 2 * steps;
        w->steps = xrealloc(w->steps, w->steps_capacity * sizeof *w->steps);
    }
}

enum effect choose_steps(struct worker *w, uint64_t threads, unsigned *n_steps, struct fingerprint *print)
{
    if (w->search->reduced)
        return reduce(w, threads, n_steps, print);
    const struct machine *m = w->search->machine;
    worker_reserve(w, state_size(m, w->state));
    *n_steps = machine_steps(m, w->state, w->steps);
    *print = visited_fingerprint(w->state, state_size(m, w->state));
    return EFFECT_OK;
}

/* The search has come to the state in w->state, by steps of these threads. */
static void arrive(struct worker *w, uint64_t threads)
{
    struct search *search = w->search;
    struct machine *m = search->machine;
    unsigned n;
    struct fingerprint print;
    enum effect effect = choose_steps(w, threads, &n, &print);
    if (effect == EFFECT_FULL)
        halt(search, UNSUPPORTED);
    if (effect != EFFECT_OK || !visited_add(search->visited, print))
        return;
    worker_count(w);
    if (n > 0)
        stack_push(&w->stack, w->state, state_size(m, w->state), w->steps, n);
    if (n == 0 && machine_complete(m, w->state))
        record_outcome(w);
    else if (n == 0 || (only_spins(m, w->state, w->steps, n) && spinners_stuck(m, w->state)))
        record_stuck(w);
}

static void expand(struct worker *w, const struct frame *popped)
{
    struct search *search = w->search;
    size_t size = popped->state_size;
    /* Pushing overwrites the popped frame, so what is still needed of it moves here. */
    size_t steps_bytes = popped->n_steps * sizeof(struct step);
    uint8_t *from = xmalloc(size + steps_bytes);
    memcpy(from, popped->state, size);
    memcpy(from + size, popped->steps, steps_bytes);
    const struct step *steps = (const struct step *)(void *)(from + size);
    for (unsigned i = 0; i < popped->n_steps; i++) {
        worker_reserve(w, size);
        memcpy(w->state, from, size);
        enum effect effect = take(w, steps[i]);
        if (effect == EFFECT_FULL)
            halt(search, UNSUPPORTED);
        else if (effect == EFFECT_OK)
            arrive(w, UINT64_C(1) << steps[i].thread);
    }
    free(from);
}

/* --- sharing work --- */

static void give_work(struct worker *w)
{
    struct search *search = w->search;
    pthread_mutex_lock(&search->sharing);
    if (stack_empty(&search->pool)) {
        stack_give(&w->stack, &search->pool);
        pthread_cond_broadcast(&search->shared);
    }
    pthread_mutex_unlock(&search->sharing);
}

/* Waits until there is work again; false when there will be none. The last worker to run out of work ends the
 * search. */
static bool get_work(struct worker *w)
{
    struct search *search = w->search;
    pthread_mutex_lock(&search->sharing);
    if (atomic_fetch_add(&search->idle, 1) + 1 == search->jobs && stack_empty(&search->pool)) {
        search->finished = true;
        pthread_cond_broadcast(&search->shared);
    }
    while (stack_empty(&search->pool) && !search->finished)
        pthread_cond_wait(&search->shared, &search->sharing);
    bool got = !stack_empty(&search->pool);
    if (got) {
        stack_give(&search->pool, &w->stack);
        atomic_fetch_sub(&search->idle, 1);
    }
    pthread_mutex_unlock(&search->sharing);
    return got;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct search *search = w->search;
    do {
        struct frame frame;
        while (atomic_load_explicit(&search->halted, memory_order_relaxed) == DONE &&
               stack_pop(&w->stack, &frame)) {
            expand(w, &frame);
            if (atomic_load_explicit(&search->idle, memory_order_relaxed) > 0 && !stack_empty(&w->stack))
                give_work(w);
        }
        w->stack.top = w->stack.bottom;
    } while (get_work(w));
    return NULL;
}

/* --- the whole search --- */

void worker_start(struct worker *w, struct search *search)
{
    const struct query *query = search->query;
    w->search = search;
    w->outcomes = outcomes_new(query->n_observables);
    w->stuck = outcomes_new(query->n_observables + search->machine->n_threads);
    w->row = xcalloc(query->n_observables + search->machine->n_threads, sizeof *w->row);
    w->moves = moves_new(search->machine);
    worker_reserve(w, machine_first_size(search->machine));
}

void worker_free(struct worker *w)
{
    stack_free(&w->stack);
    free(w->state);
    free(w->spare);
    free(w->steps);
    free(w->row);
    free(w->log.steps);
    free(w->recent);
    moves_free(w->moves);
}

static void add_all(struct outcomes *to, const struct outcomes *from)
{
    for (size_t i = 0; i < outcomes_count(from); i++)
        outcomes_add(to, outcomes_row(from, i));
}

/* The outcomes of a worker go to the first one's. */
static void worker_end(struct worker *w, struct worker *first)
{
    if (w != first) {
        add_all(first->outcomes, w->outcomes);
        add_all(first->stuck, w->stuck);
        outcomes_free(w->outcomes);
        outcomes_free(w->stuck);
        first->stored += w->stored;
    }
    worker_free(w);
}

static void run_workers(struct search *search, struct worker *workers)
{
    pthread_t *threads = xcalloc(search->jobs, sizeof *threads);
    unsigned started = 1;
    while (started < search->jobs && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
        started++;
    if (started < search->jobs) {
        pthread_mutex_lock(&search->sharing);
        atomic_fetch_add(&search->idle,
                         search->jobs - started); /* those that couldn't be had are idle for good */
        pthread_mutex_unlock(&search->sharing);
    }
    work(&workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static void start(struct worker *w)
{
    enum effect effect = machine_first(w->search->machine, w->state);
    if (effect == EFFECT_OK)
        arrive(w, ALL_THREADS >> (64 - w->search->machine->n_threads));
    else if (effect == EFFECT_FULL)
        halt(w->search, UNSUPPORTED);
}

static struct result search_all(struct search *search)
{
    struct worker *workers = xcalloc(search->jobs, sizeof *workers);
    for (unsigned i = 0; i < search->jobs; i++)
        worker_start(&workers[i], search);
    start(&workers[0]);
    run_workers(search, workers);
    for (unsigned i = search->jobs; i-- > 0;)
        worker_end(&workers[i], &workers[0]);
    struct result result = {
        .states = workers[0].outcomes,
        .completion = (enum completion)atomic_load(&search->halted),
        .explored = workers[0].stored,
        .stuck = outcomes_count(workers[0].stuck),
        .stuck_known = true,
        .bytes = visited_bytes(search->visited),
    };
    if (search->symmetry && result.completion != UNSUPPORTED) {
        result.states = symmetry_close(search, result.states, false);
        workers[0].stuck = symmetry_close(search, workers[0].stuck, true);
        result.completion = (enum completion)atomic_load(&search->halted);
        result.stuck = outcomes_count(workers[0].stuck);
    }
    result.why = result.completion == UNSUPPORTED ? machine_why(search->machine) : NULL;
    outcomes_free(workers[0].stuck);
    outcomes_sort(result.states);
    free(workers);
    return result;
}

struct result explore_operational(const struct query *query, const struct operational_options *options)
{
    struct search search = {.query = query, .jobs = query->limits.jobs ? query->limits.jobs : 1};
    struct arena *arena = arena_new();
    struct result result = {.completion = UNSUPPORTED, .stuck_known = true};
    bool reduced = !options->no_reduction && mutant_chosen() == NO_MUTANT;
    search.machine = machine_new(arena, query->program, reduced, &result.why);
    if (!search.machine) {
        result.states = outcomes_new(query->n_observables);
        arena_free(arena);
        return result;
    }
    search.reduced = reduced;
    search.machine->forget_unwaited = reduced && !query->program->tso;
    search.symmetry = reduced ? symmetry_new(arena, search.machine, query) : NULL;
    search.visited = visited_new(search.jobs > 1);
    pthread_mutex_init(&search.sharing, NULL);
    pthread_cond_init(&search.shared, NULL);
    result = search_all(&search);
    pthread_mutex_destroy(&search.sharing);
    pthread_cond_destroy(&search.shared);
    stack_free(&search.pool);
    visited_free(search.visited);
    machine_free(search.machine);
    arena_free(arena);
    return result;
}
