/* Finding one run (run.h): the reduced search again, depth first, with its path kept; then the run is
 * smoothed, replayed by the plain rules, and described. */
#include "base/arena.h"
#include "model/machine_print.h"
#include "search/operational.h"
#include "search/run.h"

#include <stdlib.h>

_Static_assert((int)RUN_CPU == (int)RULE_CPU && (int)RUN_FLUSH == (int)RULE_FLUSH,
               "the rules are numbered alike");

const char *run_rule_name(unsigned rule)
{
    return rule_name((enum rule)rule);
}

/* --- the search --- */

struct stage {
    uint8_t *state;
    struct step *steps;
    unsigned n_steps, next;
    size_t size, path; /* steps taken up to here */
};

struct hunt {
    struct search search;
    struct worker worker;
    const uint64_t *row;
    struct stage *stages;
    size_t n_stages, capacity;
    bool found;
};

static bool wanted(struct hunt *hunt, unsigned n)
{
    struct worker *w = &hunt->worker;
    struct machine *m = hunt->search.machine;
    const struct query *query = hunt->search.query;
    bool complete = n == 0 && machine_complete(m, w->state);
    if (!hunt->row)
        return (n == 0 && !complete) || (only_spins(m, w->state, w->steps, n) && spinners_stuck(m, w->state));
    if (!complete)
        return false;
    observe_state(m, w->state, query, w->row);
    return query->n_observables == 0 || memcmp(w->row, hunt->row, query->n_observables * sizeof *w->row) == 0;
}

/* Steps of the thread that was last at work are tried first. */
static void prefer(struct hunt *hunt, struct step *steps, unsigned n)
{
    const struct log *log = &hunt->worker.log;
    for (unsigned i = 0, front = 0; i < n && log->n; i++)
        if (steps[i].thread == log->steps[log->n - 1].thread) {
            struct step step = steps[i];
            memmove(steps + front + 1, steps + front, (i - front) * sizeof *steps);
            steps[front++] = step;
        }
}

static void arrive(struct hunt *hunt, uint64_t threads)
{
    struct worker *w = &hunt->worker;
    unsigned n;
    struct fingerprint print;
    if (choose_steps(w, threads, &n, &print) != EFFECT_OK || !visited_add(hunt->search.visited, print))
        return;
    size_t size = state_size(hunt->search.machine, w->state);
    if (wanted(hunt, n)) {
        hunt->found = true;
        return;
    }
    worker_count(w);
    if (n == 0)
        return;
    if (hunt->n_stages == hunt->capacity) {
        hunt->capacity = hunt->capacity ? 2 * hunt->capacity : 64;
        hunt->stages = xrealloc(hunt->stages, hunt->capacity * sizeof *hunt->stages);
    }
    struct stage *stage = &hunt->stages[hunt->n_stages++];
    *stage = (struct stage){.state = xmalloc(size),
                            .steps = xmalloc(n * sizeof *stage->steps),
                            .n_steps = n,
                            .size = size,
                            .path = w->log.n};
    memcpy(stage->state, w->state, size);
    memcpy(stage->steps, w->steps, n * sizeof *stage->steps);
    prefer(hunt, stage->steps, n);
}

static void pop(struct hunt *hunt)
{
    struct stage *stage = &hunt->stages[--hunt->n_stages];
    free(stage->state);
    free(stage->steps);
}

static void hunt_down(struct hunt *hunt)
{
    struct worker *w = &hunt->worker;
    if (machine_first(hunt->search.machine, w->state) == EFFECT_OK)
        arrive(hunt, ALL_THREADS >> (64 - hunt->search.machine->n_threads));
    while (hunt->n_stages && !hunt->found && atomic_load(&hunt->search.halted) == DONE) {
        struct stage *stage = &hunt->stages[hunt->n_stages - 1];
        if (stage->next == stage->n_steps) {
            pop(hunt);
            continue;
        }
        worker_reserve(w, stage->size);
        memcpy(w->state, stage->state, stage->size);
        w->log.n = stage->path;
        struct step step = stage->steps[stage->next++];
        if (take(w, step) == EFFECT_OK)
            arrive(hunt, UINT64_C(1) << step.thread);
    }
    while (hunt->n_stages)
        pop(hunt);
    free(hunt->stages);
}

/* --- the run --- */

/* All states of a run, one after each step, the first one before it. */
struct film {
    struct machine *machine;
    struct step *steps;
    size_t n_steps;
    uint8_t **states;
};

static bool is_enabled(const struct machine *m, const uint8_t *state, struct step step)
{
    struct step *steps = xmalloc((machine_steps_bound(m, state) + 1) * sizeof *steps);
    unsigned n = machine_steps(m, state, steps), i = 0;
    while (i < n && memcmp(&steps[i], &step, sizeof step) != 0)
        i++;
    free(steps);
    return i < n;
}

/* A fresh state: the one after the step; NULL if the plain rules don't allow it. */
static uint8_t *after(struct machine *m, const uint8_t *state, struct step step)
{
    if (!is_enabled(m, state, step))
        return NULL;
    size_t size = state_size(m, state);
    uint8_t *next = xmalloc(size + STEP_GROWTH);
    memcpy(next, state, size);
    if (machine_apply(m, next, step) == EFFECT_OK)
        return next;
    free(next);
    return NULL;
}

static bool replay(struct film *film)
{
    struct machine *m = film->machine;
    film->states = xcalloc(film->n_steps + 1, sizeof *film->states);
    film->states[0] = xmalloc(machine_first_size(m) + STEP_GROWTH);
    if (machine_first(m, film->states[0]) != EFFECT_OK)
        return false;
    for (size_t i = 0; i < film->n_steps; i++)
        if (!(film->states[i + 1] = after(m, film->states[i], film->steps[i])))
            return false;
    return true;
}

/* Exchanges steps i and i + 1 if that leads to the same state. */
static bool exchange(struct film *film, size_t i)
{
    struct machine *m = film->machine;
    struct step a = film->steps[i], b = film->steps[i + 1];
    uint8_t *middle = after(m, film->states[i], b), *end = middle ? after(m, middle, a) : NULL;
    size_t size = state_size(m, film->states[i + 2]);
    bool same = end && state_size(m, end) == size && memcmp(end, film->states[i + 2], size) == 0;
    free(end);
    if (!same) {
        free(middle);
        return false;
    }
    free(film->states[i + 1]);
    film->states[i + 1] = middle;
    film->steps[i] = b;
    film->steps[i + 1] = a;
    return true;
}

/* Draws steps of a thread together, so that a reader has to follow fewer changes from one to another. */
static void smooth(struct film *film)
{
    enum { WINDOW = 40 };
    for (size_t i = 1; i < film->n_steps; i++) {
        unsigned thread = film->steps[i - 1].thread;
        for (size_t j = i; j < film->n_steps && j < i + WINDOW; j++) {
            if (film->steps[j].thread != thread)
                continue;
            size_t k = j;
            while (k > i && film->steps[k - 1].thread != thread && exchange(film, k - 1))
                k--;
            if (k == i)
                break;
        }
    }
}

static bool ends_as_wanted(struct hunt *hunt, const struct film *film)
{
    struct machine *m = film->machine;
    struct worker *w = &hunt->worker;
    const uint8_t *end = film->states[film->n_steps];
    worker_reserve(w, state_size(m, end));
    memcpy(w->state, end, state_size(m, end));
    return wanted(hunt, machine_steps(m, w->state, w->steps));
}

/* --- what each step belongs to --- */

/* Mirrors the FIFOs of a state: for each entry, the operation it comes from. */
struct origins {
    const struct machine *machine;
    uint32_t *of; /* like the entries */
    size_t n;
};

static void origin_insert(struct origins *origins, size_t at, uint32_t where)
{
    origins->of = xrealloc(origins->of, (origins->n + 1) * sizeof *origins->of);
    memmove(origins->of + at + 1, origins->of + at, (origins->n - at) * sizeof *origins->of);
    origins->of[at] = where;
    origins->n++;
}

static uint32_t origin_remove(struct origins *origins, size_t at)
{
    uint32_t where = origins->of[at];
    memmove(origins->of + at, origins->of + at + 1, (origins->n - at - 1) * sizeof *origins->of);
    origins->n--;
    return where;
}

static uint32_t cpu_origin(struct origins *origins, const uint8_t *before, const uint8_t *next, unsigned t)
{
    const struct machine *m = origins->machine;
    const struct local *local = local_of(m, before, t);
    const uint16_t *old = get_ends(m, before), *new = get_ends(m, next);
    for (unsigned f = 0; f < m->n_fifos; f++) {
        if (new[f + 1] > old[f + 1]) {
            origin_insert(origins, old[f + 1], local->where);
            break;
        }
        if (new[f + 1] < old[f + 1]) {
            origin_remove(origins, old[f]);
            break;
        }
    }
    return local->where;
}

/* The operation behind a step; the mirror follows it. */
static uint32_t origin(struct origins *origins, const uint8_t *before, const uint8_t *next, struct step step)
{
    const struct machine *m = origins->machine;
    if (step.rule == RULE_CPU)
        return cpu_origin(origins, before, next, step.thread);
    const uint16_t *old = get_ends(m, before), *new = get_ends(m, next);
    if (step.rule == RULE_FLUSH) {
        size_t at = buffer_of(m, before, step.thread)[0] + step.at;
        entry_t entry = get_entries(m, before)[at];
        uint32_t where = origin_remove(origins, at);
        if (entry_kind(entry) != E_STORE)
            origin_insert(
                origins, new[m->qps[m->qp_of[step.thread * m->n_nodes + entry_node(m, entry)]].fifo + 1] - 1u,
                where);
        return where;
    }
    unsigned fifo = m->qps[step.qp].fifo;
    size_t at = old[fifo + rule_fifo(step.rule)] + (size_t)step.at;
    uint32_t where = origins->of[at];
    if (new[fifo + WBR] - new[fifo] < old[fifo + WBR] - old[fifo] || rule_fifo(step.rule) != PIPE)
        origin_remove(origins, at);
    else if (new[fifo + WBR] - new[fifo] > old[fifo + WBR] - old[fifo])
        origin_insert(origins, at, where);
    for (unsigned wb = WBR; wb <= WBL; wb++)
        for (unsigned k = (unsigned)(old[fifo + wb + 1] - old[fifo + wb]);
             k < (unsigned)(new[fifo + wb + 1] - new[fifo + wb]); k++)
            origin_insert(origins, new[fifo + wb] + (size_t)k, where);
    return where;
}

/* --- telling it --- */

static char *text_of(struct arena *arena, const struct machine *m, const uint8_t *state,
                     const struct step *step)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        out_of_memory();
    if (step)
        print_step(out, m, state, *step);
    else
        print_state(out, m, state);
    if (fclose(out) != 0)
        out_of_memory();
    char *copy = arena_strndup(arena, text, length);
    free(text);
    return copy;
}

static struct run *tell(struct arena *arena, const struct film *film, bool stuck)
{
    const struct machine *m = film->machine;
    struct run *run = ARENA_NEW(arena, struct run);
    struct origins origins = {.machine = m};
    run->stuck = stuck;
    run->n_steps = (unsigned)film->n_steps;
    run->steps = ARENA_ARRAY(arena, struct run_step, film->n_steps);
    run->start = text_of(arena, m, film->states[0], NULL);
    for (size_t i = 0; i < film->n_steps; i++) {
        struct step step = film->steps[i];
        run->steps[i] = (struct run_step){
            .rule = step.rule,
            .thread = step.thread,
            .node = step.qp == NO_QP ? 0 : m->qps[step.qp].node,
            .where = origin(&origins, film->states[i], film->states[i + 1], step),
            .text = text_of(arena, m, film->states[i], &step),
            .state = text_of(arena, m, film->states[i + 1], NULL),
        };
    }
    free(origins.of);
    return run;
}

static struct run *film_and_tell(struct arena *arena, struct hunt *hunt)
{
    struct log *log = &hunt->worker.log;
    struct film film = {.machine = hunt->search.machine, .steps = log->steps, .n_steps = log->n};
    struct run *run = NULL;
    log->on = false;
    if (replay(&film)) {
        smooth(&film);
        if (ends_as_wanted(hunt, &film))
            run = tell(arena, &film, !hunt->row);
    }
    for (size_t i = 0; i <= film.n_steps; i++)
        free(film.states[i]);
    free(film.states);
    return run;
}

const struct run *run_find(struct arena *arena, const struct query *query, const uint64_t *row)
{
    struct hunt hunt = {.search = {.query = query, .jobs = 1}, .row = row};
    const char *why;
    struct arena *own = arena_new();
    hunt.search.machine = machine_new(own, query->program, false, &why);
    struct run *run = NULL;
    if (hunt.search.machine) {
        hunt.search.reduced = hunt.search.machine->mutant == NO_MUTANT;
        hunt.search.visited = visited_new(false);
        worker_start(&hunt.worker, &hunt.search);
        hunt.worker.log.on = true;
        hunt_down(&hunt);
        if (hunt.found)
            run = film_and_tell(arena, &hunt);
        outcomes_free(hunt.worker.outcomes);
        outcomes_free(hunt.worker.stuck);
        worker_free(&hunt.worker);
        visited_free(hunt.search.visited);
        machine_free(hunt.search.machine);
    }
    arena_free(own);
    return run;
}
