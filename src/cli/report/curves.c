/* The ways of the edges. To the next subevent of a thread: straight down, at the left of the boxes. Within a
 * thread else: an arc, program order on the left, communication on the right. Between threads: from side to
 * side, through a gap between the calls of each column that lies between. */
#include "cli/report/curves.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

enum { LANE_X = 12, ARC = 22, ARC_STEP = 12, GAP_STEP = 4, ATTACH = 13 };

enum side { LEFT, RIGHT, DOWN };

struct end {
    unsigned event;
    enum side side;
    double y; /* where on the side */
};

/* How a link goes. */
struct route {
    unsigned column[2]; /* of its two ends */
    struct end ends[2];
    unsigned lane; /* arcs: 0 is the nearest to the boxes */
};

static unsigned column_of(const struct layout *l, unsigned event)
{
    unsigned c = 0;
    while (l->columns[c].thread != l->graph->explanation->events[event].thread)
        c++;
    return c;
}

/* The subevent below this one in its column, or n_events. */
static unsigned below(const struct layout *l, unsigned event)
{
    const struct explanation *e = l->graph->explanation;
    unsigned i = event + 1;
    while (i < e->n_events && e->events[i].thread != e->events[event].thread)
        i++;
    return i;
}

static bool is_program_like(enum edge_kind kind)
{
    return kind == EDGE_PPO || kind == EDGE_ISO || kind == EDGE_PF || kind == EDGE_NFO;
}

static struct route *find_routes(struct arena *arena, const struct layout *l)
{
    const struct graph *graph = l->graph;
    struct route *routes = ARENA_ARRAY(arena, struct route, graph->n_links + 1);
    for (unsigned i = 0; i < graph->n_links; i++) {
        const struct link *link = &graph->links[i];
        unsigned a = column_of(l, link->from), b = column_of(l, link->to);
        enum side from = a < b ? RIGHT : LEFT, to = a < b ? LEFT : RIGHT;
        if (a == b)
            from = to = below(l, link->from) == link->to   ? DOWN
                        : is_program_like(link_kind(link)) ? LEFT
                                                           : RIGHT;
        routes[i] = (struct route){{a, b}, {{link->from, from, 0}, {link->to, to, 0}}, 0};
    }
    return routes;
}

static bool is_arc(const struct route *route)
{
    return route->column[0] == route->column[1] && route->ends[0].side != DOWN;
}

/* The space in the channel that the arcs of one side of a column need, given in ranks (event numbers). */
static bool overlap(const struct route *a, const struct route *b)
{
    unsigned a0 = a->ends[0].event, a1 = a->ends[1].event, b0 = b->ends[0].event, b1 = b->ends[1].event;
    unsigned low_a = a0 < a1 ? a0 : a1, high_a = a0 < a1 ? a1 : a0;
    unsigned low_b = b0 < b1 ? b0 : b1, high_b = b0 < b1 ? b1 : b0;
    return low_a < high_b && low_b < high_a;
}

static unsigned span(const struct route *r)
{
    return r->ends[0].event < r->ends[1].event ? r->ends[1].event - r->ends[0].event
                                               : r->ends[0].event - r->ends[1].event;
}

/* Short arcs take the inner lanes. */
static void choose_lanes(struct route *routes, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (!is_arc(&routes[i]))
            continue;
        for (unsigned j = 0; j < n; j++)
            if (j != i && is_arc(&routes[j]) && routes[j].column[0] == routes[i].column[0] &&
                routes[j].ends[0].side == routes[i].ends[0].side && overlap(&routes[i], &routes[j]) &&
                (span(&routes[j]) < span(&routes[i]) || (span(&routes[j]) == span(&routes[i]) && j < i)) &&
                routes[j].lane >= routes[i].lane)
                routes[i].lane = routes[j].lane + 1;
    }
}

/* Lanes depend on those of shorter arcs; so many rounds settle them. */
static void settle_lanes(struct route *routes, unsigned n)
{
    for (unsigned round = 0; round < 8; round++)
        choose_lanes(routes, n);
}

double arcs_reach(struct arena *arena, const struct layout *l, unsigned c, bool at_left)
{
    struct route *routes = find_routes(arena, l);
    double reach = 0;
    settle_lanes(routes, l->graph->n_links);
    for (unsigned i = 0; i < l->graph->n_links; i++)
        if (is_arc(&routes[i]) && routes[i].column[0] == c && (routes[i].ends[0].side == LEFT) == at_left)
            reach = fmax(reach, 0.75 * (ARC + ARC_STEP * routes[i].lane));
    return reach;
}

double channel_width(struct arena *arena, const struct layout *l, unsigned c)
{
    struct route *routes = find_routes(arena, l);
    unsigned crossing = 0;
    for (unsigned i = 0; i < l->graph->n_links; i++)
        crossing += (routes[i].column[0] < c) != (routes[i].column[1] < c);
    return (c == 0 || c == l->n_columns ? 0 : 24) + fmin(16.0 * crossing, 110);
}

/* --- where on a side the ends stand --- */

static double middle(const struct box *box)
{
    return (box->y0 + box->y1) / 2;
}

static double pull(const struct layout *l, const struct route *route, unsigned end)
{
    return middle(&l->cells[route->ends[1 - end].event].box);
}

/* Ends on one side of a cell are spread over it in the order of where they lead. */
static void attach(const struct layout *l, struct route *routes, unsigned n, unsigned i, unsigned end)
{
    struct end *mine = &routes[i].ends[end];
    unsigned before = 0, all = 0;
    for (unsigned j = 0; j < n; j++)
        for (unsigned k = 0; k < 2; k++) {
            const struct end *other = &routes[j].ends[k];
            if (other->event != mine->event || other->side != mine->side)
                continue;
            double difference = pull(l, &routes[j], k) - pull(l, &routes[i], end);
            all++;
            before += difference < 0 || (difference == 0 && (j < i || (j == i && k < end)));
        }
    double step = fmin(6, (double)ATTACH / all);
    mine->y = middle(&l->cells[mine->event].box) + step * (before - (all - 1) / 2.0);
}

/* --- curves --- */

struct pen {
    struct curve *curve;
};

static void bend(struct pen *pen, struct point a, struct point b, struct point to)
{
    struct curve *c = pen->curve;
    c->points[c->n++] = a;
    c->points[c->n++] = b;
    c->points[c->n++] = to;
}

static struct point last(const struct pen *pen)
{
    return pen->curve->points[pen->curve->n - 1];
}

/* Leaves and arrives horizontally. */
static void glide(struct pen *pen, struct point to)
{
    struct point from = last(pen);
    double reach = 0.42 * (to.x - from.x);
    bend(pen, (struct point){from.x + reach, from.y}, (struct point){to.x - reach, to.y}, to);
}

static void draw_straight(const struct layout *l, const struct route *route, struct pen *pen)
{
    const struct box *from = &l->cells[route->ends[0].event].box, *to = &l->cells[route->ends[1].event].box;
    double x = from->x0 + LANE_X, y0 = from->y1, y1 = to->y0 - ARROW;
    struct curve *curve = pen->curve;
    curve->points[curve->n++] = (struct point){x, y0};
    bend(pen, (struct point){x, y0 + (y1 - y0) / 3}, (struct point){x, y1 - (y1 - y0) / 3},
         (struct point){x, y1});
    curve->tip = (struct point){x, to->y0};
}

static double side_x(const struct layout *l, const struct end *end)
{
    const struct box *box = &l->cells[end->event].box;
    return end->side == LEFT ? box->x0 : box->x1;
}

static void draw_arc(const struct layout *l, const struct route *route, struct pen *pen)
{
    double x = side_x(l, &route->ends[0]), out = route->ends[0].side == LEFT ? -1 : 1;
    double depth = ARC + ARC_STEP * route->lane;
    double y0 = route->ends[0].y, y1 = route->ends[1].y;
    struct curve *curve = pen->curve;
    curve->points[curve->n++] = (struct point){x, y0};
    bend(pen, (struct point){x + out * depth, y0}, (struct point){x + out * depth, y1},
         (struct point){x + out * ARROW, y1});
    curve->tip = (struct point){x, y1};
}

/* The free height in column c that is nearest to y: between two calls, or above or below all. */
static double gap_near(const struct layout *l, unsigned c, double y, double *space)
{
    double best = 0, above = l->columns[c].box.y0 - 4;
    bool found = false;
    for (unsigned i = 0; i <= l->n_calls; i++) {
        if (i < l->n_calls && l->calls[i].thread != l->columns[c].thread)
            continue;
        bool end = i == l->n_calls;
        double low = end ? fmax(y, above + 12) : l->calls[i].box.y0, height = (above + low) / 2;
        if (end)
            height = fmax(y, above + 10);
        if (!found || fabs(height - y) < fabs(best - y)) {
            best = height;
            *space = end ? 40 : low - above;
        }
        found = true;
        if (!end)
            above = l->calls[i].box.y1;
    }
    return best;
}

/* used: by column, how many edges went through it already. */
static void draw_across(const struct layout *l, const struct route *route, struct pen *pen, unsigned *used)
{
    int step = route->column[0] < route->column[1] ? 1 : -1;
    double x0 = side_x(l, &route->ends[0]), y0 = route->ends[0].y;
    double x1 = side_x(l, &route->ends[1]), y1 = route->ends[1].y;
    struct curve *curve = pen->curve;
    curve->points[curve->n++] = (struct point){x0, y0};
    for (int c = (int)route->column[0] + step; c != (int)route->column[1]; c += step) {
        const struct box *box = &l->columns[c].box;
        double enter = step > 0 ? box->x0 - 4 : box->x1 + 4, leave = step > 0 ? box->x1 + 4 : box->x0 - 4;
        double space, wish = y0 + (y1 - y0) * (enter - x0) / (x1 - x0);
        double y = gap_near(l, (unsigned)c, wish, &space);
        unsigned lane = used[c]++;
        y += GAP_STEP * (lane % 2 ? (double)((lane + 1) / 2) : -(double)(lane / 2));
        glide(pen, (struct point){enter, y});
        glide(pen, (struct point){leave, y});
    }
    glide(pen, (struct point){x1 - step * ARROW, y1});
    curve->tip = (struct point){x1, y1};
}

void draw_curves(struct arena *arena, struct layout *l)
{
    struct route *routes = find_routes(arena, l);
    unsigned n = l->graph->n_links, *used = ARENA_ARRAY(arena, unsigned, l->n_columns + 1);
    settle_lanes(routes, n);
    l->curves = ARENA_ARRAY(arena, struct curve, n + 1);
    for (unsigned i = 0; i < n; i++) {
        struct pen pen = {&l->curves[i]};
        pen.curve->points = ARENA_ARRAY(arena, struct point, 6 * l->n_columns + 4);
        attach(l, routes, n, i, 0);
        attach(l, routes, n, i, 1);
        if (routes[i].column[0] != routes[i].column[1])
            draw_across(l, &routes[i], &pen, used);
        else if (is_arc(&routes[i]))
            draw_arc(l, &routes[i], &pen);
        else
            draw_straight(l, &routes[i], &pen);
    }
}
