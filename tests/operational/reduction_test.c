/* The reduced search finds the same outcomes and the same stuck ends as the plain one, which takes every
 * interleaving; and any number of threads finds what one does. On random programs: reduction_test [count
 * [first seed]]. */
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool same(const struct result *a, const struct result *b)
{
    if (outcomes_count(a->states) != outcomes_count(b->states) || a->stuck != b->stuck)
        return false;
    for (size_t i = 0; i < outcomes_count(a->states); i++)
        if (!outcomes_has(b->states, outcomes_row(a->states, i)))
            return false;
    return true;
}

static int compare(uint64_t seed, bool wait, uint64_t totals[3])
{
    struct table table;
    table_random(&table, seed, wait);
    struct result plain = table_explore(&table, true, 1);
    struct result reduced = table_explore(&table, false, 1);
    struct result shared = table_explore(&table, false, 2);
    int faults = 0;
    if (plain.completion == DONE) {
        bool fine = same(&plain, &reduced) && same(&plain, &shared) && reduced.completion == DONE &&
                    reduced.explored == shared.explored;
        if (!fine) {
            printf("seed %" PRIu64 "%s: plain %zu outcomes, %" PRIu64 " stuck; reduced %zu, %" PRIu64
                   "; shared %zu, %" PRIu64 "\n",
                   seed, wait ? " wait" : "", outcomes_count(plain.states), plain.stuck,
                   outcomes_count(reduced.states), reduced.stuck, outcomes_count(shared.states),
                   shared.stuck);
            table_print(&table);
            faults = 1;
        }
        totals[0] += plain.explored;
        totals[1] += reduced.explored;
        totals[2]++;
    }
    outcomes_free(plain.states);
    outcomes_free(reduced.states);
    outcomes_free(shared.states);
    return faults;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 40;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    uint64_t totals[3] = {0};
    int faults = 0;
    for (uint64_t seed = first; seed < first + count && faults < 3; seed++)
        faults += compare(seed, false, totals) + compare(seed, true, totals);
    printf("%" PRIu64 " programs, %" PRIu64 " states plain, %" PRIu64 " reduced\n", totals[2], totals[0],
           totals[1]);
    return faults != 0;
}
