/* Places the boxes of a picture; curves.c then draws the edges between them (see layout.h). */
#include "cli/report/layout.h"

#include "base/arena.h"
#include "cli/report/curves.h"

#include <stdlib.h>

enum {
    CELL_HEIGHT = 18,
    CELL_GAP = 14,    /* between the subevents of a call */
    CALL_GAP = 24,    /* between calls */
    CALL_PADDING = 5, /* around the subevents of a call */
    LANE = 22,        /* left of a statement's text: where arrows to the next subevent run */
    TITLE_HEIGHT = 20,
    MACHINE_PADDING = 12,
    MACHINE_GAP = 16,
    COLUMN_WIDTH = 90
};

unsigned text_columns(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Columns by machine, then by thread. */
static void find_columns(struct arena *arena, struct layout *l)
{
    const struct program *program = l->graph->explanation->program;
    l->columns = ARENA_ARRAY(arena, struct column, program->n_threads);
    l->machines = ARENA_ARRAY(arena, struct machine, program->n_nodes);
    for (unsigned n = 0; n < program->n_nodes; n++) {
        unsigned before = l->n_columns;
        for (unsigned t = 0; t < program->n_threads; t++)
            if (program->thread_node[t] == n)
                l->columns[l->n_columns++].thread = t;
        if (l->n_columns > before)
            l->machines[l->n_machines++].node = n;
    }
}

/* The initial value is no event: the reader's cell says that it is read. */
static const char *cell_text(struct arena *arena, const struct explanation *e, unsigned event)
{
    const struct event *ev = &e->events[event];
    const char *text = event_label(arena, e->program, ev);
    if (ev->reads && ev->rf == RF_INIT && ev->loc != PROG_NO_LOC)
        return arena_printf(arena, "%s (initial)", text);
    return text;
}

static void find_cells(struct arena *arena, struct layout *l)
{
    const struct explanation *e = l->graph->explanation;
    l->cells = ARENA_ARRAY(arena, struct cell, e->n_events + 1);
    l->calls = ARENA_ARRAY(arena, struct call_box, e->n_events + 1);
    for (unsigned c = 0; c < l->n_columns; c++) {
        int call = -1;
        for (unsigned i = 0; i < e->n_events; i++) {
            const struct event *event = &e->events[i];
            if (event->thread != l->columns[c].thread)
                continue;
            if (event->call != call) {
                uint32_t line;
                const char *text = e->program->ops->describe(e->program, event->where, &line);
                l->calls[l->n_calls++] = (struct call_box){.text = text, .thread = event->thread};
            }
            call = event->call;
            l->cells[i].text = cell_text(arena, e, i);
            l->cells[i].call = l->n_calls - 1;
        }
    }
}

static double column_width(const struct layout *l, unsigned thread)
{
    const struct explanation *e = l->graph->explanation;
    double width = COLUMN_WIDTH;
    for (unsigned i = 0; i < e->n_events; i++)
        if (e->events[i].thread == thread)
            width = larger(width, CHARACTER_WIDTH * text_columns(l->cells[i].text) + 8 + 2 * CALL_PADDING);
    for (unsigned i = 0; i < l->n_calls; i++)
        if (l->calls[i].thread == thread)
            width = larger(width, CHARACTER_WIDTH * text_columns(l->calls[i].text) + LANE + 6);
    return width;
}

/* Stacks the calls of a column whose box has its left, right and upper sides. */
static void stack_calls(struct layout *l, struct column *column)
{
    const struct explanation *e = l->graph->explanation;
    double y = column->box.y0 + TITLE_HEIGHT;
    for (unsigned c = 0; c < l->n_calls; c++) {
        struct call_box *call = &l->calls[c];
        if (call->thread != column->thread)
            continue;
        call->box = (struct box){column->box.x0, y, column->box.x1, y};
        y += LINE_HEIGHT + 3;
        for (unsigned i = 0; i < e->n_events; i++) {
            if (l->cells[i].call != c || e->events[i].thread != call->thread)
                continue;
            l->cells[i].box = (struct box){column->box.x0 + CALL_PADDING, y, column->box.x1 - CALL_PADDING,
                                           y + CELL_HEIGHT};
            y += CELL_HEIGHT + CELL_GAP;
        }
        y += CALL_PADDING - CELL_GAP;
        call->box.y1 = y;
        y += CALL_GAP;
    }
    column->box.y1 = larger(y - CALL_GAP, column->box.y0 + TITLE_HEIGHT + CELL_HEIGHT);
}

static bool same_machine(const struct layout *l, unsigned a, unsigned b)
{
    const struct program *program = l->graph->explanation->program;
    return program->thread_node[l->columns[a].thread] == program->thread_node[l->columns[b].thread];
}

static void place_columns(struct arena *arena, struct layout *l)
{
    double x = 0;
    for (unsigned c = 0; c <= l->n_columns; c++) {
        x += c > 0 ? arcs_reach(arena, l, c - 1, false) : 0;
        x += channel_width(arena, l, c);
        if (c == l->n_columns)
            break;
        if (c == 0 || !same_machine(l, c - 1, c))
            x += (c > 0 ? MACHINE_PADDING + MACHINE_GAP : 0) + MACHINE_PADDING;
        x += arcs_reach(arena, l, c, true);
        struct column *column = &l->columns[c];
        column->box = (struct box){x, TITLE_HEIGHT, x + column_width(l, column->thread), 0};
        x = column->box.x1;
        stack_calls(l, column);
        l->height = larger(l->height, column->box.y1 + MACHINE_PADDING);
    }
    l->width = x + MACHINE_PADDING;
}

static void place_machines(struct arena *arena, struct layout *l)
{
    for (unsigned m = 0, c = 0; m < l->n_machines; m++) {
        unsigned first = c;
        while (c < l->n_columns && same_machine(l, first, c))
            c++;
        double x0 = l->columns[first].box.x0 - arcs_reach(arena, l, first, true) - MACHINE_PADDING;
        double x1 = l->columns[c - 1].box.x1 + arcs_reach(arena, l, c - 1, false) + MACHINE_PADDING;
        l->machines[m].box = (struct box){x0, 0, x1, l->height};
    }
}

struct layout layout_of(struct arena *arena, const struct graph *graph)
{
    struct layout l = {.graph = graph};
    find_columns(arena, &l);
    find_cells(arena, &l);
    place_columns(arena, &l);
    place_machines(arena, &l);
    draw_curves(arena, &l);
    place_labels(arena, &l);
    return l;
}
