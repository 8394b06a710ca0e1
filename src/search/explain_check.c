/* Checks explanations before anybody sees them: an execution once more by the definitions, a cycle step by
 * step (see explain_check.h). */
#include "search/explain_check.h"

#include "base/arena.h"

/* --- well-formed --- */

static const char *check_reads(const struct checker *c)
{
    const struct explanation *e = c->e;
    for (unsigned r = 0; r < c->n; r++) {
        const struct event *read = &e->events[r];
        if (!read->reads || read->loc == PROG_NO_LOC)
            continue;
        if (read->rf == RF_INIT ? read->read != e->program->locs[read->loc].init
                                : read->rf < 0 || (unsigned)read->rf >= c->n || (unsigned)read->rf == r ||
                                      !e->events[read->rf].writes || e->events[read->rf].loc != read->loc ||
                                      e->events[read->rf].written != read->read)
            return arena_printf(c->arena, "event %u does not read what its source wrote", r);
    }
    return NULL;
}

/* Of each pair that the relation is about, exactly one direction; no circles of three, so no circles. */
static const char *check_total(const struct checker *c, enum relation r, const char *name, bool transitive,
                               bool (*about)(const struct checker *, unsigned, unsigned))
{
    for (unsigned a = 0; a < c->n; a++)
        for (unsigned b = 0; b < c->n; b++) {
            bool one = related(c, r, a, b), other = related(c, r, b, a);
            if (a != b && about(c, a, b) ? one == other : one)
                return arena_printf(c->arena, "%s between events %u and %u is not one order", name, a, b);
            for (unsigned d = 0; d < c->n && transitive && one; d++)
                if (related(c, r, b, d) && !related(c, r, a, d))
                    return arena_printf(c->arena, "%s is not transitive at event %u", name, b);
        }
    return NULL;
}

static bool same_location(const struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    return x->writes && y->writes && x->loc == y->loc;
}

static bool atomics_of_one_node(const struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    return is_atomic_read(x) && is_atomic_read(y) && x->node == y->node;
}

static bool is_acquire_of(const struct event *e, unsigned lock)
{
    return e->lib == LIB_LOCK && e->type == S_MF && e->object == lock;
}

/* Is a lo-before b, by its release's edges? */
static bool lock_order(const struct checker *c, unsigned a, unsigned b)
{
    int release = release_of(c, a);
    if (release == NO_EVENT)
        return false;
    const struct event *first = &c->e->events[release];
    bool all = true;
    for (unsigned i = 0; i < c->n; i++) {
        const struct event *e = &c->e->events[i];
        bool source = e->thread == first->thread && e->call == first->call && e->type != S_RF;
        all &= !source || related(c, R_LO, i, b);
    }
    return all;
}

static const char *check_locks(const struct checker *c)
{
    for (unsigned a = 0; a < c->n; a++)
        for (unsigned b = 0; b < c->n; b++) {
            unsigned lock = c->e->events[a].object;
            if (a == b || !is_acquire_of(&c->e->events[a], lock) || !is_acquire_of(&c->e->events[b], lock))
                continue;
            if (lock_order(c, a, b) == lock_order(c, b, a))
                return arena_printf(c->arena, "acquires %u and %u are not in one order", a, b);
            for (unsigned d = 0; d < c->n; d++)
                if (d != a && is_acquire_of(&c->e->events[d], lock) && lock_order(c, a, b) &&
                    lock_order(c, b, d) && !lock_order(c, a, d))
                    return arena_printf(c->arena, "the lock order is not transitive at event %u", b);
        }
    return NULL;
}

/* Section 3: every poll takes one completion of its queue pair, no two the same, and the oldest first. */
static const char *check_polls(const struct checker *c)
{
    const struct event *events = c->e->events;
    for (unsigned p = 0; p < c->n; p++) {
        if (events[p].lib != LIB_TSO || events[p].type != T_P)
            continue;
        unsigned sources = 0;
        for (unsigned w = 0; w < c->n; w++) {
            bool takes = related(c, R_PFG, w, p) || related(c, R_PFP, w, p);
            bool completion = events[w].type == T_NRW || events[w].type == T_NLW;
            if (takes && (!completion || !related(c, R_PO, w, p) || events[w].node != events[p].node))
                return arena_printf(c->arena, "poll %u takes what is no completion of its queue pair", p);
            sources += takes;
            for (unsigned v = 0; v < w && takes; v++) {
                bool older = (events[v].type == T_NRW || events[v].type == T_NLW) && related(c, R_PO, v, w) &&
                             events[v].node == events[w].node;
                bool taken = false;
                for (unsigned q = 0; q < p; q++)
                    taken |= related(c, R_PO, q, p) && (related(c, R_PFG, v, q) || related(c, R_PFP, v, q));
                if (older && !taken)
                    return arena_printf(c->arena, "poll %u takes a completion that is not the oldest", p);
            }
            for (unsigned q = 0; q < p && takes; q++)
                if (related(c, R_PFG, w, q) || related(c, R_PFP, w, q))
                    return arena_printf(c->arena, "polls %u and %u take the same completion", q, p);
        }
        if (sources != 1)
            return arena_printf(c->arena, "poll %u takes %u completions", p, sources);
    }
    return NULL;
}

/* Section 6: a thread never misses its own store. */
static bool misses_own_store(const struct checker *c, unsigned r, unsigned w)
{
    return c->e->events[r].lib == LIB_SV && related(c, R_RB, r, w) && related(c, R_PO, w, r) &&
           is_own_store_and_load(&c->e->events[w], &c->e->events[r]);
}

static const char *check_own_stores(const struct checker *c)
{
    for (unsigned r = 0; r < c->n; r++)
        for (unsigned w = 0; w < c->n; w++)
            if (misses_own_store(c, r, w))
                return arena_printf(c->arena, "event %u misses its own thread's store %u", r, w);
    return NULL;
}

/* What the location has at the end: its mo-last write. */
static const char *check_final_values(const struct checker *c)
{
    const struct explanation *e = c->e;
    for (unsigned i = 0; i < e->n_observables; i++) {
        const struct observable *o = &e->observables[i];
        if (o->is_reg)
            continue;
        uint64_t value = e->program->locs[o->index].init;
        for (unsigned w = 0; w < c->n; w++) {
            bool last = e->events[w].writes && e->events[w].loc == o->index;
            for (unsigned v = 0; v < c->n; v++)
                last &= !related(c, R_MO, w, v);
            if (last)
                value = e->events[w].written;
        }
        if (value != e->row[i])
            return arena_printf(c->arena, "%s ends with another value than shown",
                                e->program->locs[o->index].name);
    }
    return NULL;
}

const char *check_well_formed(const struct checker *c)
{
    const char *wrong = check_total(c, R_MO, "mo", true, same_location);
    if (!wrong)
        wrong = check_total(c, R_NFO, "nfo", false, must_not_overlap);
    if (!wrong)
        wrong = check_total(c, R_RAO, "rao", true, atomics_of_one_node);
    if (!wrong)
        wrong = check_locks(c);
    if (!wrong)
        wrong = check_polls(c);
    if (!wrong)
        wrong = check_own_stores(c);
    return wrong ? wrong : check_final_values(c);
}

/* --- cycles --- */

static bool is_in_log(const struct checker *c, unsigned a, unsigned b, enum edge_kind kind)
{
    for (unsigned i = 0; i < c->e->n_edges; i++)
        if (c->e->edges[i].from == a && c->e->edges[i].to == b && c->e->edges[i].kind == kind)
            return true;
    return false;
}

static bool is_lock_edge(const struct checker *c, unsigned a, unsigned b)
{
    const struct event *release = &c->e->events[a], *acquire = &c->e->events[b];
    return release->lib == LIB_LOCK && release->type != S_MF && release->type != S_RF &&
           is_acquire_of(acquire, release->object) && is_in_log(c, a, b, EDGE_LO);
}

/* The outcome asks for this write to be the last one of its location. */
static bool is_last(const struct checker *c, unsigned w)
{
    const struct explanation *e = c->e;
    for (unsigned i = 0; i < e->n_observables; i++)
        if (!e->observables[i].is_reg && e->observables[i].index == e->events[w].loc &&
            e->finals[i] == (int)w && e->events[w].written == e->row[i])
            return true;
    return false;
}

/* Is it what it claims to be? Of the chosen orders, that it is a choice that had to be made, and was. */
static bool is_edge(const struct checker *c, const struct cycle_step *step)
{
    unsigned a = step->edge.from, b = step->edge.to;
    switch (step->edge.kind) {
    case EDGE_MO:
        return same_location(c, a, b) && is_in_log(c, a, b, EDGE_MO) &&
               (!is_in_log(c, b, a, EDGE_MO) || is_last(c, b) || step->n_because > 0);
    case EDGE_NFO:
        return must_not_overlap(c, a, b) && is_in_log(c, a, b, EDGE_NFO);
    case EDGE_RAO:
        return atomics_of_one_node(c, a, b) && is_in_log(c, a, b, EDGE_RAO);
    case EDGE_LO:
        return is_lock_edge(c, a, b);
    default:
        return true; /* step_in_ib and step_in_hb look up relations that were made by definition */
    }
}

static const char *check_steps(const struct checker *c, const struct cycle_step *steps, unsigned n, bool ib)
{
    for (unsigned i = 0; i < n; i++) {
        const struct cycle_step *step = &steps[i];
        unsigned a = step->edge.from, b = step->edge.to;
        bool right =
            step->issued || ib ? step_in_ib(c, step->edge.kind, a, b) : step_in_hb(c, step->edge.kind, a, b);
        if (a >= c->n || b >= c->n || !right || !is_edge(c, step))
            return arena_printf(c->arena, "step %u, from event %u to %u, is no edge", i + 1, a, b);
        if (i > 0 && steps[i - 1].edge.to != a)
            return arena_printf(c->arena, "step %u does not begin where the one before it ends", i + 1);
    }
    return NULL;
}

/* A stretch of issue order counts in happens-before if it begins at an instantaneous event. */
static bool stretch_begins_right(const struct checker *c, const struct cycle_step *steps, unsigned i,
                                 bool before)
{
    return !steps[i].issued || before || is_instantaneous(&c->e->events[steps[i].edge.from]);
}

/* Would the order be the other one, this event would come before the chain's start: the later of the two
 * itself; a read of it (rb); the write of a remote RMW (ar); the release that belongs to an acquire. */
static bool ends_right(const struct checker *c, const struct edge *ordered, unsigned end)
{
    const struct event *later = &c->e->events[ordered->to], *last = &c->e->events[end];
    switch (ordered->kind) {
    case EDGE_MO:
        return end == ordered->to || related(c, R_RF, ordered->to, end);
    case EDGE_RAO:
        return end == ordered->to || (last->thread == later->thread && last->call == later->call &&
                                      last->writes && last->loc == later->loc);
    case EDGE_LO: {
        int release = release_of(c, ordered->to);
        return release != NO_EVENT && last->thread == later->thread && last->lib == LIB_LOCK &&
               last->call == c->e->events[release].call && last->type != S_RF;
    }
    default:
        return end == ordered->to;
    }
}

static bool starts_right(const struct checker *c, const struct edge *ordered, unsigned start)
{
    if (ordered->kind != EDGE_LO)
        return start == ordered->from;
    const struct event *release = &c->e->events[ordered->from];
    int given_back = release_of(c, start);
    return is_acquire_of(&c->e->events[start], release->object) && given_back != NO_EVENT &&
           c->e->events[given_back].thread == release->thread &&
           c->e->events[given_back].call == release->call;
}

static const char *check_because(const struct checker *c, const struct cycle_step *step)
{
    unsigned n = step->n_because;
    const char *wrong = check_steps(c, step->because, n, false);
    for (unsigned i = 0; i < n && !wrong; i++)
        if (!stretch_begins_right(c, step->because, i, i > 0 && step->because[i - 1].issued))
            wrong = "a stretch of issue order does not begin at an instantaneous event";
    if (n > 0 && !wrong &&
        (!starts_right(c, &step->ordered, step->because[0].edge.from) ||
         !ends_right(c, &step->ordered, step->because[n - 1].edge.to)))
        wrong = "it does not rule the other order out";
    return wrong ? arena_printf(c->arena, "the reason for a step: %s", wrong) : NULL;
}

static const char *check_cycle(const struct checker *c)
{
    const struct explanation *e = c->e;
    const struct cycle_step *steps = e->cycle;
    unsigned n = e->n_cycle;
    if (n == 0)
        return "there is no cycle";
    if (n == 1 && steps[0].edge.orders & FORBIDDEN)
        return misses_own_store(c, steps[0].edge.from, steps[0].edge.to)
                   ? NULL
                   : "it is no earlier store of the own thread that is missed";
    const char *wrong = check_steps(c, steps, n, e->cycle_of_issue_order);
    if (wrong)
        return wrong;
    if (steps[n - 1].edge.to != steps[0].edge.from)
        return "the cycle does not close";
    for (unsigned i = 0; i < n && !e->cycle_of_issue_order; i++)
        if (!stretch_begins_right(c, steps, i, n > 1 && steps[(i + n - 1) % n].issued))
            return "a stretch of issue order does not begin at an instantaneous event";
    for (unsigned i = 0; i < n && !wrong; i++)
        wrong = check_because(c, &steps[i]);
    return wrong;
}

/* --- all --- */

const char *explanation_check(struct arena *arena, const struct explanation *e)
{
    struct checker c = {.arena = arena, .e = e, .n = e->n_events};
    if (e->verdict != EXPLAINED_ALLOWED && e->verdict != EXPLAINED_FORBIDDEN)
        return NULL;
    const char *wrong = check_program(&c);
    if (!wrong)
        wrong = check_reads(&c);
    if (wrong)
        return wrong;
    fill_relations(&c);
    if (e->verdict == EXPLAINED_FORBIDDEN)
        return check_cycle(&c);
    wrong = check_well_formed(&c);
    return wrong ? wrong : check_consistent(&c);
}
