/* Explanations as JSON: the events, every edge but those of program order, and the cycle with its reasons. */
#include "cli/report/json.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_string(FILE *out, const char *key, const char *text)
{
    char *value = json_quoted(text);
    fprintf(out, "\"%s\":%s", key, value);
    free(value);
}

static const char *verdict_word(enum explained verdict)
{
    switch (verdict) {
    case EXPLAINED_ALLOWED:
        return "allowed";
    case EXPLAINED_FORBIDDEN:
    case EXPLAINED_NO_CYCLE:
        return "forbidden";
    case EXPLAINED_NO_VALUES:
        return "impossible values";
    default:
        return "unknown";
    }
}

static void print_event(FILE *out, const struct explanation *e, unsigned i)
{
    const struct event *event = &e->events[i];
    bool tso = event->lib == LIB_TSO;
    uint32_t line;
    const char *text = e->program->ops->describe(e->program, event->where, &line);
    fprintf(out, "%s{\"id\":%u,\"thread\":%u,", i ? "," : "", i, event->thread);
    print_string(out, "statement", text);
    if (line)
        fprintf(out, ",\"line\":%" PRIu32, line);
    fputc(',', out);
    print_string(out, "stamp", tso ? tso_name(event->type) : stamp_name(event->type));
    if (tso ? tso_is_nic(event->type) || event->type == T_P : stamp_has_node(event->type))
        fprintf(out, ",\"node\":%u", event->node);
    if (event->loc != PROG_NO_LOC) {
        fputc(',', out);
        print_string(out, "location", e->program->locs[event->loc].name);
    }
    if (event->reads)
        fprintf(out, ",\"reads\":%" PRIu64, event->read);
    if (event->writes)
        fprintf(out, ",\"writes\":%" PRIu64, event->written);
    fputc('}', out);
}

static void print_edge(FILE *out, const struct edge *edge)
{
    fprintf(out, "\"from\":%u,\"to\":%u,\"kind\":\"%s\"", edge->from, edge->to, edge_name(edge->kind));
}

static void print_steps(FILE *out, struct arena *arena, const struct explanation *e,
                        const struct cycle_step *steps, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        fputs(i ? ",{" : "{", out);
        print_edge(out, &steps[i].edge);
        fputc(',', out);
        print_string(out, "reason", explain_edge(arena, e, &steps[i], "the next one"));
        if (steps[i].n_because) {
            fputs(",\"because\":[", out);
            print_steps(out, arena, e, steps[i].because, steps[i].n_because);
            fputc(']', out);
        }
        fputc('}', out);
    }
}

static void print_cycle(FILE *out, const struct explanation *e)
{
    struct arena *arena = arena_new();
    fprintf(out, ",\"candidates\":%" PRIu64 ",\"all_candidates\":%s,\"order\":\"%s\",\"cycle\":[",
            e->candidates, e->all_candidates ? "true" : "false",
            e->cycle_of_issue_order ? "issue order" : "happens-before");
    print_steps(out, arena, e, e->cycle, e->n_cycle);
    fputc(']', out);
    arena_free(arena);
}

void json_explanation(FILE *out, const struct explanation *e)
{
    print_string(out, "verdict", verdict_word(e->verdict));
    if (!e->events)
        return;
    fputs(",\"events\":[", out);
    for (unsigned i = 0; i < e->n_events; i++)
        print_event(out, e, i);
    fputs("],\"edges\":[", out);
    for (unsigned i = 0; i < e->n_edges; i++) {
        fputs(i ? ",{" : "{", out);
        print_edge(out, &e->edges[i]);
        fputs(e->edges[i].refused ? ",\"refused\":true}" : "}", out);
    }
    fputc(']', out);
    if (e->n_cycle)
        print_cycle(out, e);
}
