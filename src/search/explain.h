/* Why an outcome is allowed (an execution) or forbidden (the cycle that every such execution has). Made from
 * the declarative model. */
#ifndef REMORA_SEARCH_EXPLAIN_H
#define REMORA_SEARCH_EXPLAIN_H

#include "model/execution.h"
#include "search/engine.h"

struct arena;

enum explained {
    EXPLAINED_ALLOWED,   /* `execution` is consistent and has the wanted outcome */
    EXPLAINED_FORBIDDEN, /* `execution` has the wanted outcome and would be consistent but for `cycle` */
    EXPLAINED_NO_VALUES, /* reads never get the values of the wanted outcome, whatever the order: nothing writes them, or only
                            what comes behind the read */
    EXPLAINED_NO_CYCLE, /* forbidden, but limits were reached before a cycle was found */
    EXPLAINED_UNKNOWN   /* limits were reached before it was known whether it is allowed */
};

/* One step of a cycle. In a cycle of happens-before, steps with `issued` come from issue order: they begin at
 * an instantaneous event. */
struct cycle_step {
    struct edge edge;
    bool issued;
    /* mo, nfo, rao, lo: what rules the other direction out, a chain from edge.from to edge.to (or to a reader
     * of edge.to, whose rb would lead back). rb, ar: the same for the mo or rao edge behind it, `ordered`.
     * Without a chain the other direction fails elsewhere. */
    struct edge ordered;
    struct cycle_step *because;
    unsigned n_because;
};

struct explanation {
    enum explained verdict;
    const struct program *program;
    const struct event *events;
    unsigned n_events;
    const struct edge
        *edges; /* all but program order; those with `refused` are not part of a consistent execution */
    unsigned n_edges;
    const struct observable *observables;
    unsigned n_observables;
    const uint64_t *row;      /* the outcome: a value for each observable */
    const int *finals;        /* by observable that is a location: its last write, or RF_INIT */
    struct cycle_step *cycle; /* or one step that is FORBIDDEN by itself */
    unsigned n_cycle;
    bool cycle_of_issue_order; /* of ib rather than of hb */
    uint64_t candidates;       /* EXPLAINED_FORBIDDEN: how many ways to get the outcome were looked at */
    bool all_candidates;       /* … and whether they are all */
    uint64_t ways;             /* those of the candidates that have this very row, … */
    size_t rows;               /* … and how many different rows they have: outcomes that `wanted` accepts */
};

/* Explains the outcomes that `wanted` accepts. query: of the client level program. */
struct explanation explain(struct arena *, const struct query *, bool (*wanted)(void *, const uint64_t *row),
                           void *context);

/* In words. An event: "P0  put(y, 1, d): on node 1 y becomes 1  [aNRW_1]"; a step: why its edge is there, the event at
 * its end being called `next` ("step 3"). */
const char *explain_event(struct arena *, const struct explanation *, unsigned event);
const char *explain_edge(struct arena *, const struct explanation *, const struct cycle_step *,
                         const char *next);
/* Does the outcome show this write's value as the last one of its location? */
bool is_final_write(const struct explanation *, unsigned event);
/* Short forms for graphs: "aNRW_1 y=1", "rf". */
const char *event_label(struct arena *, const struct program *, const struct event *);
const char *edge_name(enum edge_kind);

/* Checks an explanation with the definitions of sections 3 to 8, from nothing but the events and edges given:
 * that the execution is consistent, or that every step of the cycle is an edge. NULL, or what is wrong. */
const char *explanation_check(struct arena *, const struct explanation *);

#endif
