/* Finds the run that is shown. The libraries' implementations may reach less than their specifications allow,
 * so there need not be one for an allowed outcome; then the next outcome that will do is tried. */
#include "cli/traced.h"

#include "base/arena.h"
#include "base/clock.h"
#include "litmus/litmus.h"
#include "search/condition.h"

enum { MOST_OUTCOMES = 64 };

struct tracer {
    struct arena *arena;
    const struct verdict *verdict;
    struct query query;
    const struct lm_atom *atoms; /* as the query's observables stand */
    unsigned n_atoms;
};

static struct query query_of(const struct compiled *compiled, const struct judge_options *options)
{
    struct query query = {.program = compiled->program,
                          .observables = compiled->observables,
                          .n_observables = compiled->n_observables,
                          .limits = options->limits};
    if (options->timeout > 0)
        query.limits.deadline = now() + options->timeout;
    return query;
}

/* row: in the columns of the verdict. */
static const struct run *find_run(const struct tracer *t, const uint64_t *row)
{
    uint64_t *wanted = ARENA_ARRAY(t->arena, uint64_t, t->n_atoms + 1);
    for (unsigned a = 0; a < t->n_atoms; a++)
        for (unsigned c = 0; c < t->verdict->n_columns; c++)
            if (same_atom(&t->atoms[a], &t->verdict->columns[c]))
                wanted[a] = row[c];
    return run_find(t->arena, &t->query, wanted);
}

static bool is_wanted(const struct lm_test *test, const struct condition *condition, const uint64_t *row)
{
    return test->quantifier == LM_FINAL || condition_holds(condition, row) == (test->quantifier != LM_FORALL);
}

static void try_states(const struct tracer *t, const struct lm_test *test, struct traced *traced)
{
    const struct verdict *v = t->verdict;
    struct condition *condition = condition_prepare(t->arena, test->cond, v->columns, v->n_columns);
    unsigned tried = 0;
    traced->why_none = test->quantifier == LM_FORALL ? "every outcome fulfils the condition"
                                                     : "no outcome fulfils the condition";
    for (size_t i = 0; i < outcomes_count(v->states) && !traced->run && tried < MOST_OUTCOMES; i++) {
        const uint64_t *row = outcomes_row(v->states, i);
        if (!is_wanted(test, condition, row))
            continue;
        tried++;
        traced->run = find_run(t, row);
        traced->outcome = outcome_text(t->arena, test, v, row);
        traced->why_none =
            test->has_libraries
                ? "the libraries' implementations do not reach it, or a limit was reached first"
                : "a limit was reached first";
    }
}

struct traced trace_test(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                         const struct judge_options *options, const struct explained_test *explained)
{
    struct compiled tso = compile_test(arena, test, LEVEL_TSO, options->all_state);
    struct traced traced = {.program = tso.program, .why_none = tso.why};
    if (!tso.program || verdict->completion == INTERRUPTED) {
        traced.why_none = tso.program ? "interrupted" : tso.why;
        return traced;
    }
    struct lm_atom *atoms;
    struct tracer t = {.arena = arena, .verdict = verdict, .query = query_of(&tso, options)};
    t.n_atoms = observed_atoms(arena, test, options->all_state, &atoms);
    t.atoms = atoms;
    if (explained && explained->row && explained->explanation.verdict == EXPLAINED_ALLOWED) {
        traced.run = find_run(&t, explained->row);
        traced.outcome = explained->outcome;
    }
    if (!traced.run)
        try_states(&t, test, &traced);
    return traced;
}

struct traced trace_stuck(struct arena *arena, const struct lm_test *test,
                          const struct judge_options *options)
{
    struct compiled tso = compile_test(arena, test, LEVEL_TSO, options->all_state);
    struct traced traced = {.program = tso.program, .why_none = "a limit was reached first"};
    if (!tso.program)
        return traced;
    struct query query = query_of(&tso, options);
    traced.run = run_find(arena, &query, NULL);
    return traced;
}
