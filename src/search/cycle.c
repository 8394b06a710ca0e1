/* The cycle that makes a candidate execution inconsistent: the first edge that was refused, and a shortest
 * way back along the edges that had come before it (so that each step stands without the later ones).
 *
 * A way in happens-before may use stretches of issue order, if they begin at an instantaneous event
 * ([Inst];ib). The search for the shortest way is breadth-first over (event, are we inside such a stretch).
 */
#include "search/cycle.h"

#include "base/arena.h"

#include <stdlib.h>

struct step {
    int from; /* place that we came from, or -1 */
    struct edge edge;
};

/* A way to be found: from `start` (inside a stretch of issue order or not) to `goal` (such that a step of issue
 * order may follow, if goal_inside). */
struct way {
    unsigned limit; /* only along logged edges before this one */
    unsigned start, goal;
    bool inside, goal_inside;
    bool ib_only;   /* in issue order; otherwise in happens-before */
    bool undoubted; /* not along an order whose reverse is asked for too */
};

struct walk {
    const struct explanation *e;
    struct way way;
    struct step *steps; /* by place: 2 * event + inside */
    unsigned *queue;
    unsigned head, tail;
};

static void visit(struct walk *w, unsigned place, int from, struct edge edge)
{
    if (w->steps[place].from != -2)
        return;
    w->steps[place] = (struct step){from, edge};
    w->queue[w->tail++] = place;
}

static void follow_edge(struct walk *w, unsigned place, struct edge edge)
{
    bool inside = place & 1, ib_only = w->way.ib_only;
    const struct event *from = &w->e->events[edge.from];
    if ((edge.orders & IN_HB) && !ib_only)
        visit(w, 2u * edge.to, (int)place, edge);
    if ((edge.orders & IN_IB) && (ib_only || inside || event_instantaneous(from)))
        visit(w, 2u * edge.to + 1, (int)place, edge);
}

static unsigned index_of(const struct explanation *e, unsigned from, unsigned to, enum edge_kind kind)
{
    unsigned i = 0;
    while (i < e->n_edges && (e->edges[i].from != from || e->edges[i].to != to || e->edges[i].kind != kind))
        i++;
    return i;
}

static bool may_be_reversed(enum edge_kind kind)
{
    return kind == EDGE_MO || kind == EDGE_NFO || kind == EDGE_RAO || kind == EDGE_LO;
}

static bool is_doubted(const struct explanation *e, const struct edge *edge)
{
    return may_be_reversed(edge->kind) && index_of(e, edge->to, edge->from, edge->kind) < e->n_edges;
}

/* In happens-before a stretch of issue order may end anywhere, and the same place may then go on as outside
 * of it. */
static void expand(struct walk *w, unsigned place)
{
    const struct explanation *e = w->e;
    unsigned event = place / 2;
    for (unsigned i = 0; i < e->n_events; i++) {
        const struct event *a = &e->events[event], *b = &e->events[i];
        if (i <= event || a->thread != b->thread)
            continue;
        uint8_t orders = (uint8_t)((kept_in_ib(a, b) ? IN_IB : 0) | (kept_in_hb(a, b) ? IN_HB : 0));
        if (orders)
            follow_edge(w, place, (struct edge){(uint16_t)event, (uint16_t)i, EDGE_PPO, orders, false});
    }
    for (unsigned i = 0; i < w->way.limit; i++)
        if (e->edges[i].from == event && !e->edges[i].refused &&
            !(w->way.undoubted && is_doubted(e, &e->edges[i])))
            follow_edge(w, place, e->edges[i]);
}

static bool is_goal(const struct walk *w, unsigned place)
{
    const struct way *way = &w->way;
    if (place / 2 != way->goal)
        return false;
    return way->ib_only || !way->goal_inside || (place & 1) || event_instantaneous(&w->e->events[way->goal]);
}

/* Number of steps of a shortest one, at least 1; 0: there is none. */
static unsigned shortest(struct arena *arena, const struct explanation *e, struct way way,
                         struct cycle_step **steps)
{
    unsigned places = 2 * e->n_events;
    struct walk w = {e, way, xmalloc(places * sizeof(struct step)), xmalloc(places * sizeof(unsigned)), 0, 0};
    for (unsigned i = 0; i < places; i++)
        w.steps[i].from = -2;
    visit(&w, 2 * way.start + way.inside, -1, (struct edge){0});
    int end = -1;
    while (w.head < w.tail && end < 0) {
        unsigned place = w.queue[w.head++];
        if (w.head > 1 && is_goal(&w, place))
            end = (int)place;
        else
            expand(&w, place);
    }
    unsigned n = 0;
    for (int place = end; place >= 0 && w.steps[place].from >= 0; place = w.steps[place].from)
        n++;
    *steps = ARENA_ARRAY(arena, struct cycle_step, n + 1);
    for (int place = end, i = (int)n; i-- > 0; place = w.steps[place].from)
        (*steps)[i] = (struct cycle_step){.edge = w.steps[place].edge, .issued = place & 1};
    free(w.steps);
    free(w.queue);
    return n;
}

/* The edge and the way back: one cycle. */
static void close_cycle(struct arena *arena, struct explanation *e, struct edge edge, bool issued,
                        struct cycle_step *way, unsigned n, bool ib)
{
    if (e->cycle && e->n_cycle <= n + 1)
        return;
    e->cycle = ARENA_ARRAY(arena, struct cycle_step, n + 1);
    e->n_cycle = n + 1;
    e->cycle_of_issue_order = ib;
    e->cycle[0] = (struct cycle_step){.edge = edge, .issued = issued};
    for (unsigned i = 0; i < n; i++)
        e->cycle[i + 1] = way[i];
}

static unsigned acquire_of(const struct explanation *e, unsigned release)
{
    unsigned a = 0;
    while (a < e->n_events && (e->events[a].lib != LIB_LOCK || e->events[a].partner == NO_EVENT ||
                               release < (unsigned)e->events[a].partner ||
                               release >= (unsigned)e->events[a].partner + e->events[a].partners))
        a++;
    return a;
}

/* Where a chain from the first event of an order edge would close a cycle, if the edge were turned round: at
 * its last event, at a reader of it (mo), at the write of its remote RMW (rao). The edge of a lock goes from
 * a release to an acquire; turned round it goes from that acquire's release to this release's acquire. */
static bool blocks(const struct explanation *e, const struct edge *ordered, unsigned event)
{
    const struct event *last = &e->events[ordered->to];
    if (ordered->kind == EDGE_LO)
        return last->partner != NO_EVENT && event >= (unsigned)last->partner &&
               event < (unsigned)last->partner + last->partners;
    return event == ordered->to ||
           (ordered->kind == EDGE_MO && e->events[event].reads && e->events[event].rf == (int)ordered->to) ||
           (ordered->kind == EDGE_RAO && last->partner == (int)event);
}

/* The order that was chosen behind a step: the step itself; the mo edge behind rb; the rao edge behind ar. */
static unsigned order_behind(const struct explanation *e, const struct edge *edge)
{
    int source = e->events[edge->from].rf;
    if (edge->kind == EDGE_RB && source >= 0)
        return index_of(e, (unsigned)source, edge->to, EDGE_MO);
    if (edge->kind == EDGE_AR)
        for (unsigned i = 0; i < e->n_edges; i++)
            if (e->edges[i].kind == EDGE_RAO && e->edges[i].to == edge->to &&
                e->events[e->edges[i].from].partner == (int)edge->from)
                return i;
    return may_be_reversed(edge->kind) ? index_of(e, edge->from, edge->to, edge->kind) : e->n_edges;
}

/* What rules out the reverse of an order edge. */
static void find_because(struct arena *arena, const struct explanation *e, struct cycle_step *step)
{
    unsigned index = order_behind(e, &step->edge);
    if (index == e->n_edges)
        return;
    struct edge ordered = step->ordered = e->edges[index];
    if (ordered.kind == EDGE_MO && is_final_write(e, ordered.to))
        return; /* because the outcome says so */
    unsigned first = ordered.kind == EDGE_LO ? acquire_of(e, ordered.from) : ordered.from;
    for (unsigned event = 0; event < e->n_events; event++) {
        struct cycle_step *way;
        if (event == first || !blocks(e, &ordered, event))
            continue;
        unsigned n = shortest(
            arena, e, (struct way){.limit = index, .undoubted = true, .start = first, .goal = event}, &way);
        if (n > 0 && (step->n_because == 0 || n < step->n_because)) {
            step->because = way;
            step->n_because = n;
        }
    }
}

/* The shortest cycle that the refused edge k closes. Orders that the outcome asks to be the other way round have
 * been derived from just the steps that one wants to see; so, undoubted: without them. */
static void find_way_back(struct arena *arena, struct explanation *e, unsigned k, bool undoubted)
{
    struct edge edge = e->edges[k];
    struct cycle_step *steps;
    unsigned n;
    struct way way = {.limit = k, .undoubted = undoubted, .start = edge.to, .goal = edge.from};
    struct way inside = way, issued = way;
    inside.inside = inside.goal_inside = true;
    issued.inside = issued.goal_inside = issued.ib_only = true;
    if ((edge.orders & IN_IB) && (n = shortest(arena, e, issued, &steps)) > 0)
        close_cycle(arena, e, edge, true, steps, n, true);
    if ((edge.orders & IN_IB) && (n = shortest(arena, e, inside, &steps)) > 0)
        close_cycle(arena, e, edge, true, steps, n, false);
    if ((edge.orders & IN_HB) && (n = shortest(arena, e, way, &steps)) > 0)
        close_cycle(arena, e, edge, false, steps, n, false);
}

/* A refused order, and what would follow from it: that its readers read an older value. */
static void find_undoubted(struct arena *arena, struct explanation *e, unsigned k)
{
    for (unsigned i = k; !e->cycle && i < e->n_edges; i++) {
        const struct edge *edge = &e->edges[i];
        if (!edge->refused || (i > k && (edge->kind != EDGE_RB || edge->to != e->edges[k].to)))
            continue;
        if (edge->orders & FORBIDDEN)
            close_cycle(arena, e, *edge, false, NULL, 0, false);
        else
            find_way_back(arena, e, i, true);
    }
}

/* Turns the cycle so that it begins with a write: one that its last step, a read, misses, or else any; so it tells
 * what happens in the order in which it was meant. */
static void begin_with_write(struct arena *arena, struct explanation *e)
{
    unsigned n = e->n_cycle, first = 0;
    while (first < n && e->cycle[(first + n - 1) % n].edge.kind != EDGE_RB)
        first++;
    for (unsigned i = 0; first == n && i < n; i++)
        first = e->events[e->cycle[i].edge.from].writes ? i : first;
    struct cycle_step *turned = ARENA_ARRAY(arena, struct cycle_step, n + 1);
    for (unsigned i = 0; i < n; i++)
        turned[i] = e->cycle[(first + i) % n];
    e->cycle = turned;
}

bool find_cycle(struct arena *arena, struct explanation *e)
{
    unsigned k = 0;
    while (k < e->n_edges && !e->edges[k].refused)
        k++;
    if (k == e->n_edges)
        return false;
    e->cycle = NULL;
    find_undoubted(arena, e, k);
    if (!e->cycle)
        find_way_back(arena, e, k, false);
    for (unsigned i = 0; e->cycle && i < e->n_cycle; i++)
        find_because(arena, e, &e->cycle[i]);
    if (e->cycle)
        begin_with_write(arena, e);
    return e->cycle != NULL;
}
