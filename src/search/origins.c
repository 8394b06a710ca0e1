/* See origins.h. */
#include "search/origins.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

static void insert(struct origins *origins, size_t at, uint32_t number)
{
    origins->of = xrealloc(origins->of, (origins->n + 1) * sizeof *origins->of);
    memmove(origins->of + at + 1, origins->of + at, (origins->n - at) * sizeof *origins->of);
    origins->of[at] = number;
    origins->n++;
}

static uint32_t take(struct origins *origins, size_t at)
{
    uint32_t number = origins->of[at];
    memmove(origins->of + at, origins->of + at + 1, (origins->n - at - 1) * sizeof *origins->of);
    origins->n--;
    return number;
}

/* An operation gets into B, or a completion out of wbL. */
static uint32_t follow_cpu(struct origins *origins, const uint8_t *before, const uint8_t *next,
                           uint32_t number)
{
    const struct machine *m = origins->machine;
    const uint16_t *old = get_ends(m, before), *new = get_ends(m, next);
    for (unsigned f = 0; f < m->n_fifos; f++) {
        if (new[f + 1] > old[f + 1]) {
            insert(origins, old[f + 1], number);
            return number;
        }
        if (new[f + 1] < old[f + 1])
            return take(origins, old[f]);
    }
    return NO_ORIGIN;
}

static uint32_t follow_flush(struct origins *origins, const uint8_t *before, const uint8_t *next,
                             struct step step)
{
    const struct machine *m = origins->machine;
    size_t at = buffer_of(m, before, step.thread)[0] + step.at;
    entry_t entry = get_entries(m, before)[at];
    uint32_t number = take(origins, at);
    if (entry_kind(entry) != E_STORE) {
        const struct qp *qp = &m->qps[m->qp_of[step.thread * m->n_nodes + entry_node(m, entry)]];
        insert(origins, get_ends(m, next)[qp->fifo + 1] - 1u, number);
    }
    return number;
}

uint32_t origins_follow(struct origins *origins, const uint8_t *before, const uint8_t *next, struct step step,
                        uint32_t number)
{
    const struct machine *m = origins->machine;
    if (step.rule == RULE_CPU)
        return follow_cpu(origins, before, next, number);
    if (step.rule == RULE_FLUSH)
        return follow_flush(origins, before, next, step);
    const uint16_t *old = get_ends(m, before), *new = get_ends(m, next);
    unsigned fifo = m->qps[step.qp].fifo;
    size_t at = old[fifo + rule_fifo(step.rule)] + (size_t)step.at;
    uint32_t moved = origins->of[at];
    if (new[fifo + WBR] - new[fifo] < old[fifo + WBR] - old[fifo] || rule_fifo(step.rule) != PIPE)
        take(origins, at);
    else if (new[fifo + WBR] - new[fifo] > old[fifo + WBR] - old[fifo])
        insert(origins, at, moved);
    for (unsigned wb = WBR; wb <= WBL; wb++)
        for (unsigned k = (unsigned)(old[fifo + wb + 1] - old[fifo + wb]);
             k < (unsigned)(new[fifo + wb + 1] - new[fifo + wb]); k++)
            insert(origins, new[fifo + wb] + (size_t)k, moved);
    return moved;
}

void origins_free(struct origins *origins)
{
    free(origins->of);
}
