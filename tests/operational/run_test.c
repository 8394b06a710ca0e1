/* Every outcome of random programs has a run, and every program with stuck ends a run that gets stuck; runs
 * are complete: they start at the first state, and each NIC step belongs to an operation of its thread. */
#include "base/arena.h"
#include "search/run.h"
#include "table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool sound(const struct table *table, const struct run *run)
{
    if (!run || strncmp(run->start, "memory:", 7) != 0)
        return false;
    for (unsigned i = 0; i < run->n_steps; i++) {
        const struct run_step *step = &run->steps[i];
        const struct row *row = &table->rows[step->where / TABLE_ROWS][step->where % TABLE_ROWS];
        bool nic = row->kind == ROW_OP && row->op.kind >= OP_PUT && row->op.kind <= OP_RFENCE;
        if (step->where / TABLE_ROWS != step->thread || !*step->text || !*run_rule_name(step->rule))
            return false;
        if (step->rule != RUN_CPU && step->rule != RUN_FLUSH && !nic)
            return false;
        if (step->rule == 2 && row->op.kind != OP_PUT)
            return false;
        if (step->rule == 6 && row->op.kind != OP_GET)
            return false;
    }
    return true;
}

static int check(uint64_t seed, bool wait, unsigned totals[2])
{
    struct table table;
    table_random(&table, seed, wait);
    struct result result = table_explore(&table, false, 1);
    struct query query = {&table.program, table.observables, table.n_observables, {.jobs = 1}};
    struct arena *arena = arena_new();
    int faults = 0;
    for (size_t i = 0; i < outcomes_count(result.states) && i < 5; i++) {
        faults += !sound(&table, run_find(arena, &query, outcomes_row(result.states, i)));
        totals[0]++;
    }
    const struct run *stuck = run_find(arena, &query, NULL);
    if (result.stuck)
        faults += !stuck || !stuck->stuck || !sound(&table, stuck);
    else
        faults += stuck != NULL;
    totals[1] += stuck != NULL;
    if (faults) {
        printf("seed %" PRIu64 "%s\n", seed, wait ? " wait" : "");
        table_print(&table);
    }
    outcomes_free(result.states);
    arena_free(arena);
    return faults;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 40;
    unsigned totals[2] = {0};
    int faults = 0;
    for (uint64_t seed = 0; seed < count && faults < 3; seed++)
        faults += check(seed, false, totals) + check(seed, true, totals);
    printf("%u outcomes, %u stuck ends shown\n", totals[0], totals[1]);
    return faults != 0;
}
