/* Explanations in words (see why.h), for readers who know what a store, a put and a wait are, but have never
 * read a memory model. */
#include "cli/report/why.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct teller {
    FILE *out;
    struct arena *arena;
    const struct explanation *e;
    uint32_t said; /* kinds of edges that were named */
};

static const char *const glossary[] = {
    [EDGE_ISO] = "iso: the halves of one operation, one before the other",
    [EDGE_RF] = "rf (reads-from): this read takes its value from that write",
    [EDGE_RB] = "rb (reads-before): this read gets an older value than that write gives, so it comes first",
    [EDGE_MO] = "mo (modification order): the order in which a location gets its values",
    [EDGE_NFO] =
        "nfo (NIC flush order): of two accesses that the NIC of one queue pair does not overlap, which "
        "comes first",
    [EDGE_RAO] = "rao (remote atomics order): the order in which remote atomics towards a node are executed",
    [EDGE_AR] = "ar (atomicity of remote atomics): one ends before the next begins",
    [EDGE_PF] = "pf (polls-from): a wait or poll returns only after it",
};

static void say_glossary(const struct teller *t)
{
    for (unsigned kind = 0; kind < sizeof glossary / sizeof *glossary; kind++)
        if (t->said >> kind & 1 && glossary[kind])
            fprintf(t->out, "  %s\n", glossary[kind]);
}

/* --- forbidden: the cycle --- */

static const char *way_of(enum edge_kind kind)
{
    switch (kind) {
    case EDGE_MO:
        return "The other order of these writes";
    case EDGE_RAO:
        return "The other order of these atomics";
    case EDGE_LO:
        return "The other order of these critical sections";
    default:
        return "The other order of these accesses";
    }
}

/* Where the chain does not end at the later of the two events: what would follow from the other order. */
static const char *conclusion(const struct cycle_step *step, unsigned end)
{
    if (end == step->ordered.to)
        return "";
    switch (step->ordered.kind) {
    case EDGE_MO:
        return ", which would have to come first if the order were the other one (rb)";
    case EDGE_RAO:
        return ", which would have to come first if the order were the other one (ar)";
    default:
        return ", which would have to come first if the order were the other one";
    }
}

static void say_because(struct teller *t, const struct cycle_step *step)
{
    enum edge_kind kind = step->edge.kind;
    bool chosen = kind == EDGE_MO || kind == EDGE_NFO || kind == EDGE_RAO || kind == EDGE_LO;
    bool final = step->ordered.kind == EDGE_MO && is_final_write(t->e, step->ordered.to);
    if (step->n_because == 0) {
        if (kind == EDGE_RB && final)
            fprintf(t->out, "       (That is the value in the end.)\n");
        else if (chosen && !final)
            fprintf(t->out, "       (%s fails likewise.)\n", way_of(kind));
        return;
    }
    if (kind == EDGE_AR)
        fputs("       The other order of these atomics is impossible, since\n", t->out);
    else if (kind == EDGE_RB) {
        const char *loc = t->e->program->locs[t->e->events[step->edge.to].loc].name;
        fprintf(t->out, "       %s gets its values in this order, since\n", loc);
    } else
        fprintf(t->out, "       %s is impossible, since\n", way_of(kind));
    for (unsigned i = 0; i < step->n_because; i++) {
        const struct cycle_step *link = &step->because[i];
        t->said |= UINT32_C(1) << link->edge.kind;
        fprintf(t->out, "         %s\n           %s\n", explain_event(t->arena, t->e, link->edge.from),
                explain_edge(t->arena, t->e, link));
    }
    unsigned end = step->because[step->n_because - 1].edge.to;
    fprintf(t->out, "         %s%s\n", explain_event(t->arena, t->e, end), conclusion(step, end));
}

static void say_candidates(const struct teller *t)
{
    const struct explanation *e = t->e;
    if (e->all_candidates && e->candidates == 1)
        fputs("There is one way to get this outcome, and this is what is wrong with it.\n", t->out);
    else if (e->all_candidates)
        fprintf(t->out,
                "There are %" PRIu64
                " ways to get this outcome; each contradicts itself. This one comes nearest.\n",
                e->candidates);
    else
        fprintf(t->out,
                "Of the ways to get this outcome, which all contradict themselves, the first %" PRIu64
                " were looked at; this one comes nearest.\n",
                e->candidates);
}

static void say_cycle(struct teller *t)
{
    const struct explanation *e = t->e;
    say_candidates(t);
    fprintf(t->out, "Each of these is %s the next, so the first would be %s itself:\n",
            e->cycle_of_issue_order ? "issued before" : "before",
            e->cycle_of_issue_order ? "issued before" : "before");
    for (unsigned i = 0; i < e->n_cycle; i++) {
        const struct cycle_step *step = &e->cycle[i];
        t->said |= UINT32_C(1) << step->edge.kind;
        fprintf(t->out, "  %u. %s\n       %s\n", i + 1, explain_event(t->arena, e, step->edge.from),
                explain_edge(t->arena, e, step));
        say_because(t, step);
    }
    fputs("  and so back to 1.\n", t->out);
}

/* --- all --- */

static void say_all(struct teller *t, const struct explained_test *explained)
{
    fprintf(t->out, "%s: %s\n", explained->verdict, explained->outcome);
    if (t->e->verdict == EXPLAINED_FORBIDDEN)
        say_cycle(t);
    say_glossary(t);
}

const char *why_in_words(struct arena *arena, const struct explained_test *explained)
{
    char *text;
    size_t length;
    struct teller t = {.out = open_memstream(&text, &length), .arena = arena, .e = &explained->explanation};
    if (!t.out)
        out_of_memory();
    say_all(&t, explained);
    if (fclose(t.out) != 0)
        out_of_memory();
    const char *copy = arena_strndup(arena, text, length);
    free(text);
    return copy;
}
