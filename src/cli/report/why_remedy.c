/* What would keep an order of the program that the hardware does not keep, in terms of litmus tests: what to put
 * where, and what that does. */
#include "base/arena.h"
#include "cli/report/teller.h"
#include "search/explain_words.h"

#include <string.h>

struct gap {
    struct arena *arena;
    const struct explanation *e;
    const struct event *a, *b;
    const char *first; /* a's statement */
};

static const char *statement(const struct gap *g, const struct event *event, bool with_line)
{
    uint32_t line;
    const char *text = g->e->program->ops->describe(g->e->program, event->where, &line);
    return with_line && line ? arena_printf(g->arena, "\"%s\" (line %u)", text, (unsigned)line) : text;
}

/* --- completions --- */

static bool completes(const struct event *e)
{
    return e->type == T_NRW || e->type == T_NLW;
}

/* The polls in b's place that get the completion of the last operation that is `begun` there, if completions come oldest
 * first; `more` is what comes with them. */
static const char *polls(const struct gap *g, unsigned begun, int more)
{
    int n = more, spare = more;
    for (unsigned i = 0; i < g->e->n_events; i++) {
        const struct event *e = &g->e->events[i];
        if (e->thread != g->a->thread || e->node != g->a->node)
            continue;
        n += (completes(e) && e->call < begun) - (e->type == T_P && e->call < g->b->call);
        spare += completes(e) - (e->type == T_P);
    }
    const char *text = arena_printf(g->arena, "poll(%u)", g->a->node);
    if (n > 1)
        text = arena_printf(g->arena, "%s %d times (completions come oldest first)", text, n);
    if (n > spare)
        text = arena_printf(g->arena, "%s, and take away %d poll%s further down", text, n - spare,
                            n - spare > 1 ? "s" : "");
    return text;
}

/* A get from the node: it flushes the writes on their way there, and is itself waited for. */
static const char *flushing_get(const struct gap *g)
{
    if (g->a->loc == PROG_NO_LOC)
        return arena_printf(g->arena, "a get from node %u and the poll of its completion", g->a->node);
    return arena_printf(g->arena, "get(t, %s), with t a spare location of P%u's node, and %s",
                        g->e->program->locs[g->a->loc].name, g->a->thread, polls(g, g->b->call, 1));
}

/* The last argument of an operation that has a work id. */
static const char *work_id(const struct gap *g)
{
    const char *comma = strrchr(g->first, ',');
    return comma ? arena_strndup(g->arena, comma + 2, strcspn(comma + 2, ")")) : "d";
}

static const char *completion(const struct gap *g)
{
    bool result = g->a->lib == LIB_TSO ? g->a->type != T_NLR : g->a->type != S_NLR;
    return arena_printf(
        g->arena, "it blocks until %s %s", result ? "the result of" : "the source of",
        arena_printf(g->arena, "%s %s", g->first, result ? "is in local memory" : "has been read"));
}

/* --- all --- */

/* What to add, and what it does; *also: what is to be changed besides, or "". */
static const char *addition(const struct gap *g, const char **effect, const char **also)
{
    struct arena *arena = g->arena;
    bool tso = g->a->lib == LIB_TSO;
    unsigned thread = g->a->thread, node = g->a->node;
    switch (lost_remedy(g->a, g->b)) {
    case REMEDY_MFENCE:
        *effect = "it blocks until the stores before it are in memory";
        return "mfence()";
    case REMEDY_WAIT:
        *effect = completion(g);
        if (tso)
            return polls(g, g->a->call + 1u, 0);
        if (g->a->wid == PROG_NO_WID)
            *also = arena_printf(arena, "give %s a work id, d say, and ", statement(g, g->a, true));
        return arena_printf(arena, "%s(%s)", g->a->lib == LIB_SV ? "sv_wait" : "wait",
                            g->a->wid == PROG_NO_WID ? "d" : work_id(g));
    case REMEDY_RFENCE:
        *effect = arena_printf(
            arena,
            "it does not block the CPU, but the NIC begins later operations towards node %u only "
            "after the earlier ones have read",
            node);
        return arena_printf(arena, "rfence(%u)", node);
    default:
        *effect = arena_printf(
            arena,
            tso ? "the get reads only when P%u's earlier writes to node %u are in memory, and the "
                  "poll blocks until it has"
                : "it blocks until all that P%u did towards node %u before is done, "
                  "and its writes are in memory",
            thread, node);
        return tso ? flushing_get(g) : arena_printf(arena, "gfence({%u})", node);
    }
}

const char *remedy_words(struct arena *arena, const struct explanation *e, unsigned a, unsigned b)
{
    struct gap g = {.arena = arena, .e = e, .a = &e->events[a], .b = &e->events[b]};
    g.first = statement(&g, g.a, false);
    const char *effect, *also = "", *what = addition(&g, &effect, &also);
    return arena_printf(arena, "To keep it, %sbefore P%u's %s add %s: %s.", also, g.b->thread,
                        statement(&g, g.b, true), what, effect);
}
