/* The program with a faulty operational engine, to see that `--engine both` and `remora fuzz` notice: linked with
 * -Wl,--wrap=explore_operational. REMORA_FAULT=more adds an outcome that no program of the tests has, =fewer takes the
 * last one away. */
#include "search/engine.h"

#include <stdlib.h>
#include <string.h>

struct result __real_explore_operational(const struct query *, const struct operational_options *);
struct result __wrap_explore_operational(const struct query *, const struct operational_options *);

struct result __wrap_explore_operational(const struct query *query, const struct operational_options *options)
{
    struct result result = __real_explore_operational(query, options);
    const char *fault = getenv("REMORA_FAULT");
    size_t count = outcomes_count(result.states);
    if (!fault || !query->n_observables)
        return result;
    struct outcomes *states = outcomes_new(query->n_observables);
    bool fewer = strcmp(fault, "fewer") == 0;
    for (size_t i = 0; i + (fewer ? 1 : 0) < count; i++)
        outcomes_add(states, outcomes_row(result.states, i));
    if (!fewer && count) {
        uint64_t row[query->n_observables];
        memcpy(row, outcomes_row(result.states, 0), sizeof row);
        row[0] = 77;
        outcomes_add(states, row);
    }
    outcomes_free(result.states);
    result.states = states;
    return result;
}
