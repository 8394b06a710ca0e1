/* Which edges of an explanation are drawn. Orders that the eye completes by itself are left out: what follows
 * from program order as it is kept, mo but to the next write, rb but to the next write. */
#ifndef REMORA_CLI_REPORT_GRAPH_H
#define REMORA_CLI_REPORT_GRAPH_H

#include "search/explain.h"

/* Edges between the same two events are one link. */
struct link {
    unsigned from, to;
    uint16_t kinds; /* bit k: enum edge_kind k */
    unsigned step;  /* of the cycle, from 1; 0: not on it */
};

struct graph {
    const struct explanation *explanation;
    struct link *links;
    unsigned n_links;
};

struct graph graph_of(struct arena *, const struct explanation *);

/* The kind that a link is drawn as. */
enum edge_kind link_kind(const struct link *);

#endif
