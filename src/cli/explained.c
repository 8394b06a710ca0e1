/* Chooses the outcome of a test to be explained, has it explained, and has the explanation checked before
 * anybody sees it. */
#include "cli/explained.h"

#include "base/arena.h"
#include "base/clock.h"
#include "litmus/litmus.h"
#include "search/condition.h"

#include <inttypes.h>
#include <string.h>

struct question {
    const struct condition *condition;
    enum lm_quantifier quantifier;
};

static bool is_wanted(void *context, const uint64_t *row)
{
    const struct question *q = context;
    return q->quantifier == LM_FINAL || condition_holds(q->condition, row) == (q->quantifier != LM_FORALL);
}

/* In the order of the states that are printed. */
static const uint64_t *in_columns(struct arena *arena, const struct verdict *verdict,
                                  const struct lm_atom *atoms, unsigned n_atoms, const uint64_t *row)
{
    uint64_t *values = ARENA_ARRAY(arena, uint64_t, verdict->n_columns + 1);
    for (unsigned c = 0; c < verdict->n_columns; c++)
        for (unsigned a = 0; a < n_atoms; a++)
            if (same_atom(&verdict->columns[c], &atoms[a]))
                values[c] = row[a];
    return values;
}

const char *outcome_text(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                         const uint64_t *row)
{
    const char *text = "";
    for (unsigned c = 0; c < verdict->n_columns; c++)
        text = arena_printf(arena, "%s%s%s=%" PRId64 ";", text, c ? " " : "",
                            lm_print_atom(arena, test, &verdict->columns[c]), (int64_t)row[c]);
    return text;
}

/* What outcomes are looked for: the condition without its quantifier. */
static const char *proposition_text(struct arena *arena, const struct lm_test *test)
{
    const char *text = lm_print_cond(arena, test), *proposition = strchr(text, '(');
    if (!proposition)
        return text;
    return test->quantifier == LM_FORALL ? arena_printf(arena, "~%s", proposition) : proposition;
}

static const char *model_name(const struct lm_test *test)
{
    return test->arch == LM_RDMA_TSO ? "RDMA-TSO"
           : test->has_libraries     ? "RDMA-WAIT and the library specifications"
                                     : "RDMA-WAIT";
}

static const char *verdict_text(struct arena *arena, const struct lm_test *test, const struct explanation *e)
{
    switch (e->verdict) {
    case EXPLAINED_ALLOWED:
        return arena_printf(arena, "Can happen under %s", model_name(test));
    case EXPLAINED_UNKNOWN:
        return "Not explained: a limit was reached first";
    default:
        return arena_printf(arena, "Cannot happen under %s", model_name(test));
    }
}

/* What the test's own verdict, which stands above, says of an outcome that can happen, and what not. */
static const char *note_on_allowed(struct arena *arena, const struct lm_test *test,
                                   const struct verdict *verdict)
{
    if (test->quantifier == LM_FINAL)
        return "(The test asks for nothing; this is one of its outcomes.)";
    if (test->quantifier == LM_EXISTS && verdict->holds == ANSWER_YES)
        return verdict->negative || verdict->completion != DONE
                   ? "(\"Ok\" above means only that the condition is met, not that the program is right.)"
                   : "(\"Ok\" above means only that the condition is met. Every outcome meets it; "
                     "this is one of them.)";
    if (test->quantifier == LM_EXISTS || verdict->holds != ANSWER_NO)
        return NULL;
    return test->quantifier == LM_FORALL
               ? arena_printf(arena, "(It breaks %s: hence \"No\" above.)", lm_print_cond(arena, test))
               : "(The test says that it must not happen: hence \"No\" above.)";
}

static const char *note_on_forbidden(struct arena *arena, const struct lm_test *test,
                                     const struct verdict *verdict, const struct explanation *e)
{
    bool others = e->rows > 1;
    if (test->quantifier == LM_FORALL)
        return arena_printf(
            arena, "(An outcome that would break %s: it cannot happen.%s)", lm_print_cond(arena, test),
            others ? " No other such outcome can happen either; it is explained for this one." : "");
    const char *asked = test->quantifier == LM_EXISTS && verdict->holds == ANSWER_NO
                            ? "The test asks for it: hence \"No\" above."
                            : "";
    if (!others)
        return *asked ? arena_printf(arena, "(%s)", asked) : NULL;
    return arena_printf(
        arena,
        "(%s%sNo other outcome that meets the condition can happen either; it is explained for "
        "this one.)",
        asked, *asked ? " " : "");
}

static const char *note_on(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                           const struct explanation *e)
{
    switch (e->verdict) {
    case EXPLAINED_ALLOWED:
        return note_on_allowed(arena, test, verdict);
    case EXPLAINED_FORBIDDEN:
        return note_on_forbidden(arena, test, verdict, e);
    case EXPLAINED_NO_VALUES:
        if (test->cond->kind == LM_C_TRUE || test->cond->kind == LM_C_FALSE)
            return "(The condition is the same whatever happens: it asks about no outcome.)";
        if (every_run_gets_stuck(test, verdict))
            return NULL; /* as is told besides */
        return verdict_is_void(verdict)
                   ? "(No run comes to its end: each gets stuck or fails an assume.)"
                   : "(However the threads run, the values never come out like this: a value can be read "
                     "only after it is written.)";
    case EXPLAINED_NO_CYCLE:
        return "(A limit was reached before the contradiction was found that would show why.)";
    default:
        return NULL;
    }
}

struct explained_test explain_test(struct arena *arena, const struct lm_test *test,
                                   const struct verdict *verdict, const struct judge_options *options)
{
    struct lm_atom *atoms;
    unsigned n_atoms = observed_atoms(arena, test, options->all_state, &atoms);
    struct compiled client = compile_test(arena, test, LEVEL_CLIENT, options->all_state);
    struct explained_test out = {.outcome = proposition_text(arena, test)};
    out.explanation.verdict = EXPLAINED_UNKNOWN;
    out.verdict = client.program ? "Not explained: interrupted" : client.why;
    if (!client.program || verdict->completion == INTERRUPTED)
        return out;
    struct query query = {.program = client.program,
                          .observables = client.observables,
                          .n_observables = client.n_observables,
                          .limits = options->limits};
    if (options->timeout > 0)
        query.limits.deadline = now() + options->timeout;
    struct question question = {condition_prepare(arena, test->cond, atoms, n_atoms), test->quantifier};
    out.explanation = explain(arena, &query, is_wanted, &question);
    out.fault = explanation_check(arena, &out.explanation);
    out.verdict = verdict_text(arena, test, &out.explanation);
    out.note = n_atoms ? note_on(arena, test, verdict, &out.explanation) : NULL;
    if (!out.explanation.row)
        return out;
    out.row = in_columns(arena, verdict, atoms, n_atoms, out.explanation.row);
    out.outcome = outcome_text(arena, test, verdict, out.row);
    return out;
}
