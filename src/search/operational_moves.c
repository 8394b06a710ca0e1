/* The moves of a state, put together from the views of its threads, and how moves depend on one another (see
 * operational_moves.h; the argument is in docs/reduction.md). */
#include "search/operational_moves.h"

#include "base/arena.h"

#include <stdlib.h>

enum { CPU_MOVE, BUFFER_MOVE };

struct moves *moves_new(const struct machine *m)
{
    struct moves *moves = xcalloc(1, sizeof *moves);
    moves->views = xcalloc(m->n_threads, sizeof *moves->views);
    return moves;
}

void moves_free(struct moves *moves)
{
    if (moves)
        free(moves->views);
    free(moves);
}

/* --- keeping views --- */

static unsigned n_fifos(const struct machine *m, unsigned t)
{
    return 1 + 3u * (m->first_qp[t + 1] - m->first_qp[t]);
}

static bool still_true(const struct machine *m, const uint8_t *state, unsigned t, const struct view *view)
{
    const uint16_t *ends = buffer_of(m, state, t);
    unsigned n = n_fifos(m, t), base = ends[0];
    if (!view->valid || view->local != get_locals(m, state)[t])
        return false;
    unsigned differ = 0;
    for (unsigned f = 0; f < n; f++)
        differ |= (unsigned)(ends[f + 1] - base) ^ view->ends[f];
    const entry_t *entries = get_entries(m, state) + base;
    if (differ)
        return false;
    uint64_t other = 0;
    for (unsigned i = 0; i < (unsigned)(ends[n] - base); i++)
        other |= entries[i] ^ view->entries[i];
    return other == 0;
}

static void keep(const struct machine *m, const uint8_t *state, unsigned t, struct view *view)
{
    const uint16_t *ends = buffer_of(m, state, t);
    unsigned n = n_fifos(m, t), base = ends[0];
    view->valid = n <= VIEW_FIFOS && ends[n] - base <= VIEW_ENTRIES;
    if (!view->valid)
        return;
    view->local = get_locals(m, state)[t];
    for (unsigned f = 0; f < n; f++)
        view->ends[f] = (uint16_t)(ends[f + 1] - base);
    memcpy(view->entries, get_entries(m, state) + base, (ends[n] - base) * sizeof(entry_t));
}

/* --- putting them together --- */

static bool await_enabled(const struct machine *m, const uint8_t *state, unsigned t, struct view *view)
{
    if (view->await_loc == PROG_NO_LOC)
        return machine_cpu_enabled(m, state, t);
    uint16_t now = get_memory(m, state)[view->await_loc];
    if (now != view->await_seen) {
        view->await_seen = now;
        view->await_true = machine_cpu_enabled(m, state, t);
    }
    return view->await_true;
}

static void add_view(const struct machine *m, struct moves *moves, unsigned t)
{
    struct view *view = &moves->views[t];
    unsigned first = moves->n;
    move_set enabled = view->enabled;
    moves->first[t] = (uint8_t)first;
    for (move_set rest = view->rmws; rest; rest &= rest - 1) {
        unsigned move = (unsigned)__builtin_ctzll(rest);
        if (get_atomics(moves->state) >> m->qps[view->steps[move].qp].node & 1)
            enabled &= ~(rest & -rest);
    }
    if (view->awaits && await_enabled(m, moves->state, t, view))
        enabled |= 1;
    moves->enabled |= enabled << first;
    moves->spins |= view->spins << first;
    moves->n += view->n;
}

bool find_moves(struct machine *m, const uint8_t *state, uint64_t threads, struct moves *moves)
{
    moves->state = state;
    moves->n = 0;
    moves->enabled = moves->spins = 0;
    for (unsigned t = 0; t < m->n_threads; t++) {
        struct view *view = &moves->views[t];
        if (!view->valid || ((threads >> t & 1) && !still_true(m, state, t, view))) {
            view_find(m, state, t, view);
            keep(m, state, t, view);
        }
        if (moves->n + view->n > MAX_MOVES)
            return false;
        add_view(m, moves, t);
    }
    moves->first[m->n_threads] = (uint8_t)moves->n;
    return true;
}

unsigned move_thread(const struct moves *moves, unsigned move)
{
    unsigned t = 0;
    while (move >= moves->first[t + 1])
        t++;
    return t;
}

struct step move_step(const struct machine *m, const struct moves *moves, unsigned move)
{
    unsigned t = move_thread(moves, move);
    struct step step = moves->views[t].steps[move - moves->first[t]];
    if (step.rule == RULE_RCAS) {
        const struct qp *qp = &m->qps[step.qp];
        entry_t rcas = get_entries(m, moves->state)[get_ends(m, moves->state)[qp->fifo] + step.at];
        if (get_memory(m, moves->state)[entry_loc(rcas)] != entry_e(rcas))
            step.rule = RULE_RCAS_FAIL;
    }
    return step;
}

/* --- dependence --- */

/* Moves of the view that are, or stand before, an access that conflicts with these. */
static move_set conflicts(const struct view *view, uint64_t reads, uint64_t writes)
{
    move_set set = 0;
    for (uint64_t rest = (reads | writes) & view->all_write; rest; rest &= rest - 1)
        set |= view->writers[__builtin_ctzll(rest)];
    for (uint64_t rest = writes & view->all_read; rest; rest &= rest - 1)
        set |= view->readers[__builtin_ctzll(rest)];
    return set;
}

/* The move on which depends that A[n] is free again. */
static move_set holder(const struct machine *m, const struct moves *moves, unsigned n)
{
    for (unsigned t = 0; t < m->n_threads; t++)
        if (moves->views[t].holds >> n & 1)
            return (move_set)1 << (moves->first[t] + moves->views[t].holder[n]);
    return 0;
}

move_set follows(const struct machine *m, const struct moves *moves, unsigned move)
{
    unsigned t = move_thread(moves, move), own = move - moves->first[t];
    const struct view *view = &moves->views[t];
    uint64_t reads = view->reads[own], writes = view->writes[own];
    if (!(moves->enabled >> move & 1) && (view->rmws >> own & 1))
        return holder(m, moves, m->qps[view->steps[own].qp].node);
    move_set set = conflicts(view, reads, writes) & ~view->apart[own];
    if (own == CPU_MOVE && !(reads & view->nic_write))
        set &= ~((move_set)1 << BUFFER_MOVE); /* its own stores are forwarded to it */
    set = (set | view->needs[own]) << moves->first[t];
    for (unsigned u = 0; (reads | writes) && u < m->n_threads; u++)
        if (u != t)
            set |= conflicts(&moves->views[u], reads, writes) << moves->first[u];
    return set & ~((move_set)1 << move);
}
