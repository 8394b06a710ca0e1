/* From a test to its verdict (remora-check(1), ENGINES). The engines answer in the columns
 * that compile_test chose; here they are put in herd's order and the question is asked of each row. */
#include "search/judge.h"

#include "base/arena.h"
#include "base/clock.h"
#include "search/condition.h"
#include "search/portfolio.h"
#include "search/stuck.h"

#include <stdlib.h>

/* In the default mode an RDMA_WAIT test is decided by the declarative engine, which knows nothing of stuck
 * runs. So many states of the operational one are looked at besides, to find them. */
enum { STUCK_BUDGET = 200000 };

/* One question, ready for both engines. */
struct question {
    struct arena *arena;
    const struct lm_test *test;
    const struct judge_options *options;
    struct limits limits;
    const struct lm_atom *atoms; /* as the engines' columns stand */
    unsigned n_atoms;
};

const char *completion_words(const struct result *result)
{
    switch (result->completion) {
    case DONE:
        return NULL;
    case LIMIT_STATES:
        return "state limit reached";
    case LIMIT_TIME:
        return "time limit reached";
    case LIMIT_MEMORY:
        return "memory limit reached";
    case INTERRUPTED:
        return "interrupted";
    case UNSUPPORTED:
        return result->why ? result->why : "too large for this engine";
    }
    abort();
}

static struct query query_of(const struct question *q, const struct compiled *compiled)
{
    return (struct query){.program = compiled->program,
                          .observables = compiled->observables,
                          .n_observables = compiled->n_observables,
                          .limits = q->limits};
}

static struct result unsupported(const struct question *q, const char *why)
{
    return (struct result){.states = outcomes_new(q->n_atoms), .completion = UNSUPPORTED, .why = why};
}

static struct operational_options operational_options(const struct question *q)
{
    return (struct operational_options){.no_reduction = q->options->no_reduction};
}

static struct result ask_operational(const struct question *q, uint64_t budget)
{
    struct compiled tso = compile_test(q->arena, q->test, LEVEL_TSO, q->options->all_state);
    if (!tso.program)
        return unsupported(q, tso.why);
    struct query query = query_of(q, &tso);
    if (budget && (!query.limits.max_states || query.limits.max_states > budget))
        query.limits.max_states = budget;
    struct operational_options options = operational_options(q);
    return explore_operational(&query, &options);
}

static struct result ask_declarative(const struct question *q)
{
    struct compiled client = compile_test(q->arena, q->test, LEVEL_CLIENT, q->options->all_state);
    if (!client.program)
        return unsupported(q, client.why);
    struct query query = query_of(q, &client);
    return explore_declarative(&query);
}

static struct result ask_fastest(const struct question *q, enum decider *decider)
{
    struct compiled tso = compile_test(q->arena, q->test, LEVEL_TSO, q->options->all_state);
    struct compiled client = compile_test(q->arena, q->test, LEVEL_CLIENT, q->options->all_state);
    *decider = BY_OPERATIONAL;
    if (!tso.program)
        return unsupported(q, tso.why);
    if (!client.program || test_can_get_stuck(q->test))
        return ask_operational(q, 0);
    struct query operational = query_of(q, &tso), declarative = query_of(q, &client);
    struct operational_options options = operational_options(q);
    return explore_fastest(&operational, &declarative, &options, decider);
}

static void take(struct verdict *v, const char *engine, const struct result *result)
{
    v->engine = engine;
    v->states = result->states;
    v->completion = result->completion;
    v->why = completion_words(result);
    v->explored = result->explored;
    v->bytes = result->bytes;
    v->stuck = result->stuck;
    v->stuck_known = result->stuck_known && result->completion == DONE;
}

static void look_for_stuck_runs(const struct question *q, struct verdict *v)
{
    if (!test_can_get_stuck(q->test)) {
        v->stuck_known = true;
        return;
    }
    struct result result = ask_operational(q, STUCK_BUDGET);
    v->stuck = result.stuck;
    v->stuck_known = result.stuck_known && result.completion == DONE;
    outcomes_free(result.states);
}

static void judge_by_default(const struct question *q, struct verdict *v)
{
    struct result result;
    if (q->test->arch == LM_RDMA_WAIT) {
        result = ask_declarative(q);
        take(v, "declarative", &result);
        if (v->completion != INTERRUPTED && v->completion != UNSUPPORTED)
            look_for_stuck_runs(q, v);
        return;
    }
    enum decider decider;
    result = ask_fastest(q, &decider);
    take(v, decider == BY_OPERATIONAL ? "operational" : "declarative", &result);
    if (!test_can_get_stuck(q->test))
        v->stuck_known = true;
}

/* The rows of `a` that are not in `b`, or NULL if there are none. */
static struct outcomes *missing(const struct outcomes *a, const struct outcomes *b, unsigned n)
{
    struct outcomes *rows = NULL;
    for (size_t i = 0; i < outcomes_count(a); i++) {
        const uint64_t *row = outcomes_row(a, i);
        if (outcomes_has(b, row))
            continue;
        if (!rows)
            rows = outcomes_new(n);
        outcomes_add(rows, row);
    }
    return rows;
}

/* An engine that was stopped early still tells the truth about the outcomes that it has; only an engine that
 * has finished can be said to lack one. */
static void judge_by_both(const struct question *q, struct verdict *v)
{
    struct result declarative = ask_declarative(q);
    struct result operational = {.completion = INTERRUPTED};
    if (declarative.completion != INTERRUPTED)
        operational = ask_operational(q, 0);
    if (!operational.states)
        operational.states = outcomes_new(q->n_atoms);
    take(v, "both", &declarative);
    v->compared = true;
    v->explored += operational.explored;
    v->bytes += operational.bytes;
    v->stuck = operational.stuck;
    v->stuck_known = operational.stuck_known && operational.completion == DONE;
    if (declarative.completion == DONE) {
        v->declarative_complete = true;
        v->only_operational = missing(operational.states, declarative.states, q->n_atoms);
        v->completion = operational.completion;
        v->why = completion_words(&operational);
    }
    if (operational.completion == DONE && q->test->arch == LM_RDMA_TSO)
        v->only_declarative = missing(declarative.states, operational.states, q->n_atoms);
    for (size_t i = 0; i < outcomes_count(operational.states); i++)
        v->implementation += outcomes_has(declarative.states, outcomes_row(operational.states, i));
    outcomes_free(operational.states);
}

/* herd's order: registers by thread, then locations. */
static int compare_atoms(const void *left, const void *right)
{
    const struct lm_atom *a = *(const struct lm_atom *const *)left,
                         *b = *(const struct lm_atom *const *)right;
    if (a->is_reg != b->is_reg)
        return a->is_reg ? -1 : 1;
    if (a->is_reg && a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->is_reg)
        return a->reg < b->reg ? -1 : a->reg > b->reg;
    if (a->decl != b->decl)
        return a->decl->index < b->decl->index ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static struct outcomes *permuted(struct outcomes *states, const unsigned *from, unsigned n)
{
    if (!states)
        return NULL;
    struct outcomes *result = outcomes_new(n);
    uint64_t *row = xcalloc(n, sizeof *row);
    for (size_t i = 0; i < outcomes_count(states); i++) {
        for (unsigned c = 0; c < n; c++)
            row[c] = outcomes_row(states, i)[from[c]];
        outcomes_add(result, row);
    }
    free(row);
    outcomes_free(states);
    outcomes_sort(result);
    return result;
}

static void put_in_order(const struct question *q, struct verdict *v)
{
    unsigned n = q->n_atoms;
    const struct lm_atom **order = ARENA_ARRAY(q->arena, const struct lm_atom *, n);
    struct lm_atom *columns = ARENA_ARRAY(q->arena, struct lm_atom, n);
    unsigned *from = ARENA_ARRAY(q->arena, unsigned, n);
    for (unsigned i = 0; i < n; i++)
        order[i] = &q->atoms[i];
    if (n)
        qsort(order, n, sizeof *order, compare_atoms);
    for (unsigned i = 0; i < n; i++) {
        columns[i] = *order[i];
        from[i] = (unsigned)(order[i] - q->atoms);
    }
    v->columns = columns;
    v->n_columns = n;
    v->states = permuted(v->states, from, n);
    v->only_operational = permuted(v->only_operational, from, n);
    v->only_declarative = permuted(v->only_declarative, from, n);
}

/* Of an incomplete set of outcomes, one that decides the question still does. */
static enum answer answer(enum lm_quantifier quantifier, const struct verdict *v)
{
    bool complete = v->completion == DONE;
    switch (quantifier) {
    case LM_EXISTS:
        return v->positive ? ANSWER_YES : complete ? ANSWER_NO : ANSWER_OPEN;
    case LM_NOT_EXISTS:
        return v->positive ? ANSWER_NO : complete ? ANSWER_YES : ANSWER_OPEN;
    case LM_FORALL:
        return v->negative ? ANSWER_NO : complete ? ANSWER_YES : ANSWER_OPEN;
    case LM_FINAL:
        return ANSWER_YES;
    }
    abort();
}

static void ask_condition(const struct question *q, struct verdict *v)
{
    struct condition *condition = condition_prepare(q->arena, q->test->cond, v->columns, v->n_columns);
    for (size_t i = 0; i < outcomes_count(v->states); i++)
        if (condition_holds(condition, outcomes_row(v->states, i)))
            v->positive++;
    v->negative = outcomes_count(v->states) - v->positive;
    v->holds = answer(q->test->quantifier, v);
}

struct verdict judge(struct arena *arena, const struct lm_test *test, const struct judge_options *options)
{
    double start = now();
    struct question q = {.arena = arena, .test = test, .options = options, .limits = options->limits};
    struct lm_atom *atoms;
    q.n_atoms = observed_atoms(arena, test, options->all_state, &atoms);
    q.atoms = atoms;
    if (options->timeout > 0)
        q.limits.deadline = start + options->timeout;
    struct verdict v = {0};
    struct result result;
    switch (options->engine) {
    case ENGINE_DEFAULT:
        judge_by_default(&q, &v);
        break;
    case ENGINE_DECLARATIVE:
        result = ask_declarative(&q);
        take(&v, "declarative", &result);
        break;
    case ENGINE_OPERATIONAL:
        result = ask_operational(&q, 0);
        take(&v, "operational", &result);
        break;
    case ENGINE_BOTH:
        judge_by_both(&q, &v);
        break;
    }
    if (!v.states)
        v.states = outcomes_new(q.n_atoms);
    put_in_order(&q, &v);
    ask_condition(&q, &v);
    v.seconds = now() - start;
    return v;
}

void verdict_free(struct verdict *v)
{
    outcomes_free(v->states);
    outcomes_free(v->only_operational);
    outcomes_free(v->only_declarative);
}

bool every_run_gets_stuck(const struct lm_test *test, const struct verdict *verdict)
{
    return verdict_is_void(verdict) && verdict->stuck && !test_can_drop(test);
}
