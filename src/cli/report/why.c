/* Explanations in words (see why.h), for readers who know what a store, a put and a wait are, but have never
 * read a memory model. */
#include "cli/report/why.h"

#include "base/arena.h"
#include "base/wrap.h"
#include "cli/report/teller.h"
#include "search/explain_words.h"

#include <stdlib.h>
#include <string.h>

static const char *const glossary[] = {
    [EDGE_ISO] = "iso: the parts of one operation, in their order",
    [EDGE_RF] = "rf (reads from): this read takes its value from that write",
    [EDGE_RB] = "rb (reads before): this read gets an older value than that write gives, so it comes first",
    [EDGE_MO] = "mo (modification order): the order in which a location gets its values",
    [EDGE_NFO] =
        "nfo (NIC flush order): the NIC does two accesses one after the other; this says which goes first",
    [EDGE_RAO] = "rao (remote atomics order): the order in which remote atomics towards a node are executed",
    [EDGE_AR] = "ar (atomics before reads): a remote atomic has written before the next one reads",
    [EDGE_PF] = "pf (polls from): a wait or poll returns after what it waits for",
};

const char *tell_event(struct teller *t, unsigned event)
{
    bit_set(t->events, event);
    return explain_event(t->arena, t->e, event);
}

void tell_reason(struct teller *t, unsigned indent, const struct cycle_step *step, const char *next)
{
    t->said |= UINT32_C(1) << step->edge.kind;
    say_wrapped(t->out, indent, WHY_WIDTH, explain_edge(t->arena, t->e, step, next));
}

const char *letter_of_step(struct arena *arena, unsigned i)
{
    const char *front = i < 26 ? "" : letter_of_step(arena, i / 26 - 1);
    return arena_printf(arena, "%s%c", front, (char)('A' + (char)(i % 26)));
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
    {"RDMA-WAIT", "the model of CPUs with store buffers, and of RDMA operations with work ids to wait for"},
    {"RDMA-TSO",
     "the model of CPUs with store buffers (x86-TSO), and of queue pairs with completions to poll"},
    {"library specifications",
     "what locks, shared variables and the like promise, however they are implemented"},
    {"stamp order", "which two steps of a thread keep program order, by their kinds (stamps: in brackets)"},
    {"observation order",
     "which two steps of a thread take effect in program order, by their kinds (in brackets)"},
    {"issue order", "which two steps of a thread begin in program order, by their kinds (in brackets)"},
    {"lock order", "the order in which a lock's holders follow each other"},
};

/* Lines were broken at some of its spaces. */
static const char *in_one_line(struct arena *arena, const char *text)
{
    char *line = arena_strdup(arena, text), *end = line;
    for (const char *from = line; *from; from++)
        if (*from != '\n' && !(*from == ' ' && end > line && end[-1] == ' '))
            *end++ = *from;
        else if (*from == '\n' && end > line && end[-1] != ' ')
            *end++ = ' ';
    *end = 0;
    return line;
}

static void say_words(const struct teller *t, const char *wrapped)
{
    const char *text = in_one_line(t->arena, wrapped);
    fputs("Words:\n", t->out);
    for (unsigned i = 0; i < sizeof terms / sizeof *terms; i++)
        if (strstr(text, terms[i][0]))
            fprintf(t->out, "  %s: %s\n", terms[i][0], terms[i][1]);
    if (strstr(text, "NIC"))
        fputs("  NIC: the network card\n", t->out);
    for (unsigned i = 0; i < t->e->n_events; i++)
        if (bit_test(t->events, i) && !is_told(t, i, false))
            say_type(t, i);
    for (unsigned kind = 0; kind < sizeof glossary / sizeof *glossary; kind++)
        if (t->said >> kind & 1 && glossary[kind])
            fprintf(t->out, "  %s\n", glossary[kind]);
}

/* --- all --- */

static void say_all(struct teller *t, const struct explained_test *explained)
{
    bool nothing = t->e->verdict != EXPLAINED_UNKNOWN && !t->e->n_observables;
    if (nothing)
        fputs("Nothing to explain: the condition names no register and no location. (--all-state takes all "
              "of them as "
              "named.)\n",
              t->out);
    else
        fprintf(t->out, "%s: %s\n", explained->verdict, explained->outcome);
    if (explained->note)
        say_wrapped(t->out, 0, WHY_WIDTH, explained->note);
    if (nothing)
        return;
    if (t->e->verdict == EXPLAINED_FORBIDDEN)
        tell_forbidden(t);
    if (t->e->verdict == EXPLAINED_ALLOWED)
        tell_allowed(t);
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
    if (t.e->events && t.e->n_observables)
        say_words(&t, text);
    if (fclose(t.out) != 0)
        out_of_memory();
    const char *copy = arena_strndup(arena, text, length);
    free(text);
    return copy;
}
