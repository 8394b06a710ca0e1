/* From a test to its verdict: which engine to ask, what its outcomes say about the test's question, and
 * whether two engines agree (remora-check(1), ENGINES). Never prints. */
#ifndef REMORA_SEARCH_JUDGE_H
#define REMORA_SEARCH_JUDGE_H

#include "litmus/ast.h"
#include "search/engine.h"

struct arena;

enum engine_choice { ENGINE_DEFAULT, ENGINE_DECLARATIVE, ENGINE_OPERATIONAL, ENGINE_BOTH };

struct judge_options {
    enum engine_choice engine;
    bool all_state;
    bool no_reduction;
    double timeout;       /* seconds for the whole test; 0: none */
    struct limits limits; /* the deadline is computed from `timeout` */
};

/* Open: not all outcomes are known, and those that are do not decide. */
enum answer { ANSWER_NO, ANSWER_YES, ANSWER_OPEN };

struct verdict {
    const char *engine; /* the one that decided: declarative, operational, both */
    const struct lm_atom
        *columns; /* what is shown: registers by thread, then locations, each in the order of declaration */
    unsigned n_columns;
    struct outcomes *states; /* rows of n_columns, sorted */
    enum completion completion;
    const char *why; /* completion other than DONE: a few words */
    enum answer holds;
    uint64_t positive, negative; /* states that fulfil the proposition, and those that don't */
    uint64_t stuck;
    bool stuck_known; /* looked for everywhere; if false, `stuck` of them were met */
    uint64_t explored, bytes;
    double seconds;
    bool compared;             /* ENGINE_BOTH, or a comparison */
    bool declarative_complete; /* compared: the allowed states are all known */
    uint64_t implementation;   /* compared: how many of the states the operational engine reached */
    /* compared: states that one engine has and the other one, by the theorems, should have had too; NULL if
     * there are none */
    struct outcomes *only_operational, *only_declarative;
};

struct verdict judge(struct arena *, const struct lm_test *, const struct judge_options *);
void verdict_free(struct verdict *);
/* Why a search did not come to its end, in a few words; NULL if it did. */
const char *completion_words(const struct result *);

static inline bool engines_disagree(const struct verdict *verdict)
{
    return verdict->only_operational || verdict->only_declarative;
}

/* No run is complete: `~exists` and `forall` hold for want of states. */
static inline bool verdict_is_void(const struct verdict *verdict)
{
    return verdict->completion == DONE && outcomes_count(verdict->states) == 0;
}

/* No run is complete, and that is not for want of assumes that hold. */
bool every_run_gets_stuck(const struct lm_test *, const struct verdict *);

#endif
