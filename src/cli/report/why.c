/* Explanations in words (see why.h), for readers who know what a store, a put and a wait are, but have never
 * read a memory model. */
#include "cli/report/why.h"

#include "base/arena.h"
#include "base/wrap.h"
#include "search/explain_words.h"
#include "search/reordering.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100 };

struct teller {
    FILE *out;
    struct arena *arena;
    const struct explanation *e;
    uint32_t said;                  /* kinds of edges that were named */
    uint64_t events[REL_MAX_WORDS]; /* that were named by their stamps */
};

static const char *const glossary[] = {
    [EDGE_ISO] = "iso: the halves of one operation, in their order",
    [EDGE_RF] = "rf (reads from): this read takes its value from that write",
    [EDGE_RB] = "rb (reads before): this read gets an older value than that write gives, so it comes first",
    [EDGE_MO] = "mo (modification order): the order in which a location gets its values",
    [EDGE_NFO] = "nfo (NIC flush order): which comes first of two accesses that the NIC does not overlap",
    [EDGE_RAO] = "rao (remote atomics order): the order in which remote atomics towards a node are executed",
    [EDGE_AR] = "ar (atomics before reads): a remote atomic ends before the next one begins",
    [EDGE_PF] = "pf (polls from): a wait or poll comes after what it waits for",
};

/* The event's line; it is named by its stamp, which the glossary then tells. */
static const char *named(struct teller *t, unsigned event)
{
    bit_set(t->events, event);
    return explain_event(t->arena, t->e, event);
}

static bool is_first_of_its_type(const struct teller *t, unsigned event)
{
    const struct event *events = t->e->events;
    for (unsigned i = 0; i < event; i++)
        if (bit_test(t->events, i) && events[i].type == events[event].type &&
            (events[i].lib == LIB_LOCK) == (events[event].lib == LIB_LOCK) &&
            (events[i].lib == LIB_SC) == (events[event].lib == LIB_SC))
            return false;
    return true;
}

static void say_glossary(const struct teller *t)
{
    if (t->said)
        fputs("Words:\n", t->out);
    for (unsigned i = 0; i < t->e->n_events; i++)
        if (bit_test(t->events, i) && is_first_of_its_type(t, i))
            fprintf(t->out, "  %s\n", type_words(t->arena, &t->e->events[i]));
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
        fprintf(t->out, "         %s\n", named(t, link->edge.from));
        say_wrapped(t->out, 11, WIDTH, explain_edge(t->arena, t->e, link));
    }
    unsigned end = step->because[step->n_because - 1].edge.to;
    fprintf(t->out, "         %s%s\n", named(t, end), conclusion(step, end));
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
    bool one = e->cycle[0].edge.orders & FORBIDDEN;
    const char *before = e->cycle_of_issue_order ? "issued before" : "before";
    if (one)
        fputs("This may not be:\n", t->out);
    else
        fprintf(t->out, "Each of these is %s the next, so the first would be %s itself:\n", before, before);
    for (unsigned i = 0; i < e->n_cycle; i++) {
        const struct cycle_step *step = &e->cycle[i];
        t->said |= UINT32_C(1) << step->edge.kind;
        fprintf(t->out, "  %u. %s\n", i + 1, named(t, step->edge.from));
        say_wrapped(t->out, 7, WIDTH, explain_edge(t->arena, e, step));
        say_because(t, step);
    }
    if (!one)
        fputs("  and so back to 1.\n", t->out);
}

/* --- allowed --- */

static unsigned count_lost(const struct reordering *r)
{
    unsigned n = 0;
    for (unsigned i = 0; i < r->n_cycle; i++)
        n += r->lost[i];
    return n;
}

static void say_lost(struct teller *t, const struct reordering *r)
{
    unsigned lost = count_lost(r);
    fprintf(
        t->out,
        "If each statement took effect in its turn this could not happen: each of these would be before the "
        "next, and the last before the first.\n%s marked * %s what the hardware does not keep:\n",
        lost == 1 ? "The step" : "The steps", lost == 1 ? "is" : "are");
    for (unsigned i = 0; i < r->n_cycle; i++) {
        const struct cycle_step *step = &r->cycle[i];
        const struct event *a = &t->e->events[step->edge.from], *b = &t->e->events[step->edge.to];
        fprintf(t->out, "%c %u. %s\n", r->lost[i] ? '*' : ' ', i + 1, named(t, step->edge.from));
        say_wrapped(t->out, 7, WIDTH,
                    r->lost[i] ? arena_printf(t->arena, "program order, which is not kept: %s",
                                              lost_words(t->arena, a, b))
                               : explain_edge(t->arena, t->e, step));
        t->said |= UINT32_C(1) << step->edge.kind;
    }
    fputs("  and so back to 1.\n", t->out);
}

static unsigned width_of(const char *text)
{
    unsigned n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void say_sequence(const struct teller *t, const struct reordering *r)
{
    const struct explanation *e = t->e;
    unsigned width = 0;
    bool early = false;
    uint32_t line;
    for (unsigned i = 0; i < e->n_events; i++) {
        unsigned w = width_of(e->program->ops->describe(e->program, e->events[i].where, &line));
        width = w > width ? w : width;
    }
    fputs("It can happen in this order:\n", t->out);
    for (unsigned i = 0; i < e->n_events; i++) {
        const struct event *event = &e->events[r->sequence[i]];
        const char *text = e->program->ops->describe(e->program, event->where, &line);
        fprintf(t->out, "%c %3u. P%u  %s%*s  %s\n", r->early[i] ? '*' : ' ', i + 1, event->thread, text,
                (int)(width - width_of(text)), "", event_words(t->arena, e->program, event));
        early |= r->early[i];
    }
    if (early)
        fputs("  (* ahead of something that stands before it in its thread)\n", t->out);
}

static void say_allowed(struct teller *t)
{
    struct reordering r = find_reordering(t->arena, t->e);
    if (r.n_cycle)
        say_lost(t, &r);
    else
        fputs("No statement overtakes another in its thread, but a remote operation is not one step: others "
              "may "
              "come in between its halves.\n",
              t->out);
    say_sequence(t, &r);
}

/* --- all --- */

static void say_all(struct teller *t, const struct explained_test *explained)
{
    fprintf(t->out, "%s: %s\n", explained->verdict, explained->outcome);
    if (t->e->verdict == EXPLAINED_FORBIDDEN)
        say_cycle(t);
    if (t->e->verdict == EXPLAINED_ALLOWED)
        say_allowed(t);
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
