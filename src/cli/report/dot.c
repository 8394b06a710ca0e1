/* Writes execution graphs in graphviz's language (see picture.h). Kinds of edges differ in colour and in line
 * style or arrowhead, and each has its name at it, so that they are told apart on paper too; the colours are
 * those of Okabe and Ito, which colour-blind readers tell apart. */
#include "base/arena.h"
#include "cli/report/layout.h"
#include "cli/report/picture.h"

#include <string.h>

static const struct style {
    const char *color, *line, *head, *meaning;
} styles[] = {
    [EDGE_PPO] = {"#000000", "solid", "normal", "program order that is kept (ppo), halves of one operation"},
    [EDGE_ISO] = {"#000000", "solid", "normal", NULL},
    [EDGE_RF] = {"#007A5A", "solid", "normal", "reads the value written there (reads from)"},
    [EDGE_RB] = {"#9A4DB0", "dashed", "onormal", "reads an older value than that write (reads before)"},
    [EDGE_MO] = {"#0072B2", "dashed", "normal", "order in which a location gets its values"},
    [EDGE_NFO] = {"#A06000", "dotted", "diamond", "accesses that the NIC does not overlap"},
    [EDGE_RAO] = {"#A06000", "dashed", "odiamond", "order of remote atomics towards a node"},
    [EDGE_AR] = {"#A06000", "solid", "diamond", "an atomic's write before the next atomic"},
    [EDGE_PF] = {"#0072B2", "dotted", "vee", "a wait or poll returns after it"},
    [EDGE_LO] = {"#007A5A", "dashed", "box", "lock released before it is acquired again"},
};
static const char cycle_color[] = "#D00000", po_color[] = "#909090";

enum { PO = EDGE_LO + 1, CYCLE, KINDS, MARGIN = 8, LEGEND_COLUMN = 380, SAMPLE = 40 };

struct writer {
    FILE *out;
    struct arena *arena;
    const struct layout *l;
    double top;           /* of the drawing, below the caption */
    double height, width; /* of all */
};

/* --- pieces --- */

static void quoted(FILE *out, const char *text, const char *end)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fprintf(out, "%s\"", end);
}

static void escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else
            fputc(*text, out);
}

static double left(double x)
{
    return x + MARGIN;
}

static double up(const struct writer *w, double y)
{
    return w->height - w->top - y;
}

static void print_box(const struct writer *w, const struct box *box)
{
    fprintf(w->out, "bb=\"%.0f,%.0f,%.0f,%.0f\"", left(box->x0), up(w, box->y1), left(box->x1),
            up(w, box->y0));
}

/* A node that is nothing but a text, which begins at x. */
static void print_note(const struct writer *w, const char *name, const char *text, double x, double y,
                       double size, bool bold)
{
    double width = 1.02 * CHARACTER_WIDTH * size / 10 * text_columns(text) + 12;
    fprintf(w->out, "%s [shape=plaintext style=solid width=%.3f height=0.3 fontsize=%.0f%s label=", name,
            width / 72, size, bold ? " fontname=\"monospace bold\"" : "");
    quoted(w->out, text, "\\l");
    fprintf(w->out, " pos=\"%.1f,%.1f\"];\n", left(x + width / 2), up(w, y));
}

/* --- boxes --- */

static bool on_cycle(const struct graph *graph, unsigned event)
{
    for (unsigned i = 0; i < graph->n_links; i++)
        if (graph->links[i].step && (graph->links[i].from == event || graph->links[i].to == event))
            return true;
    return false;
}

static bool by_nic(const struct event *e)
{
    return e->lib == LIB_TSO ? tso_is_nic(e->type) : e->type >= S_NLR && e->type <= S_RF;
}

static void print_cell(const struct writer *w, unsigned i)
{
    const struct cell *cell = &w->l->cells[i];
    const struct box *box = &cell->box;
    bool nic = by_nic(&w->l->graph->explanation->events[i]), red = on_cycle(w->l->graph, i);
    fprintf(w->out, "        e%u [label=", i);
    quoted(w->out, cell->text, "");
    fprintf(w->out, " pos=\"%.1f,%.1f\" width=%.3f height=%.3f", left((box->x0 + box->x1) / 2),
            up(w, (box->y0 + box->y1) / 2), (box->x1 - box->x0) / 72, (box->y1 - box->y0) / 72);
    if (nic)
        fputs(" style=\"filled,rounded\" fillcolor=\"#E8EEF4\"", w->out);
    if (red)
        fprintf(w->out, " color=\"%s\" penwidth=2", cycle_color);
    fputs("];\n", w->out);
}

static void print_call(const struct writer *w, unsigned c)
{
    const struct call_box *call = &w->l->calls[c];
    fprintf(w->out, "      subgraph cluster_call%u {\n        ", c);
    print_box(w, &call->box);
    fputs(" style=filled fillcolor=\"#FAFAF6\" color=\"#A0A0A0\" peripheries=1;\n        ", w->out);
    print_note(w, arena_printf(w->arena, "h%u", c), call->text, call->box.x0 + 22, call->box.y0 + 9, 10,
               true);
    for (unsigned i = 0; i < w->l->graph->explanation->n_events; i++)
        if (w->l->cells[i].call == c && w->l->graph->explanation->events[i].thread == call->thread)
            print_cell(w, i);
    fputs("      }\n", w->out);
}

static void print_column(const struct writer *w, const struct column *column)
{
    const char *title = arena_printf(w->arena, "P%u", column->thread);
    fprintf(w->out, "    subgraph cluster_thread%u {\n      ", column->thread);
    print_box(w, &column->box);
    fputs(" peripheries=0;\n      ", w->out);
    print_note(w, title, title, column->box.x0, column->box.y0 + 8, 11, true);
    for (unsigned c = 0; c < w->l->n_calls; c++)
        if (w->l->calls[c].thread == column->thread)
            print_call(w, c);
    fputs("    }\n", w->out);
}

static void print_machines(const struct writer *w)
{
    const struct layout *l = w->l;
    for (unsigned m = 0; m < l->n_machines; m++) {
        const char *title = arena_printf(w->arena, "node %u", l->machines[m].node);
        fprintf(w->out, "  subgraph cluster_node%u {\n    ", l->machines[m].node);
        print_box(w, &l->machines[m].box);
        fputs(" style=rounded color=\"#707070\" penwidth=1.5;\n    ", w->out);
        print_note(w, arena_printf(w->arena, "m%u", m), title, l->machines[m].box.x0 + 6, 10, 11, false);
        for (unsigned c = 0; c < l->n_columns; c++)
            if (l->graph->explanation->program->thread_node[l->columns[c].thread] == l->machines[m].node)
                print_column(w, &l->columns[c]);
        fputs("  }\n", w->out);
    }
}

/* --- edges --- */

static void print_style(const struct writer *w, const struct link *link)
{
    const struct style *style = &styles[link_kind(link)];
    const char *color = link->step ? cycle_color : style->color;
    const char *width = link->step ? "2.6" : link_kind(link) == EDGE_PPO ? "0.8" : "1.3";
    fprintf(w->out, "color=\"%s\" fontcolor=\"%s\" style=%s arrowhead=%s penwidth=%s", color, color,
            link->step ? "bold" : style->line, style->head, width);
}

static void print_way(const struct writer *w, const struct point *tip, const struct point *points, unsigned n)
{
    fprintf(w->out, " pos=\"e,%.1f,%.1f", left(tip->x), up(w, tip->y));
    for (unsigned i = 0; i < n; i++)
        fprintf(w->out, " %.1f,%.1f", left(points[i].x), up(w, points[i].y));
    fputs("\"", w->out);
}

static void print_label(const struct writer *w, const struct curve *curve, bool bold)
{
    fputs(" label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\" "
          "BGCOLOR=\"white\"><TR><TD>",
          w->out);
    fputs(bold ? "<B>" : "", w->out);
    escaped(w->out, curve->text);
    fputs(bold ? "</B>" : "", w->out);
    fprintf(w->out, "</TD></TR></TABLE>> lp=\"%.1f,%.1f\"", left((curve->label.x0 + curve->label.x1) / 2),
            up(w, (curve->label.y0 + curve->label.y1) / 2));
}

static void print_link(const struct writer *w, unsigned i)
{
    const struct link *link = &w->l->graph->links[i];
    const struct curve *curve = &w->l->curves[i];
    fprintf(w->out, "  e%u -> e%u [", link->from, link->to);
    print_style(w, link);
    print_way(w, &curve->tip, curve->points, curve->n);
    if (curve->text)
        print_label(w, curve, link->step);
    fputs("];\n", w->out);
}

/* Program order, from call to call. */
static void print_program_order(const struct writer *w, unsigned from, unsigned to, unsigned a, unsigned b)
{
    const struct box *upper = &w->l->calls[from].box, *lower = &w->l->calls[to].box;
    double x = (upper->x0 + upper->x1) / 2, y0 = upper->y1, y1 = lower->y0 - ARROW, third = (y1 - y0) / 3;
    struct point points[] = {{x, y0}, {x, y0 + third}, {x, y1 - third}, {x, y1}}, tip = {x, lower->y0};
    fprintf(w->out, "  e%u -> e%u [color=\"%s\" style=dotted arrowhead=vee arrowsize=0.5 penwidth=1.3", a, b,
            po_color);
    print_way(w, &tip, points, 4);
    fputs("];\n", w->out);
}

static void print_edges(const struct writer *w)
{
    const struct graph *graph = w->l->graph;
    const struct explanation *e = graph->explanation;
    for (unsigned a = 0; a < e->n_events; a++) {
        unsigned b = a + 1;
        while (b < e->n_events && e->events[b].thread != e->events[a].thread)
            b++;
        if (b < e->n_events && e->events[a].call != e->events[b].call)
            print_program_order(w, w->l->cells[a].call, w->l->cells[b].call, a, b);
    }
    for (int cycle = 0; cycle <= 1; cycle++) /* the cycle on top */
        for (unsigned i = 0; i < graph->n_links; i++)
            if ((graph->links[i].step != 0) == cycle)
                print_link(w, i);
}

/* --- legend --- */

/* Kinds that stand in the picture; in the cycle or not. */
static uint32_t used_kinds(const struct graph *graph, bool in_cycle)
{
    uint32_t used = 0;
    for (unsigned i = 0; i < graph->n_links; i++)
        if ((graph->links[i].step != 0) == in_cycle)
            used |= UINT32_C(1) << link_kind(&graph->links[i]);
    if (used >> EDGE_ISO & 1)
        used = (used | UINT32_C(1) << EDGE_PPO) & ~(UINT32_C(1) << EDGE_ISO);
    return used;
}

static uint32_t legend_kinds(const struct graph *graph)
{
    uint32_t cycle = used_kinds(graph, true);
    return used_kinds(graph, false) | cycle | UINT32_C(1) << PO | (cycle ? UINT32_C(1) << CYCLE : 0);
}

static void print_sample(const struct writer *w, unsigned kind, double x, double y)
{
    struct point points[] = {{x, y}, {x + SAMPLE / 3.0, y}, {x + SAMPLE / 1.5, y}, {x + SAMPLE - ARROW, y}};
    struct point tip = {x + SAMPLE, y};
    struct link link = {.kinds = (uint16_t)(1u << (kind > EDGE_LO ? 0 : kind)),
                        .step = kind == CYCLE || !(used_kinds(w->l->graph, false) >> kind & 1)};
    const char *name = kind == PO ? "po" : kind == CYCLE ? "cycle" : edge_name(kind);
    const char *meaning = kind == PO      ? "program order"
                          : kind == CYCLE ? "the contradiction, step by step"
                                          : styles[kind].meaning;
    fprintf(w->out,
            "  k%u [shape=point width=0.01 style=invis pos=\"%.1f,%.1f\"];\n"
            "  k%ub [shape=point width=0.01 style=invis pos=\"%.1f,%.1f\"];\n  k%u -> k%ub [",
            kind, left(x), up(w, y), kind, left(x + SAMPLE), up(w, y), kind, kind);
    if (kind == PO)
        fprintf(w->out, "color=\"%s\" style=dotted arrowhead=vee arrowsize=0.5 penwidth=1.3", po_color);
    else
        print_style(w, &link);
    print_way(w, &tip, points, 4);
    fputs("];\n  ", w->out);
    const char *text = kind == EDGE_PPO ? meaning : arena_printf(w->arena, "%s: %s", name, meaning);
    print_note(w, arena_printf(w->arena, "n%u", kind), text, x + SAMPLE + 6, y, 9, false);
}

static unsigned legend_columns(double width)
{
    return width > 3 * LEGEND_COLUMN ? 3 : width > 2 * LEGEND_COLUMN ? 2 : 1;
}

static bool has_nic_events(const struct explanation *e)
{
    for (unsigned i = 0; i < e->n_events; i++)
        if (by_nic(&e->events[i]))
            return true;
    return false;
}

static void print_legend(const struct writer *w)
{
    uint32_t used = legend_kinds(w->l->graph);
    unsigned columns = legend_columns(w->width), n = 0;
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (used >> kind & 1) {
            print_sample(w, kind, 4 + LEGEND_COLUMN * (n % columns),
                         w->l->height + 18 + 15 * (double)(n / columns));
            n++;
        }
    if (!has_nic_events(w->l->graph->explanation))
        return;
    fputs("  ", w->out);
    print_note(w, "nic", "rounded and shaded: done by the network card (NIC)", 4,
               w->l->height + 20 + 15 * (double)((n + columns - 1) / columns), 9, false);
}

static double legend_height(const struct graph *graph, double width)
{
    unsigned n = (unsigned)__builtin_popcount(legend_kinds(graph)), columns = legend_columns(width);
    return 18 + 15 * (double)((n + columns - 1) / columns + 1);
}

/* --- all --- */

enum { TITLE_SIZE = 13, CAPTION_SIZE = 11, CAPTION_LINE = 15, LONGEST_LINE = 90 };

/* The end of the first line of a text that is broken at spaces. */
static const char *line_end(const char *text)
{
    const char *end = text;
    unsigned columns = 0;
    for (const char *p = text; *p && (columns <= LONGEST_LINE || end == text); p++) {
        columns += ((unsigned char)*p & 0xc0) != 0x80;
        if (p[1] == ' ' || !p[1])
            end = p + 1;
    }
    return end;
}

/* Prints the text, or only counts its lines and finds out how wide they are. */
static unsigned caption_lines(const struct writer *w, const char *name, const char *text, unsigned line,
                              double *width)
{
    unsigned n = 0;
    while (*text) {
        const char *end = line_end(text);
        const char *part = arena_strndup(w->arena, text, (size_t)(end - text));
        double needed = CHARACTER_WIDTH * CAPTION_SIZE / 10.0 * text_columns(part);
        if (width)
            *width = needed > *width ? needed : *width;
        else
            print_note(w, arena_printf(w->arena, "  %s%u", name, n), part, 0,
                       29 + CAPTION_LINE * (double)(line + n) - w->top, CAPTION_SIZE, false);
        text = end + strspn(end, " ");
        n++;
    }
    return n;
}

static unsigned print_caption(const struct writer *w, const struct caption *caption, double *width)
{
    if (!width) {
        fputs("  ", w->out);
        print_note(w, "title", caption->title, 0, 12 - w->top, TITLE_SIZE, true);
    }
    unsigned n = caption_lines(w, "outcome", caption->outcome, 0, width);
    return n + caption_lines(w, "verdict", caption->verdict, n, width);
}

void picture_dot(FILE *out, const struct explanation *e, const struct caption *given)
{
    struct arena *arena = arena_new();
    struct caption with_cycle = *given;
    const struct caption *caption = &with_cycle;
    if (e->n_cycle && e->cycle[0].edge.orders & FORBIDDEN)
        with_cycle.verdict = arena_printf(arena, "%s: the red edge may not be", given->verdict);
    else if (e->n_cycle)
        with_cycle.verdict = arena_printf(arena, "%s: the red edges go round in a circle", given->verdict);
    struct graph graph = graph_of(arena, e);
    struct layout layout = layout_of(arena, &graph);
    struct writer w = {.out = out, .arena = arena, .l = &layout, .width = layout.width};
    double title = CHARACTER_WIDTH * TITLE_SIZE / 10.0 * text_columns(caption->title);
    w.top = 30 + CAPTION_LINE * (double)print_caption(&w, caption, &w.width) + MARGIN;
    w.width = title > w.width ? title : w.width;
    if (w.width < LEGEND_COLUMN + 40)
        w.width = LEGEND_COLUMN + 40;
    w.height = w.top + layout.height + legend_height(&graph, w.width) + MARGIN;
    fputs("digraph ", out);
    quoted(out, caption->title, "");
    fprintf(out,
            " {\n  graph [layout=nop2 bb=\"0,0,%.0f,%.0f\" fontname=monospace];\n"
            "  node [shape=box fixedsize=true fontname=monospace fontsize=10 margin=0 style=filled "
            "fillcolor=white];\n  edge [fontname=monospace fontsize=9 arrowsize=0.8];\n",
            w.width + 2 * MARGIN, w.height);
    print_caption(&w, caption, NULL);
    print_machines(&w);
    print_edges(&w);
    print_legend(&w);
    fputs("}\n", out);
    arena_free(arena);
}
