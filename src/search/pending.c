/* Stands in for the operational engine until that is here. */
#include "search/engine.h"

__attribute__((weak)) struct result explore_operational(const struct query *query,
                                                        const struct operational_options *options)
{
    (void)options;
    return (struct result){
        .states = outcomes_new(query->n_observables), .completion = UNSUPPORTED, .why = "engine not built"};
}
