/* Which edges of an explanation are drawn (see graph.h). The edges of the cycle always are. */
#include "cli/report/graph.h"

#include "base/arena.h"

#include <stdlib.h>

struct maker {
    struct arena *arena;
    const struct explanation *e;
    struct graph graph;
    unsigned capacity, words;
    uint64_t *kept; /* program order as it is kept, the halves of operations and completions: closed */
};

static const enum edge_kind prominence[] = {EDGE_RF, EDGE_RB,  EDGE_MO,  EDGE_LO,  EDGE_AR,
                                            EDGE_PF, EDGE_RAO, EDGE_NFO, EDGE_ISO, EDGE_PPO};

enum edge_kind link_kind(const struct link *link)
{
    for (size_t i = 0; i < sizeof prominence / sizeof *prominence; i++)
        if (link->kinds >> prominence[i] & 1)
            return prominence[i];
    return EDGE_PPO;
}

static struct link *draw(struct maker *m, unsigned from, unsigned to, enum edge_kind kind)
{
    struct graph *graph = &m->graph;
    unsigned i = 0;
    while (i < graph->n_links && (graph->links[i].from != from || graph->links[i].to != to))
        i++;
    if (i == m->capacity) {
        struct link *old = graph->links;
        m->capacity = m->capacity ? 2 * m->capacity : 64;
        graph->links = ARENA_ARRAY(m->arena, struct link, m->capacity);
        if (old)
            memcpy(graph->links, old, graph->n_links * sizeof *old);
    }
    if (i == graph->n_links)
        graph->links[graph->n_links++] = (struct link){.from = from, .to = to};
    graph->links[i].kinds |= (uint16_t)(1u << kind);
    return &graph->links[i];
}

/* --- program order as it is kept --- */

static bool is_kept(const struct maker *m, unsigned a, unsigned b)
{
    const struct event *x = &m->e->events[a], *y = &m->e->events[b];
    return a < b && x->thread == y->thread && kept_in_hb(x, y);
}

static bool follows_from_program(const struct edge *edge)
{
    return !edge->refused && (edge->kind == EDGE_ISO || edge->kind == EDGE_PF);
}

/* Events of one thread are numbered in program order, and every edge of `kept` goes forward in it, so that
 * one pass from the end closes the relation. */
static void close_kept(struct maker *m)
{
    const struct explanation *e = m->e;
    m->kept = ARENA_ARRAY(m->arena, uint64_t, (size_t)e->n_events * m->words + 1);
    for (unsigned a = e->n_events; a-- > 0;) {
        uint64_t *after = m->kept + (size_t)a * m->words;
        for (unsigned b = a + 1; b < e->n_events; b++)
            if (is_kept(m, a, b))
                bit_set(after, b);
        for (unsigned i = 0; i < e->n_edges; i++)
            if (e->edges[i].from == a && follows_from_program(&e->edges[i]))
                bit_set(after, e->edges[i].to);
        FOR_BITS(b, after, m->words)
        bits_or(after, m->kept + (size_t)b * m->words, m->words);
    }
}

static bool kept(const struct maker *m, unsigned a, unsigned b)
{
    return bit_test(m->kept + (size_t)a * m->words, b);
}

static bool has_stop_between(const struct maker *m, unsigned a, unsigned b)
{
    for (unsigned c = a + 1; c < b; c++)
        if (kept(m, a, c) && kept(m, c, b))
            return true;
    return false;
}

static void draw_kept(struct maker *m)
{
    for (unsigned a = 0; a < m->e->n_events; a++)
        for (unsigned b = a + 1; b < m->e->n_events; b++)
            if (is_kept(m, a, b) && !has_stop_between(m, a, b))
                draw(m, a, b, EDGE_PPO);
}

/* --- the libraries' edges --- */

static bool in_mo(const struct maker *m, unsigned a, unsigned b)
{
    const struct explanation *e = m->e;
    for (unsigned i = 0; i < e->n_edges; i++)
        if (e->edges[i].kind == EDGE_MO && e->edges[i].from == a && e->edges[i].to == b)
            return true;
    return false;
}

/* Is `to` the next write of its location after the write `from` (RF_INIT: the first one)? */
static bool is_next_write(const struct maker *m, int from, unsigned to, unsigned reader)
{
    const struct event *events = m->e->events;
    for (unsigned w = 0; w < m->e->n_events; w++)
        if (w != to && w != reader && events[w].writes && events[w].loc == events[to].loc &&
            in_mo(m, w, to) && (from == RF_INIT || in_mo(m, (unsigned)from, w)))
            return false;
    return true;
}

/* Another edge of this kind from or to the same event, between which and this one program order leads. */
static bool follows_from_another(const struct maker *m, const struct edge *edge)
{
    const struct explanation *e = m->e;
    for (unsigned i = 0; i < e->n_edges; i++) {
        const struct edge *other = &e->edges[i];
        if (other->kind != edge->kind || other->refused)
            continue;
        bool later_start = other->to == edge->to && kept(m, edge->from, other->from);
        bool earlier_end = other->from == edge->from && kept(m, other->to, edge->to);
        bool both = kept(m, edge->from, other->from) && kept(m, other->to, edge->to);
        if (later_start || earlier_end || both)
            return true;
    }
    return false;
}

/* From one to the next in a total order. */
static bool has_other_between(const struct maker *m, const struct edge *edge)
{
    const struct explanation *e = m->e;
    for (unsigned i = 0; i < e->n_edges; i++)
        for (unsigned j = 0;
             e->edges[i].kind == edge->kind && e->edges[i].from == edge->from && j < e->n_edges; j++) {
            const struct event *first = &e->events[e->edges[i].to], *second = &e->events[e->edges[j].from];
            bool meet = first == second || (edge->kind == EDGE_LO && first->partner != NO_EVENT &&
                                            first->partner == (int)e->edges[j].from);
            if (meet && e->edges[j].kind == edge->kind && e->edges[j].to == edge->to)
                return true;
        }
    return false;
}

static bool has_link(const struct explanation *e, unsigned from, unsigned to, enum edge_kind kind)
{
    for (unsigned i = 0; i < e->n_edges; i++)
        if (e->edges[i].from == from && e->edges[i].to == to && e->edges[i].kind == kind)
            return true;
    return false;
}

/* The write half of a remote RMW before the next RMW (ar) says more than that the RMWs are in this order. */
static bool shown_by_ar(const struct maker *m, const struct edge *edge)
{
    int write = m->e->events[edge->from].partner;
    return write != NO_EVENT && has_link(m->e, (unsigned)write, edge->to, EDGE_AR);
}

/* Of the edges of a remote RMW's write half, that to the next RMW is enough. */
static bool later_atomic(const struct maker *m, const struct edge *edge)
{
    for (unsigned r = 0; r < m->e->n_events; r++)
        if (r != edge->to && has_link(m->e, edge->from, r, EDGE_AR) && has_link(m->e, r, edge->to, EDGE_RAO))
            return true;
    return false;
}

/* A strong lock's release fences every node; the last fence's edge is drawn for all. */
static bool is_twin(const struct maker *m, const struct edge *edge)
{
    unsigned next = edge->from + 1u;
    return next < m->e->n_events && m->e->events[next].call == m->e->events[edge->from].call &&
           m->e->events[next].thread == m->e->events[edge->from].thread &&
           has_link(m->e, next, edge->to, EDGE_LO);
}

static bool is_drawn(const struct maker *m, const struct edge *edge)
{
    if (edge->refused && edge->kind != EDGE_RF)
        return false;
    if (edge->kind == EDGE_MO && in_mo(m, edge->to, edge->from))
        return false; /* the outcome asks for both: if that is the contradiction, the cycle shows it */
    switch (edge->kind) {
    case EDGE_RF:
        return true;
    case EDGE_ISO:
        return !has_stop_between(m, edge->from, edge->to);
    case EDGE_MO:
        return is_next_write(m, edge->from, edge->to, edge->to) && !kept(m, edge->from, edge->to);
    case EDGE_RB:
        return is_next_write(m, m->e->events[edge->from].rf, edge->to, edge->from) &&
               !kept(m, edge->from, edge->to);
    case EDGE_PF:
    case EDGE_NFO:
        return !follows_from_another(m, edge) && (edge->kind == EDGE_PF || !kept(m, edge->from, edge->to));
    case EDGE_RAO:
        return !kept(m, edge->from, edge->to) && !has_other_between(m, edge) && !shown_by_ar(m, edge);
    case EDGE_AR:
        return !follows_from_another(m, edge) && !later_atomic(m, edge);
    case EDGE_LO:
        return !has_other_between(m, edge) && !is_twin(m, edge);
    default:
        return false;
    }
}

struct graph graph_of(struct arena *arena, const struct explanation *e)
{
    struct maker m = {.arena = arena, .e = e, .words = (e->n_events + 63) / 64};
    m.graph.explanation = e;
    close_kept(&m);
    draw_kept(&m);
    for (unsigned i = 0; i < e->n_edges; i++)
        if (is_drawn(&m, &e->edges[i]))
            draw(&m, e->edges[i].from, e->edges[i].to, e->edges[i].kind);
    for (unsigned i = 0; i < e->n_cycle; i++) {
        const struct edge *edge = &e->cycle[i].edge;
        struct link *link = draw(&m, edge->from, edge->to, edge->kind);
        link->kinds = (uint16_t)(1u << edge->kind);
        link->step = i + 1;
    }
    return m.graph;
}
