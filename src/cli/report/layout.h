/* Where everything of a picture stands. Machines stand side by side, in each its threads as columns, in each
 * of those its calls from top to bottom, and in each of those its subevents; edges run through the channels
 * between columns and the gaps between calls. So the same program always has the same skeleton, and a layout
 * stays readable that a general algorithm would pull apart. Points; y grows downwards. */
#ifndef REMORA_CLI_REPORT_LAYOUT_H
#define REMORA_CLI_REPORT_LAYOUT_H

#include "cli/report/graph.h"

struct point {
    double x, y;
};

struct box {
    double x0, y0, x1, y1;
};

/* One for each event, in their order. */
struct cell {
    struct box box;
    const char *text;
    unsigned call; /* index in calls */
};

struct call_box {
    struct box box;
    const char *text;
    unsigned thread;
};

struct column {
    struct box box;
    unsigned thread;
};

struct machine {
    struct box box;
    unsigned node;
};

/* A chain of cubic Bézier curves; the arrow's tip is beyond its last point. */
struct curve {
    struct point *points;
    unsigned n;
    struct point tip;
    struct box label; /* empty: none */
    const char *text;
};

struct layout {
    const struct graph *graph;
    struct cell *cells;
    struct call_box *calls;
    unsigned n_calls;
    struct column *columns;
    unsigned n_columns;
    struct machine *machines;
    unsigned n_machines;
    struct curve *curves; /* one for each link of the graph, in their order */
    double width, height;
};

struct layout layout_of(struct arena *, const struct graph *);

/* Number of characters of a UTF-8 text. */
unsigned text_columns(const char *text);

enum { CHARACTER_WIDTH = 6, LINE_HEIGHT = 13, ARROW = 8 };

#endif
