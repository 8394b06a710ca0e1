/* Finding one run (run.h): the reduced search again, depth first, with its path kept; then the run is
 * smoothed, replayed by the plain rules, and described. */
#include "base/arena.h"
#include "model/machine_print.h"
#include "search/operational.h"
#include "search/origins.h"
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

/* Whether the worker's state ends a run of the kind that is looked for. */
static bool wanted(struct hunt *hunt, unsigned n)
{
    struct worker *w = &hunt->worker;
    enum ending ending = worker_ending(w, n);
    if (!hunt->row || ending != COMPLETE)
        return !hunt->row && ending == STUCK;
    unsigned observables = hunt->search.query->n_observables;
    worker_observe(w, w->row);
    return observables == 0 || memcmp(w->row, hunt->row, observables * sizeof *w->row) == 0;
}

/* Steps of the thread that was last at work are tried first. */
static void prefer(struct hunt *hunt, struct step *steps, unsigned n)
{
    const struct log *log = &hunt->worker.log.steps;
    for (unsigned i = 0, front = 0; i < n && log->n; i++)
        if (steps[i].thread == log->steps[log->n - 1].thread) {
            struct step step = steps[i];
            memmove(steps + front + 1, steps + front, (i - front) * sizeof *steps);
            steps[front++] = step;
        }
}

static void arrive(struct hunt *hunt)
{
    struct worker *w = &hunt->worker;
    unsigned n;
    struct fingerprint print;
    if (worker_steps(w, &n, &print) != EFFECT_OK || !visited_add(hunt->search.visited, print))
        return;
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
    *stage = (struct stage){.n_steps = n, .path = w->log.steps.n};
    const uint8_t *state = worker_state(w, &stage->size);
    stage->state = xmalloc(stage->size);
    stage->steps = xmalloc(n * sizeof *stage->steps);
    memcpy(stage->state, state, stage->size);
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
    w->log.on = true;
    if (worker_begin(w) == EFFECT_OK)
        arrive(hunt);
    while (hunt->n_stages && !hunt->found && atomic_load(&hunt->search.halted) == DONE) {
        struct stage *stage = &hunt->stages[hunt->n_stages - 1];
        if (stage->next == stage->n_steps) {
            pop(hunt);
            continue;
        }
        w->log.steps.n = stage->path;
        if (worker_take(w, stage->state, stage->size, stage->steps[stage->next++]) == EFFECT_OK)
            arrive(hunt);
    }
    while (hunt->n_stages)
        pop(hunt);
    free(hunt->stages);
}

/* The moves of the reduced search as single steps, those that it took at once included. */
static struct log single_steps(struct machine *m, const struct log *moves)
{
    struct log log = {0};
    struct packed packed = {.machine = m, .log = &log};
    packed_reserve(&packed, machine_first_size(m));
    enum effect effect = machine_first(m, packed.state);
    for (unsigned t = 0; t < m->n_threads && effect == EFFECT_OK; t++)
        effect = packed_take_eager(&packed, t);
    for (size_t i = 0; i < moves->n && effect == EFFECT_OK; i++) {
        effect = packed_take_whole(&packed, moves->steps[i]);
        if (effect == EFFECT_OK)
            effect = packed_take_eager(&packed, moves->steps[i].thread);
    }
    packed_free(&packed);
    return log;
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

/* Judged once more, on the state that the plain rules lead to. */
static bool ends_as_wanted(struct hunt *hunt, const struct film *film)
{
    struct machine *m = film->machine;
    const uint8_t *end = film->states[film->n_steps];
    struct search search = {.query = hunt->search.query, .machine = m};
    struct worker w = {0};
    struct hunt again = {.search = search, .row = hunt->row};
    worker_start(&w, &search);
    packed_reserve(&w.packed, state_size(m, end));
    memcpy(w.packed.state, end, state_size(m, end));
    unsigned n;
    struct fingerprint print;
    again.worker = w;
    bool right = worker_steps(&again.worker, &n, &print) == EFFECT_OK && wanted(&again, n);
    outcomes_free(again.worker.outcomes);
    outcomes_free(again.worker.stuck);
    worker_free(&again.worker);
    return right;
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

/* The operation behind a step. */
static uint32_t origin_of(struct origins *origins, const uint8_t *before, const uint8_t *next,
                          struct step step)
{
    const struct local *local = local_of(origins->machine, before, step.thread);
    uint32_t origin = origins_follow(origins, before, next, step, local->where);
    return step.rule == RULE_CPU ? local->where : origin;
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
            .where = origin_of(&origins, film->states[i], film->states[i + 1], step),
            .text = text_of(arena, m, film->states[i], &step),
            .state = text_of(arena, m, film->states[i + 1], NULL),
        };
    }
    origins_free(&origins);
    return run;
}

static struct run *film_and_tell(struct arena *arena, struct hunt *hunt)
{
    struct machine *m = hunt->search.machine;
    struct log *log = &hunt->worker.log.steps, single = {0};
    if (hunt->search.parts)
        single = single_steps(m, log);
    struct film film = {.machine = m,
                        .steps = hunt->search.parts ? single.steps : log->steps,
                        .n_steps = hunt->search.parts ? single.n : log->n};
    struct run *run = NULL;
    if (replay(&film)) {
        smooth(&film);
        if (ends_as_wanted(hunt, &film))
            run = tell(arena, &film, !hunt->row);
    }
    for (size_t i = 0; i <= film.n_steps; i++)
        free(film.states[i]);
    free(film.states);
    free(single.steps);
    return run;
}

static const struct run *find(struct arena *arena, const struct query *query, const uint64_t *row,
                              bool reduced, bool *crowded)
{
    struct hunt hunt = {.search = {.query = query, .jobs = 1}, .row = row};
    const char *why;
    struct arena *own = arena_new();
    struct run *run = NULL;
    hunt.search.machine = machine_new(own, query->program, false, &why);
    if (hunt.search.machine) {
        search_start(&hunt.search, own, reduced, false);
        worker_start(&hunt.worker, &hunt.search);
        hunt_down(&hunt);
        *crowded = atomic_load(&hunt.search.halted) == TOO_CROWDED;
        if (hunt.found)
            run = film_and_tell(arena, &hunt);
        outcomes_free(hunt.worker.outcomes);
        outcomes_free(hunt.worker.stuck);
        worker_free(&hunt.worker);
        search_end(&hunt.search);
    }
    arena_free(own);
    return run;
}

const struct run *run_find(struct arena *arena, const struct query *query, const uint64_t *row)
{
    bool crowded = false;
    const struct run *run = find(arena, query, row, mutant_chosen() == NO_MUTANT, &crowded);
    return crowded ? find(arena, query, row, false, &crowded) : run;
}
