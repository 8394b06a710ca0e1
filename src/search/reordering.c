/* Looks for the orders of the program that an allowed outcome shows not to be kept: a cycle in happens-before
 * together with all of program order, with as few steps as possible that program order alone accounts for. */
#include "search/reordering.h"

#include "base/arena.h"

#include <stdlib.h>

enum { NONE = 0, KEPT = 10, LOST = 10000, FAR = 10000000 };

struct finder {
    struct arena *arena;
    const struct explanation *e;
    unsigned n, words;
    uint16_t *weight;  /* n * n: NONE, LOST, or that of an edge */
    struct edge *edge; /* n * n: what the step is */
    struct order ib, hb;
};

static bool is_earlier_call(const struct event *a, const struct event *b)
{
    return a->thread == b->thread && a->call < b->call;
}

/* That a wait returns after a put was acknowledged says nothing of the put's write; that a load gets its own thread's
 * store from the store buffer, nothing of when that reaches memory. */
static bool is_of_issue_only(const struct edge *edge)
{
    return (edge->kind == EDGE_PF || edge->kind == EDGE_RF) && !(edge->orders & IN_HB);
}

static void add(struct finder *f, struct edge edge, uint16_t weight)
{
    size_t i = (size_t)edge.from * f->n + edge.to;
    if (f->weight[i] != NONE && f->weight[i] <= weight)
        return;
    f->weight[i] = weight;
    f->edge[i] = edge;
}

/* Orders that were chosen to fit say less than what was read. */
static uint16_t weight_of(const struct edge *edge)
{
    switch (edge->kind) {
    case EDGE_NFO:
        return 100 * KEPT;
    case EDGE_RAO:
    case EDGE_AR:
        return 4 * KEPT;
    case EDGE_MO:
        return KEPT + 5;
    default:
        return KEPT;
    }
}

static void fill_graph(struct finder *f)
{
    const struct explanation *e = f->e;
    f->weight = ARENA_ARRAY(f->arena, uint16_t, (size_t)f->n * f->n + 1);
    f->edge = ARENA_ARRAY(f->arena, struct edge, (size_t)f->n * f->n + 1);
    for (unsigned i = 0; i < e->n_edges; i++)
        if (!is_of_issue_only(&e->edges[i]))
            add(f, e->edges[i], weight_of(&e->edges[i]));
    for (unsigned a = 0; a < f->n; a++)
        for (unsigned b = a + 1; b < f->n; b++) {
            const struct event *x = &e->events[a], *y = &e->events[b];
            struct edge edge = {.from = (uint16_t)a, .to = (uint16_t)b, .kind = EDGE_PPO};
            if (x->thread != y->thread)
                continue;
            if (kept_in_hb(x, y))
                add(f, edge, KEPT);
            else if (is_earlier_call(x, y))
                add(f, edge, LOST);
        }
}

/* --- the cycle --- */

/* Distances from `start`, and where each event was reached from. Returns the weight of the lightest cycle
 * through `start`; *last: its last event. */
static unsigned lightest_cycle(const struct finder *f, unsigned start, unsigned *distance, int *from,
                               unsigned *last)
{
    bool *done = xcalloc(f->n, sizeof *done);
    unsigned best = FAR;
    for (unsigned i = 0; i < f->n; i++)
        distance[i] = i == start ? 0 : FAR;
    for (unsigned round = 0; round < f->n; round++) {
        unsigned at = f->n;
        for (unsigned i = 0; i < f->n; i++)
            if (!done[i] && distance[i] < FAR && (at == f->n || distance[i] < distance[at]))
                at = i;
        if (at == f->n)
            break;
        done[at] = true;
        for (unsigned to = 0; to < f->n; to++) {
            unsigned step = f->weight[(size_t)at * f->n + to], there = distance[at] + step;
            if (step != NONE && to == start && there < best) {
                best = there;
                *last = at;
            } else if (step != NONE && there < distance[to]) {
                distance[to] = there;
                from[to] = (int)at;
            }
        }
    }
    free(done);
    return best;
}

static void keep_cycle(const struct finder *f, struct reordering *r, unsigned start, const int *from,
                       unsigned last)
{
    unsigned n = 1;
    for (unsigned at = last; at != start; at = (unsigned)from[at])
        n++;
    r->cycle = ARENA_ARRAY(f->arena, struct cycle_step, n);
    r->lost = ARENA_ARRAY(f->arena, bool, n);
    r->n_cycle = n;
    for (unsigned at = last, to = start, i = n; i-- > 0; to = at, at = i ? (unsigned)from[at] : at) {
        r->cycle[i].edge = f->edge[(size_t)at * f->n + to];
        r->lost[i] = f->weight[(size_t)at * f->n + to] == LOST;
    }
}

static void find_lost(const struct finder *f, struct reordering *r)
{
    unsigned *distance = xcalloc(f->n, sizeof *distance), best = FAR, last = 0;
    int *from = xcalloc(f->n, sizeof *from);
    for (unsigned start = 0; start < f->n; start++) {
        unsigned weight = lightest_cycle(f, start, distance, from, &last);
        if (weight < best) {
            best = weight;
            keep_cycle(f, r, start, from, last);
        }
    }
    free(distance);
    free(from);
}

/* --- the sequence --- */

static struct order new_order(const struct finder *f)
{
    size_t size = (size_t)f->n * f->words + 1;
    return (struct order){ARENA_ARRAY(f->arena, uint64_t, size), ARENA_ARRAY(f->arena, uint64_t, size)};
}

static bool is_instantaneous(const struct event *e)
{
    return e->lib == LIB_TSO ? tso_instantaneous(e->type) : stamp_instantaneous(e->type);
}

/* in_turn: all of program order between statements too, which then closes no cycle. */
static void close_orders(struct finder *f, bool in_turn)
{
    const struct explanation *e = f->e;
    f->ib = new_order(f);
    f->hb = new_order(f);
    for (unsigned a = 0; a < f->n; a++)
        for (unsigned b = a + 1; b < f->n; b++) {
            const struct event *x = &e->events[a], *y = &e->events[b];
            if (x->thread == y->thread && kept_in_ib(x, y))
                order_add(&f->ib, a, b, f->words);
            if (x->thread == y->thread && (kept_in_hb(x, y) || (in_turn && is_earlier_call(x, y))))
                order_add(&f->hb, a, b, f->words);
        }
    for (unsigned i = 0; i < e->n_edges; i++) {
        if (e->edges[i].orders & IN_IB)
            order_add(&f->ib, e->edges[i].from, e->edges[i].to, f->words);
        if (e->edges[i].orders & IN_HB)
            order_add(&f->hb, e->edges[i].from, e->edges[i].to, f->words);
    }
    for (unsigned a = 0; a < f->n; a++)
        if (is_instantaneous(&e->events[a]))
            order_add_many(&f->hb, a, order_after(&f->ib, a, f->words), f->words);
}

static bool is_same_call(const struct event *a, const struct event *b)
{
    return a->thread == b->thread && a->call == b->call;
}

/* Puts all of a's call before all of b's. */
static bool join(const struct finder *f, unsigned a, unsigned b, bool *changed)
{
    const struct event *events = f->e->events;
    for (unsigned x = 0; x < f->n; x++)
        for (unsigned y = 0; is_same_call(&events[x], &events[a]) && y < f->n; y++) {
            if (!is_same_call(&events[y], &events[b]) || bit_test(order_after(&f->hb, x, f->words), y))
                continue;
            *changed = true;
            if (!order_add(&f->hb, x, y, f->words))
                return false;
        }
    return true;
}

static bool joined(const struct finder *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned a = 0; a < f->n; a++)
            for (unsigned b = 0; b < f->n; b++)
                if (bit_test(order_after(&f->hb, a, f->words), b) &&
                    !is_same_call(&f->e->events[a], &f->e->events[b]) && !join(f, a, b, &changed))
                    return false;
    }
    return true;
}

/* Makes one step of each call, in happens-before; false, with happens-before as it was, if that cannot be. */
static bool join_calls(struct finder *f)
{
    size_t size = (size_t)f->n * f->words * sizeof *f->hb.after;
    struct order old = f->hb;
    f->hb = new_order(f);
    memcpy(f->hb.after, old.after, size);
    memcpy(f->hb.before, old.before, size);
    if (joined(f))
        return true;
    f->hb = old;
    return false;
}

/* How many events of earlier calls of its thread are still to come. */
static unsigned overtaken(const struct finder *f, const uint64_t *done, unsigned event)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->n; i++)
        n += !bit_test(done, i) && is_earlier_call(&f->e->events[i], &f->e->events[event]);
    return n;
}

static void find_sequence(const struct finder *f, struct reordering *r)
{
    uint64_t done[REL_MAX_WORDS] = {0};
    const struct event *last = NULL;
    r->sequence = ARENA_ARRAY(f->arena, unsigned, f->n + 1);
    for (unsigned place = 0; place < f->n; place++) {
        unsigned best = f->n, least = 0;
        for (unsigned i = 0; i < f->n; i++) {
            if (bit_test(done, i) || !bits_within(order_before(&f->hb, i, f->words), done, f->words))
                continue;
            const struct event *e = &f->e->events[i];
            unsigned cost = 3 * overtaken(f, done, i) + (unsigned)(last && e->thread != last->thread) +
                            (unsigned)(last && !is_same_call(e, last));
            if (best == f->n || cost < least) {
                best = i;
                least = cost;
            }
        }
        if (best == f->n)
            break; /* happens-before has a cycle: not an allowed explanation */
        r->sequence[place] = best;
        last = &f->e->events[best];
        bit_set(done, best);
    }
}

static struct finder finder_for(struct arena *arena, const struct explanation *e)
{
    return (struct finder){.arena = arena, .e = e, .n = e->n_events, .words = (e->n_events + 63) / 64};
}

struct reordering find_lost_order(struct arena *arena, const struct explanation *e)
{
    struct finder f = finder_for(arena, e);
    struct reordering r = {.too_many = f.n > REORDERING_MOST_EVENTS};
    if (!r.too_many) {
        fill_graph(&f);
        find_lost(&f, &r);
    }
    return r;
}

struct reordering find_reordering(struct arena *arena, const struct explanation *e)
{
    struct finder f = finder_for(arena, e);
    struct reordering r = find_lost_order(arena, e);
    bool in_turn = !r.n_cycle && !r.too_many;
    close_orders(&f, in_turn);
    r.interrupted = in_turn && !join_calls(&f);
    find_sequence(&f, &r);
    return r;
}
