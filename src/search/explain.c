/* Finds what explains an outcome: a consistent execution; or, if there is none, the execution with that
 * outcome that comes nearest to consistency (fewest edges that close a cycle, then a cycle through several
 * threads, then the shortest), and its cycle. */
#include "search/explain.h"

#include "base/arena.h"
#include "search/cycle.h"
#include "search/declarative.h"

#include <stdlib.h>

enum { MAX_CANDIDATES = 4096, RELAXED_STEPS = 500000 };

struct finder {
    struct arena *arena;
    struct explanation *out;
    bool (*wanted)(void *, const uint64_t *);
    void *context;
    unsigned fewest, n_observables;
    uint64_t *rows; /* of the candidates */
};

static bool is_wanted(void *context, const uint64_t *row)
{
    struct finder *f = context;
    return f->wanted(f->context, row);
}

static void keep(struct finder *f, const struct partial *p, const uint64_t *row)
{
    const struct execution *x = &p->x;
    struct explanation *out = f->out;
    struct event *events = ARENA_ARRAY(f->arena, struct event, x->n);
    struct edge *edges = ARENA_ARRAY(f->arena, struct edge, x->log->n);
    uint64_t *values = ARENA_ARRAY(f->arena, uint64_t, f->n_observables);
    int *finals = ARENA_ARRAY(f->arena, int, f->n_observables);
    if (x->n)
        memcpy(events, x->events, x->n * sizeof *events);
    if (x->log->n)
        memcpy(edges, x->log->edges, x->log->n * sizeof *edges);
    for (unsigned i = 0; i < f->n_observables; i++) {
        values[i] = row[i];
        finals[i] = p->finals[i];
    }
    out->events = events;
    out->n_events = x->n;
    out->edges = edges;
    out->n_edges = x->log->n;
    out->row = values;
    out->finals = finals;
}

static bool found_witness(void *context, const struct partial *p, const uint64_t *row)
{
    struct finder *f = context;
    f->out->verdict = EXPLAINED_ALLOWED;
    keep(f, p, row);
    return true;
}

/* In a relaxed execution values may go round in a circle; such a candidate says nothing. */
static bool values_known(const struct execution *x)
{
    for (unsigned i = 0; i < x->n; i++)
        if (x->events[i].reads && !x->events[i].read_known)
            return false;
    return true;
}

static bool is_of_one_thread(const struct explanation *e)
{
    for (unsigned i = 1; i < e->n_cycle; i++)
        if (e->events[e->cycle[i].edge.from].thread != e->events[e->cycle[0].edge.from].thread)
            return false;
    return true;
}

/* A cycle within one thread only says that the thread would miss a value of its own; one through several threads is what the
 * test is about. */
static bool tells_more(const struct explanation *a, const struct explanation *b)
{
    bool alone_a = is_of_one_thread(a), alone_b = is_of_one_thread(b);
    return alone_a != alone_b ? alone_b : a->n_cycle < b->n_cycle;
}

static bool found_candidate(void *context, const struct partial *p, const uint64_t *row)
{
    struct finder *f = context;
    struct explanation *out = f->out;
    unsigned refused = p->x.log->refused;
    if (!values_known(&p->x))
        return false;
    memcpy(f->rows + out->candidates++ * f->n_observables, row, f->n_observables * sizeof *row);
    if (!out->cycle || refused <= f->fewest) {
        struct explanation candidate = *out;
        struct finder mine = *f;
        mine.out = &candidate;
        keep(&mine, p, row);
        if (find_cycle(f->arena, &candidate) &&
            (!out->cycle || refused < f->fewest || tells_more(&candidate, out))) {
            *out = candidate;
            out->verdict = EXPLAINED_FORBIDDEN;
            f->fewest = refused;
        }
    }
    return out->candidates >= MAX_CANDIDATES;
}

static void count_rows(const struct finder *f)
{
    struct explanation *out = f->out;
    struct outcomes *rows = outcomes_new(f->n_observables);
    for (uint64_t i = 0; i < out->candidates; i++) {
        const uint64_t *row = f->rows + i * f->n_observables;
        outcomes_add(rows, row);
        out->ways += memcmp(row, out->row, f->n_observables * sizeof *row) == 0;
    }
    out->rows = outcomes_count(rows);
    outcomes_free(rows);
}

static bool run(struct declarative *d, const struct query *query)
{
    const char *why;
    if (!declarative_start(d, query, &why))
        return false;
    declarative_search(d);
    outcomes_free(d->states);
    declarative_end(d);
    return true;
}

struct explanation explain(struct arena *arena, const struct query *query,
                           bool (*wanted)(void *, const uint64_t *row), void *context)
{
    struct explanation out = {.verdict = EXPLAINED_UNKNOWN,
                              .program = query->program,
                              .observables = query->observables,
                              .n_observables = query->n_observables};
    struct finder finder = {.arena = arena,
                            .out = &out,
                            .wanted = wanted,
                            .context = context,
                            .n_observables = query->n_observables};
    struct declarative strict = {
        .wanted = is_wanted, .context = &finder, .found = found_witness, .logged = true};
    if (!run(&strict, query) || out.verdict == EXPLAINED_ALLOWED || strict.completion != DONE)
        return out;
    struct query loose = *query;
    loose.limits.max_states = RELAXED_STEPS;
    finder.rows = ARENA_ARRAY(arena, uint64_t, MAX_CANDIDATES * (size_t)query->n_observables + 1);
    struct declarative relaxed = {
        .wanted = is_wanted, .context = &finder, .found = found_candidate, .logged = true, .relaxed = true};
    run(&relaxed, &loose);
    if (out.verdict == EXPLAINED_FORBIDDEN)
        count_rows(&finder);
    out.all_candidates = relaxed.completion == DONE && out.candidates < MAX_CANDIDATES;
    if (out.verdict == EXPLAINED_UNKNOWN)
        out.verdict =
            out.candidates == 0 && relaxed.completion == DONE ? EXPLAINED_NO_VALUES : EXPLAINED_NO_CYCLE;
    return out;
}
