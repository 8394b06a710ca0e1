/* Places the labels of edges: each on its own curve, where it covers least of anything else. */
#include "base/arena.h"
#include "cli/report/curves.h"
#include "cli/report/teller.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 60, LABEL_HEIGHT = 11, PLACES = 17 };

static struct point on_cubic(const struct point *p, double t)
{
    double s = 1 - t, a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
    return (struct point){a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x,
                          a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y};
}

/* t from 0 to 1 over the whole chain. */
static struct point on_curve(const struct curve *curve, double t)
{
    unsigned cubics = (curve->n - 1) / 3, i = (unsigned)(t * cubics);
    if (i >= cubics)
        i = cubics - 1;
    return on_cubic(curve->points + (size_t)3 * i, t * cubics - i);
}

static double covered(const struct box *a, const struct box *b)
{
    double w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0), h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0);
    return w > 0 && h > 0 ? w * h : 0;
}

static bool inside(const struct box *box, struct point p)
{
    return p.x > box->x0 && p.x < box->x1 && p.y > box->y0 && p.y < box->y1;
}

static struct box header(const struct call_box *call)
{
    return (struct box){call->box.x0, call->box.y0, call->box.x1, call->box.y0 + LINE_HEIGHT + 2};
}

/* How bad it would be to put the label of curve i there. */
static double badness(const struct layout *l, unsigned i, const struct box *label)
{
    double bad = 0;
    for (unsigned e = 0; e < l->graph->explanation->n_events; e++)
        bad += 10 * covered(label, &l->cells[e].box);
    for (unsigned c = 0; c < l->n_calls; c++) {
        struct box text = header(&l->calls[c]);
        bad += 10 * covered(label, &text) + covered(label, &l->calls[c].box) / 10;
    }
    for (unsigned j = 0; j < l->graph->n_links; j++) {
        const struct curve *other = &l->curves[j];
        bad += 10 * covered(label, &other->label);
        for (unsigned k = 0; j != i && k <= SAMPLES; k++)
            bad += inside(label, on_curve(other, (double)k / SAMPLES)) ? 8 : 0;
    }
    return bad;
}

static struct box label_at(const struct curve *curve, const struct link *link, double t)
{
    struct point p = on_curve(curve, t);
    double width = CHARACTER_WIDTH * text_columns(curve->text) * (link->step ? 1.1 : 0.9) + 2;
    bool vertical = curve->points[0].x == curve->tip.x;
    double x = vertical ? p.x + 4 + width / 2 : p.x;
    return (struct box){x - width / 2, p.y - LABEL_HEIGHT / 2.0, x + width / 2, p.y + LABEL_HEIGHT / 2.0};
}

static void place_label(const struct layout *l, unsigned i)
{
    struct curve *curve = &l->curves[i];
    double least = 0;
    struct box best = {0};
    for (unsigned k = 0; k < PLACES; k++) {
        double away = (k + 1) / 2 * 0.05, t = k % 2 ? 0.5 + away : 0.5 - away;
        struct box label = label_at(curve, &l->graph->links[i], t);
        double bad = badness(l, i, &label) + fabs(t - 0.5) * 10;
        if (k == 0 || bad < least) {
            least = bad;
            best = label;
        }
    }
    curve->label = best;
}

static const char *label_text(struct arena *arena, const struct link *link)
{
    const char *names = NULL;
    for (unsigned kind = EDGE_LO + 1; kind-- > 0;)
        if (link->kinds >> kind & 1 && ((kind != EDGE_PPO && kind != EDGE_ISO) || link->step))
            names = names ? arena_printf(arena, "%s,%s", names, edge_name(kind)) : edge_name(kind);
    return names && link->step ? arena_printf(arena, "%s %s", letter_of_step(arena, link->step - 1), names)
                               : names;
}

/* The cycle's labels have the first choice. */
void place_labels(struct arena *arena, struct layout *l)
{
    for (unsigned i = 0; i < l->graph->n_links; i++)
        l->curves[i].text = label_text(arena, &l->graph->links[i]);
    for (int cycle = 1; cycle >= 0; cycle--)
        for (unsigned i = 0; i < l->graph->n_links; i++)
            if (l->curves[i].text && (l->graph->links[i].step != 0) == cycle)
                place_label(l, i);
}
