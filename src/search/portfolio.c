/* The default engine for RDMA_TSO: neither engine is the faster one for all tests. The operational one meets
 * few states where threads do much by themselves, the declarative one builds few executions where
 * interleavings are many but outcomes are not. So they take turns, each time with four times the budget, and
 * the first to finish decides. The work thrown away is at most a third of an engine's last turn, plus what
 * the other one spent. */
#include "search/portfolio.h"

#include "base/clock.h"

enum { FIRST_BUDGET = 20000, GROWTH = 4 };

static const double first_slice = 0.02; /* seconds: some executions cost far more than others */

struct arm {
    const struct query *query;
    bool over; /* it can do no better: out of memory, unsupported, or the user's own limit is reached */
    struct result best;
};

/* One turn: within `budget` states or executions and `slice` seconds, but never beyond the user's limits. */
static struct limits limits_of_turn(const struct limits *limits, uint64_t budget, double slice, bool last)
{
    struct limits turn = *limits;
    if (last)
        return turn;
    if (!turn.max_states || turn.max_states > budget)
        turn.max_states = budget;
    double end = now() + slice;
    if (turn.deadline <= 0 || turn.deadline > end)
        turn.deadline = end;
    return turn;
}

static bool users_limit_reached(const struct limits *limits, const struct result *result)
{
    switch (result->completion) {
    case LIMIT_STATES:
        return limits->max_states && result->explored >= limits->max_states;
    case LIMIT_TIME:
        return limits->deadline > 0 && now() >= limits->deadline;
    case LIMIT_MEMORY:
    case UNSUPPORTED:
        return true;
    default:
        return false;
    }
}

static size_t found(const struct result *result)
{
    return result->states ? outcomes_count(result->states) : 0;
}

/* Of two unfinished answers the one with more outcomes is kept. */
static void keep(struct arm *arm, struct result result)
{
    if (arm->best.states && found(&arm->best) >= found(&result) && result.completion != DONE) {
        arm->best.completion = result.completion;
        arm->best.explored = result.explored;
        outcomes_free(result.states);
        return;
    }
    outcomes_free(arm->best.states);
    arm->best = result;
}

static bool finished(const struct arm *arm)
{
    return arm->best.completion == DONE || arm->best.completion == INTERRUPTED;
}

struct result explore_fastest(const struct query *operational, const struct query *declarative,
                              const struct operational_options *options, enum decider *decider)
{
    struct arm arms[2] = {{.query = operational}, {.query = declarative}};
    uint64_t budget = FIRST_BUDGET;
    double slice = first_slice;
    for (unsigned turn = 0;; turn++) {
        enum decider who = turn % 2 ? BY_DECLARATIVE : BY_OPERATIONAL;
        struct arm *arm = &arms[who], *other = &arms[!who];
        if (!arm->over) {
            struct query query = *arm->query;
            query.limits = limits_of_turn(&arm->query->limits, budget, slice, other->over);
            struct result result =
                who == BY_OPERATIONAL ? explore_operational(&query, options) : explore_declarative(&query);
            arm->over = other->over || users_limit_reached(&arm->query->limits, &result);
            keep(arm, result);
        }
        bool done = finished(arm);
        if (done || (arms[0].over && arms[1].over)) {
            *decider = who;
            if (!done && found(&other->best) > found(&arm->best))
                *decider = !who;
            outcomes_free(arms[!*decider].best.states);
            return arms[*decider].best;
        }
        if (turn % 2) {
            budget *= GROWTH;
            slice *= GROWTH;
        }
    }
}
