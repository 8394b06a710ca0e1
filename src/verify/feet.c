/* What the operations of C code touch, as far as has been seen; and from that, what may follow a point. */
#include "base/arena.h"
#include "verify/c_thread.h"

#include <stdlib.h>
#include <string.h>

static void add(uint64_t *set, unsigned loc)
{
    set[loc / 64] |= UINT64_C(1) << loc % 64;
}

static void foot_of(const struct op *op, struct foot *foot)
{
    memset(foot, 0, sizeof *foot);
    switch (op->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        add(foot->cpu_reads, op->loc);
        return;
    case OP_STORE:
        add(foot->cpu_writes, op->loc);
        return;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        add(foot->cpu_reads, op->loc);
        add(foot->cpu_writes, op->loc);
        return;
    case OP_PUT:
        if (op->local != PROG_NO_LOC)
            add(foot->nic_reads, op->local);
        add(foot->nic_writes, op->loc);
        foot->put_nodes = UINT64_C(1) << op->node;
        break;
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
        add(foot->nic_reads, op->loc);
        add(foot->nic_writes, op->local);
        if (op->kind != OP_GET) {
            add(foot->nic_writes, op->loc);
            foot->rmw_nodes = UINT64_C(1) << op->node;
        }
        break;
    case OP_RFENCE:
    case OP_POLL:
        break;
    default:
        return;
    }
    foot->nic_nodes = UINT64_C(1) << op->node;
}

/* Adds b to a; whether there was anything to add. */
static bool join(struct foot *a, const struct foot *b)
{
    uint64_t *to = (uint64_t *)a, new = 0;
    const uint64_t *from = (const uint64_t *)b;
    for (size_t i = 0; i < sizeof *a / sizeof *to; i++) {
        new |= from[i] & ~to[i];
        to[i] |= from[i];
    }
    return new != 0;
}

unsigned feet_cover(struct c_thread *thread, const struct meta *meta, const struct op *op)
{
    struct feet *feet = &thread->feet;
    unsigned s = meta->statement, have = feet->n[s];
    if (meta->number >= have) {
        feet->n[s] = meta->number + 1u;
        feet->foot[s] = xrealloc(feet->foot[s], feet->n[s] * sizeof *feet->foot[s]);
        memset(feet->foot[s] + have, 0, (feet->n[s] - have) * sizeof *feet->foot[s]);
    }
    struct foot foot;
    foot_of(op, &foot);
    struct known_foot *known = &feet->foot[s][meta->number];
    if (join(&known->foot, &foot) || meta->number >= have)
        known->generation = thread->program->generation + 1;
    return known->generation;
}

/* --- freezing --- */

static void future_of(struct c_program *program, const struct foot *foot, struct future *future)
{
    unsigned words = program->base.loc_words;
    uint64_t *sets = ARENA_ARRAY(program->arena, uint64_t, 4 * words);
    const uint64_t *from[] = {foot->cpu_reads, foot->cpu_writes, foot->nic_reads, foot->nic_writes};
    for (unsigned i = 0; i < 4; i++)
        memcpy(sets + i * words, from[i], words * sizeof *sets);
    *future = (struct future){.cpu_reads = sets,
                              .cpu_writes = sets + words,
                              .nic_reads = sets + 2 * words,
                              .nic_writes = sets + 3 * words,
                              .nic_nodes = foot->nic_nodes,
                              .put_nodes = foot->put_nodes,
                              .rmw_nodes = foot->rmw_nodes};
}

static void freeze_thread(struct c_program *program, struct c_thread *thread, struct foot *all)
{
    struct feet *feet = &thread->feet;
    memset(all, 0, sizeof *all);
    for (unsigned s = C_MAX_STATEMENTS; s-- > 0;) {
        feet->future[s] = ARENA_ARRAY(program->arena, struct future, feet->n[s] + 1u);
        future_of(program, all, &feet->future[s][feet->n[s]]);
        for (unsigned i = feet->n[s]; i-- > 0;) {
            /* An operation of no known kind so far shares the future of the next one. */
            if (join(all, &feet->foot[s][i].foot))
                future_of(program, all, &feet->future[s][i]);
            else
                feet->future[s][i] = feet->future[s][i + 1];
        }
    }
}

static bool names(const struct foot *foot, unsigned loc)
{
    uint64_t any = foot->cpu_reads[loc / 64] | foot->cpu_writes[loc / 64] | foot->nic_reads[loc / 64] |
                   foot->nic_writes[loc / 64];
    return any >> loc % 64 & 1;
}

void feet_freeze(struct c_program *program)
{
    unsigned n_threads = program->code.shape.n_threads;
    struct foot *all = xcalloc(n_threads, sizeof *all);
    program->generation++;
    program->dirty = false;
    program->base.n_locs = program->n_locs;
    program->base.loc_words = (program->n_locs + 63) / 64;
    for (unsigned t = 0; t < n_threads; t++)
        freeze_thread(program, &program->threads[t], &all[t]);
    for (unsigned loc = 0; loc < program->n_locs; loc++) {
        unsigned users = 0, last = 0;
        for (unsigned t = 0; t < n_threads; t++)
            if (names(&all[t], loc)) {
                users++;
                last = t;
            }
        program->locs[loc].owner = users == 1 ? (uint16_t)last : UINT16_MAX;
    }
    free(all);
}

void feet_free(struct feet *feet)
{
    for (unsigned s = 0; s < C_MAX_STATEMENTS; s++)
        free(feet->foot[s]);
}
