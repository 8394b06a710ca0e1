/* The operational engine: explicit-state search of the machine of section 2 (model/machine.h). A state is stored
 * when it is new, and then expanded: from a copy of it, each step that the reduction leaves is taken (docs/reduction.md), or
 * every enabled step if no reduction is wanted. */
#include "search/operational.h"

#include "base/arena.h"
#include "base/clock.h"

#include <stdlib.h>

/* --- limits --- */

void halt(struct search *search, int why)
{
    int going = DONE;
    atomic_compare_exchange_strong(&search->halted, &going, why);
}

void check_time_and_memory(struct search *search, size_t more_bytes)
{
    const struct limits *limits = &search->query->limits;
    size_t bytes = more_bytes + visited_bytes(search->visited) + machine_bytes(search->machine) +
                   parts_bytes(search->parts) + atomic_load(&search->stack_bytes);
    if (limits->stop && atomic_load(limits->stop))
        halt(search, INTERRUPTED);
    else if (limits->deadline > 0 && now() >= limits->deadline)
        halt(search, LIMIT_TIME);
    else if (limits->max_memory && bytes > limits->max_memory)
        halt(search, LIMIT_MEMORY);
}

/* --- one state --- */

static void record(struct worker *w, enum ending ending)
{
    const struct query *query = w->search->query;
    worker_observe(w, w->row);
    if (ending == COMPLETE) {
        outcomes_add(w->outcomes, w->row);
        return;
    }
    for (unsigned t = 0; t < w->search->machine->n_threads; t++) {
        const struct local *local = worker_local(w, t);
        w->row[query->n_observables + t] = local->kind == OP_END ? UINT64_MAX : local->point;
    }
    outcomes_add(w->stuck, w->row);
}

/* The search has come to the worker's state by some step. */
static void arrive(struct worker *w)
{
    struct search *search = w->search;
    unsigned n;
    struct fingerprint print;
    enum effect effect = worker_steps(w, &n, &print);
    if (effect == EFFECT_FULL)
        halt(search, UNSUPPORTED);
    if (effect != EFFECT_OK || !visited_add(search->visited, print))
        return;
    worker_count(w);
    size_t size;
    const uint8_t *state = worker_state(w, &size);
    if (n > 0)
        stack_push(&w->stack, state, size, w->steps, n);
    enum ending ending = worker_ending(w, n);
    if (ending != GOES_ON)
        record(w, ending);
}

static void expand(struct worker *w, const struct frame *popped)
{
    /* Pushing overwrites the popped frame, so what is still needed of it moves here. */
    size_t size = popped->state_size, steps_bytes = popped->n_steps * sizeof(struct step);
    unsigned n = popped->n_steps;
    if (w->from_capacity < size + steps_bytes) {
        w->from_capacity = 2 * (size + steps_bytes);
        w->from = xrealloc(w->from, w->from_capacity);
    }
    memcpy(w->from, popped->state, size);
    memcpy(w->from + size, popped->steps, steps_bytes);
    for (unsigned i = 0; i < n; i++) {
        const struct step *steps = (const struct step *)(void *)(w->from + size);
        enum effect effect = worker_take(w, w->from, size, steps[i]);
        if (effect == EFFECT_FULL)
            halt(w->search, UNSUPPORTED);
        else if (effect == EFFECT_OK)
            arrive(w);
    }
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

/* Waits until there is work again; false when there will be none. The last worker to run out of work ends the search. */
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

static void run_workers(struct search *search, struct worker *workers)
{
    pthread_t *threads = xcalloc(search->jobs, sizeof *threads);
    unsigned started = 1;
    while (started < search->jobs && pthread_create(&threads[started], NULL, work, &workers[started]) == 0)
        started++;
    /* Those that couldn't be had are idle for good. */
    atomic_fetch_add(&search->idle, search->jobs - started);
    work(&workers[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* --- the whole search --- */

void search_start(struct search *search, struct arena *arena, bool reduced, bool symmetric)
{
    search->visited = visited_new(search->jobs > 1);
    search->parts = reduced ? parts_new(search->machine) : NULL;
    search->symmetry = symmetric ? symmetry_new(arena, search->machine, search->query) : NULL;
    pthread_mutex_init(&search->sharing, NULL);
    pthread_cond_init(&search->shared, NULL);
}

void search_end(struct search *search)
{
    pthread_mutex_destroy(&search->sharing);
    pthread_cond_destroy(&search->shared);
    stack_free(&search->pool);
    parts_free(search->parts);
    visited_free(search->visited);
    machine_free(search->machine);
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

static struct result result_of(struct search *search, struct worker *all)
{
    int halted = atomic_load(&search->halted);
    if (search->symmetry && halted != UNSUPPORTED && halted != TOO_CROWDED) {
        all->outcomes = symmetry_close(search, all->outcomes, false);
        all->stuck = symmetry_close(search, all->stuck, true);
        halted = atomic_load(&search->halted);
    }
    struct result result = {
        .states = all->outcomes,
        .completion = (enum completion)halted,
        .why = halted == UNSUPPORTED ? machine_why(search->machine) : NULL,
        .explored = all->stored,
        .stuck = outcomes_count(all->stuck),
        .stuck_known = true,
        .bytes = visited_bytes(search->visited),
    };
    outcomes_free(all->stuck);
    outcomes_sort(result.states);
    return result;
}

static struct result search_all(struct search *search)
{
    struct worker *workers = xcalloc(search->jobs, sizeof *workers);
    for (unsigned i = 0; i < search->jobs; i++)
        worker_start(&workers[i], search);
    enum effect effect = worker_begin(&workers[0]);
    if (effect == EFFECT_OK)
        arrive(&workers[0]);
    else if (effect == EFFECT_FULL)
        halt(search, UNSUPPORTED);
    run_workers(search, workers);
    for (unsigned i = search->jobs; i-- > 0;)
        worker_end(&workers[i], &workers[0]);
    struct result result = result_of(search, &workers[0]);
    free(workers);
    return result;
}

static struct result explore(const struct query *query, bool reduced)
{
    struct search search = {.query = query, .jobs = query->limits.jobs ? query->limits.jobs : 1};
    struct arena *arena = arena_new();
    struct result result = {.completion = UNSUPPORTED, .stuck_known = true};
    search.machine = machine_new(arena, query->program, reduced, &result.why);
    if (search.machine) {
        search.machine->forget_unwaited = reduced && !query->program->tso;
        search_start(&search, arena, reduced, reduced);
        result = search_all(&search);
        search_end(&search);
    } else {
        result.states = outcomes_new(query->n_observables);
    }
    arena_free(arena);
    return result;
}

struct result explore_operational(const struct query *query, const struct operational_options *options)
{
    bool reduced = !options->no_reduction && mutant_chosen() == NO_MUTANT;
    struct result result = explore(query, reduced);
    if ((int)result.completion != TOO_CROWDED)
        return result;
    outcomes_free(result.states);
    return explore(query, false);
}
