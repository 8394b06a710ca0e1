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

static const char *step_name(const struct teller *t, unsigned i, unsigned n)
{
    return arena_printf(t->arena, "step %u", (i + 1) % n + 1);
}

/* --- words --- */

static bool same_name(const struct event *a, const struct event *b)
{
    return a->type == b->type && (a->lib == LIB_TSO) == (b->lib == LIB_TSO);
}

/* Of an event that was named: whether one before it has its name, has its meaning. */
static bool is_told(const struct teller *t, unsigned event, bool meaning)
{
    const struct event *events = t->e->events;
    for (unsigned i = 0; i < event; i++)
        if (bit_test(t->events, i) && same_name(&events[i], &events[event]) &&
            (!meaning || strcmp(type_meaning(&events[i]), type_meaning(&events[event])) == 0))
            return true;
    return false;
}

/* "aNRW_n: a remote write reaches the memory of node n; or, …" */
static void say_type(const struct teller *t, unsigned event)
{
    const struct event *events = t->e->events;
    fprintf(t->out, "  %s: %s", type_words(t->arena, &events[event]), type_meaning(&events[event]));
    for (unsigned i = event + 1; i < t->e->n_events; i++)
        if (bit_test(t->events, i) && same_name(&events[i], &events[event]) && !is_told(t, i, true))
            fprintf(t->out, "; or, %s", type_meaning(&events[i]));
    fputc('\n', t->out);
}

/* Terms that stand in the text by themselves. */
static const char *const terms[][2] = {
    {"RDMA-WAIT", "the model of puts, gets and remote atomics whose completions are waited for by work ids"},
    {"RDMA-TSO",
     "the model of a CPU with a store buffer (x86-TSO), and of queue pairs whose completions are polled"},
    {"stamp order",
     "what is kept of program order, by what the two events are (their stamps: the words that begin with a)"},
    {"observation order",
     "what is kept of program order, by what the two events are, in which they take effect"},
    {"issue order", "what is kept of program order, by what the two events are, in which they begin"},
    {"lock order", "the order in which a lock's holders follow each other"},
};

static void say_words(const struct teller *t, const char *text)
{
    fputs("Words:\n", t->out);
    for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++)
        if (strstr(text, terms[i][0]))
            fprintf(t->out, "  %s: %s\n", terms[i][0], terms[i][1]);
    for (unsigned i = 0; i < t->e->n_events; i++)
        if (bit_test(t->events, i) && !is_told(t, i, false))
            say_type(t, i);
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
        say_wrapped(t->out, 11, WIDTH, explain_edge(t->arena, t->e, link, "the next one"));
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
        say_wrapped(t->out, 7, WIDTH, explain_edge(t->arena, e, step, step_name(t, i, e->n_cycle)));
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
        const char *next = step_name(t, i, r->n_cycle);
        say_wrapped(
            t->out, 7, WIDTH,
            r->lost[i]
                ? arena_printf(t->arena,
                               "it stands before %s in the program, but that order is not kept: %s. Between "
                               "them, %s would keep it.",
                               next, lost_words(t->arena, a, b), remedy_words(t->arena, a, b))
                : explain_edge(t->arena, t->e, step, next));
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

/* Of an event: the one that stands before it in the program and takes effect after it, as the circle says; else -1. */
static int comes_ahead_of(const struct teller *t, const struct reordering *r, unsigned event)
{
    unsigned place[2] = {0, 0};
    for (unsigned i = 0; i < r->n_cycle; i++) {
        const struct edge *edge = &r->cycle[i].edge;
        if (!r->lost[i] || edge->to != event)
            continue;
        for (unsigned k = 0; k < t->e->n_events; k++) {
            place[0] = r->sequence[k] == edge->from ? k : place[0];
            place[1] = r->sequence[k] == edge->to ? k : place[1];
        }
        if (place[0] > place[1])
            return (int)place[0];
    }
    return -1;
}

/* Of an event that writes where a statement of another thread reads before it and writes after it: that statement's events,
 * as places in the sequence. */
static bool comes_between(const struct teller *t, const struct reordering *r, unsigned at, unsigned *first,
                          unsigned *last)
{
    const struct event *events = t->e->events, *event = &events[r->sequence[at]];
    for (*first = 0; event->writes && *first < at; ++*first)
        for (*last = at + 1; *last < t->e->n_events; ++*last) {
            const struct event *a = &events[r->sequence[*first]], *b = &events[r->sequence[*last]];
            if (a->thread == b->thread && a->thread != event->thread && a->call == b->call && a->reads &&
                b->writes && a->loc == event->loc && b->loc == event->loc)
                return true;
        }
    return false;
}

/* What is unusual about the event at this place of the sequence; NULL: nothing. */
static const char *remark(const struct teller *t, const struct reordering *r, unsigned at)
{
    unsigned first, last, thread = t->e->events[r->sequence[at]].thread;
    int later = comes_ahead_of(t, r, r->sequence[at]);
    if (later >= 0)
        return arena_printf(t->arena, "  (* %u comes ahead of %d, which stands before it in P%u's program)\n",
                            at + 1, later + 1, thread);
    if (!r->n_cycle && comes_between(t, r, at, &first, &last))
        return arena_printf(t->arena,
                            "  (* %u comes between %u and %u, which are one operation, and is overwritten)\n",
                            at + 1, first + 1, last + 1);
    return NULL;
}

static void say_sequence(const struct teller *t, const struct reordering *r)
{
    const struct explanation *e = t->e;
    unsigned width = 0;
    uint32_t line;
    const char *remarks = "";
    for (unsigned i = 0; i < e->n_events; i++) {
        unsigned w = width_of(e->program->ops->describe(e->program, e->events[i].where, &line));
        width = w > width ? w : width;
    }
    fputs("It can happen in this order:\n", t->out);
    for (unsigned i = 0; i < e->n_events; i++) {
        const struct event *event = &e->events[r->sequence[i]];
        const char *text = e->program->ops->describe(e->program, event->where, &line),
                   *note = remark(t, r, i);
        fprintf(t->out, "%c %3u. P%u  %s%*s  %s\n", note ? '*' : ' ', i + 1, event->thread, text,
                (int)(width - width_of(text)), "", event_words(t->arena, e->program, event));
        if (note)
            remarks = arena_printf(t->arena, "%s%s", remarks, note);
    }
    fputs(remarks, t->out);
}

/* Whether another thread's event stands between those of one statement. */
static bool is_interrupted(const struct teller *t, const struct reordering *r)
{
    const struct event *events = t->e->events;
    for (unsigned i = 0; i < t->e->n_events; i++)
        for (unsigned k = i + 1, others = 0; k < t->e->n_events; k++) {
            const struct event *a = &events[r->sequence[i]], *b = &events[r->sequence[k]];
            others += a->thread != b->thread;
            if (others && a->thread == b->thread && a->call == b->call)
                return true;
        }
    return false;
}

static void say_allowed(struct teller *t)
{
    struct reordering r = find_reordering(t->arena, t->e);
    if (r.n_cycle)
        say_lost(t, &r);
    else if (r.too_many)
        fprintf(
            t->out,
            "(There are more than %d events: it was not looked into which order of the program is lost.)\n",
            REORDERING_MOST_EVENTS);
    else if (is_interrupted(t, &r))
        fputs("No statement overtakes another in its thread, but a remote operation is not one step: others "
              "come in "
              "between its parts.\n",
              t->out);
    else
        fputs("No statement overtakes another in its thread: it is enough that the threads run at different "
              "speeds.\n",
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
}

const char *why_in_words(struct arena *arena, const struct explained_test *explained)
{
    char *text;
    size_t length;
    struct teller t = {.out = open_memstream(&text, &length), .arena = arena, .e = &explained->explanation};
    if (!t.out)
        out_of_memory();
    say_all(&t, explained);
    fflush(t.out);
    if (t.said)
        say_words(&t, text);
    if (fclose(t.out) != 0)
        out_of_memory();
    const char *copy = arena_strndup(arena, text, length);
    free(text);
    return copy;
}
