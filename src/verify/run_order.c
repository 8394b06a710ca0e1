/* See run_order.h. The run is turned into an execution of section 3: what each operation read and wrote, in which
 * order the locations got their values, who read from whom. If all of program order were kept, that could have no
 * cycle; where it has one, the run shows orders that are not kept (search/reordering.h). A run without one comes about
 * in an order in which each thread does one thing after the other. */
#include "verify/run_order.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    struct arena *arena;
    const struct story *story;
    struct event *events;
    struct run_event *of;
    unsigned n, capacity;
    struct edge *edges;
    unsigned n_edges, edge_capacity;
    struct halves {
        int event[3]; /* or NO_EVENT */
    } * of_operation;
};

enum { READ, WRITE, RESULT };

/* --- events --- */

static void add_event(struct builder *b, uint32_t number, unsigned half, enum tso_type type, uint32_t at,
                      unsigned loc)
{
    const struct operation *o = &b->story->operations[number];
    bool nic = tso_is_nic(type) || type == T_P;
    bool writes = type == T_LW || type == T_CAS || type == T_NRW || type == T_NAW || type == T_NLW;
    bool reads = type == T_LR || type == T_CAS || type == T_NLR || type == T_NAR || type == T_NRR;
    if (at == NOT_AT_ALL)
        return;
    if (b->n == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 64;
        b->events = xrealloc(b->events, b->capacity * sizeof *b->events);
        b->of = xrealloc(b->of, b->capacity * sizeof *b->of);
    }
    b->events[b->n] = (struct event){.type = (uint8_t)type,
                                     .lib = LIB_TSO,
                                     .thread = (uint8_t)o->thread,
                                     .node = nic ? o->local->node : 0,
                                     .call = (uint16_t)number,
                                     .loc = (uint16_t)loc,
                                     .reads = reads && loc != PROG_NO_LOC,
                                     .writes = writes,
                                     .rf = RF_INIT,
                                     .read = o->value_read,
                                     .written = type == T_NLW ? o->value_read : o->value_written};
    b->of[b->n] = (struct run_event){number, at};
    b->of_operation[number].event[half] = (int)b->n++;
}

static void add_operation(struct builder *b, uint32_t number)
{
    const struct operation *o = &b->story->operations[number];
    unsigned loc = o->local->loc;
    switch (o->local->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        add_event(b, number, READ, T_LR, o->read, loc);
        break;
    case OP_STORE:
        add_event(b, number, WRITE, T_LW, o->write, loc);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG: {
        bool succeeds = o->write != NOT_AT_ALL;
        add_event(b, number, READ, succeeds ? T_CAS : T_LR, o->read, loc);
        b->of_operation[number].event[WRITE] = succeeds ? b->of_operation[number].event[READ] : NO_EVENT;
        break;
    }
    case OP_MFENCE:
        add_event(b, number, READ, T_F, o->read, PROG_NO_LOC);
        break;
    case OP_POLL:
        add_event(b, number, READ, T_P, o->read, PROG_NO_LOC);
        break;
    case OP_RFENCE:
        add_event(b, number, READ, T_NF, o->read, PROG_NO_LOC);
        break;
    case OP_PUT:
        add_event(b, number, READ, T_NLR, o->read, operation_near(o));
        add_event(b, number, WRITE, T_NRW, o->write, operation_far(o));
        break;
    case OP_GET:
        add_event(b, number, READ, T_NRR, o->read, operation_far(o));
        add_event(b, number, RESULT, T_NLW, o->result, operation_near(o));
        break;
    case OP_RCAS:
    case OP_RFAA:
        add_event(b, number, READ, T_NAR, o->read, operation_far(o));
        add_event(b, number, WRITE, T_NAW, o->write, operation_far(o));
        add_event(b, number, RESULT, T_NLW, o->result, operation_near(o));
        break;
    default:
        break;
    }
}

/* By thread, since of two events of one thread the one that stands first in the program must have the lower number. */
static void add_events(struct builder *b)
{
    const struct story *story = b->story;
    b->of_operation = ARENA_ARRAY(b->arena, struct halves, story->n_operations + 1);
    for (uint32_t i = 0; i < story->n_operations; i++)
        for (unsigned half = 0; half < 3; half++)
            b->of_operation[i].event[half] = NO_EVENT;
    for (unsigned thread = 0; thread < story->machine->n_threads; thread++)
        for (uint32_t i = 0; i < story->n_operations; i++)
            if (story->operations[i].thread == thread)
                add_operation(b, i);
}

/* --- edges --- */

static void add_edge(struct builder *b, enum edge_kind kind, int from, int to)
{
    if (from == NO_EVENT || to == NO_EVENT || from == to)
        return;
    if (b->n_edges == b->edge_capacity) {
        b->edge_capacity = b->edge_capacity ? 2 * b->edge_capacity : 64;
        b->edges = xrealloc(b->edges, b->edge_capacity * sizeof *b->edges);
    }
    b->edges[b->n_edges++] = (struct edge){
        .from = (uint16_t)from, .to = (uint16_t)to, .kind = (uint8_t)kind, .orders = IN_IB | IN_HB};
}

static bool is_next(const struct builder *b, unsigned i, unsigned loc, uint32_t after, int next)
{
    return b->events[i].writes && b->events[i].loc == loc && b->of[i].at > after &&
           (next == NO_EVENT || b->of[i].at < b->of[next].at);
}

/* The write to the location that comes next after a step; NO_EVENT: none. */
static int next_write(const struct builder *b, unsigned loc, uint32_t after)
{
    int next = NO_EVENT;
    for (unsigned i = 0; i < b->n; i++)
        if (is_next(b, i, loc, after, next))
            next = (int)i;
    return next;
}

/* That changes what a read has found: whether it comes before a write of the same value, nobody could tell. */
static int next_change(const struct builder *b, unsigned loc, uint32_t after, uint64_t found)
{
    int next = NO_EVENT;
    for (unsigned i = 0; i < b->n; i++)
        if (b->events[i].written != found && is_next(b, i, loc, after, next))
            next = (int)i;
    return next;
}

static int last_write(const struct builder *b, unsigned loc, uint32_t before)
{
    int last = NO_EVENT;
    for (unsigned i = 0; i < b->n; i++)
        if (b->events[i].writes && b->events[i].loc == loc && b->of[i].at < before &&
            (last == NO_EVENT || b->of[i].at > b->of[last].at))
            last = (int)i;
    return last;
}

static void tie_reading(struct builder *b, unsigned reader)
{
    struct event *r = &b->events[reader];
    const struct operation *o = &b->story->operations[b->of[reader].operation];
    uint32_t at = b->of[reader].at;
    if (r->type == T_LR &&
        o->forwarded != NO_OPERATION) { /* an own store gives it, whenever that gets into memory */
        int store = b->of_operation[o->forwarded].event[WRITE];
        if (store != NO_EVENT)
            add_edge(b, EDGE_RB, (int)reader, next_change(b, r->loc, b->of[store].at, r->read));
        return;
    }
    int from = last_write(b, r->loc, at);
    r->rf = (int16_t)(from == NO_EVENT ? RF_INIT : from);
    add_edge(b, EDGE_RF, from, (int)reader);
    add_edge(b, EDGE_RB, (int)reader, next_change(b, r->loc, at, r->read));
}

/* Remote atomics towards a node are executed one after the other. */
static void tie_atomic(struct builder *b, unsigned atomic)
{
    int next = NO_EVENT;
    for (unsigned i = 0; i < b->n; i++)
        if (b->events[i].type == T_NAR && b->events[i].node == b->events[atomic].node &&
            b->of[i].at > b->of[atomic].at && (next == NO_EVENT || b->of[i].at < b->of[next].at))
            next = (int)i;
    add_edge(b, EDGE_RAO, (int)atomic, next);
    add_edge(b, EDGE_AR, b->of_operation[b->of[atomic].operation].event[WRITE], next);
}

/* A poll on a put tells that its source has been read, any other that the result is there. */
static void tie_poll(struct builder *b, unsigned poll)
{
    uint32_t polled = b->story->operations[b->of[poll].operation].polled;
    if (polled == NO_OPERATION)
        return;
    bool put = b->story->operations[polled].local->kind == OP_PUT;
    add_edge(b, EDGE_PF, b->of_operation[polled].event[put ? READ : RESULT], (int)poll);
}

static void add_edges(struct builder *b)
{
    for (unsigned i = 0; i < b->n; i++) {
        const struct event *e = &b->events[i];
        if (e->reads)
            tie_reading(b, i);
        if (e->writes)
            add_edge(b, EDGE_MO, (int)i, next_write(b, e->loc, b->of[i].at));
        if (e->type == T_NAR)
            tie_atomic(b, i);
        if (e->type == T_P)
            tie_poll(b, i);
    }
}

struct run_order run_order_of(struct arena *arena, const struct story *story)
{
    struct builder b = {.arena = arena, .story = story};
    struct run_order order = {0};
    add_events(&b);
    add_edges(&b);
    struct explanation e = {.events = b.events, .n_events = b.n, .edges = b.edges, .n_edges = b.n_edges};
    order.lost = find_lost_order(arena, &e);
    order.n_events = b.n;
    struct event *events = ARENA_ARRAY(arena, struct event, b.n + 1);
    struct run_event *of = ARENA_ARRAY(arena, struct run_event, b.n + 1);
    if (b.n) {
        memcpy(events, b.events, b.n * sizeof *events);
        memcpy(of, b.of, b.n * sizeof *of);
    }
    order.events = events;
    order.of = of;
    free(b.events);
    free(b.of);
    free(b.edges);
    return order;
}
