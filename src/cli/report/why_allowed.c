/* Why an outcome can happen, in words: the circle that it would close if all of program order were kept, its steps
 * lettered, with what the hardware does not keep and what would keep it; then one order in which it does happen, its
 * steps numbered. */
#include "base/arena.h"
#include "base/wrap.h"
#include "cli/report/teller.h"
#include "search/explain_words.h"
#include "search/reordering.h"

#include <string.h>

/* --- the circle --- */

static const char *letter_of(const struct teller *t, const struct reordering *r, unsigned i)
{
    return letter_of_step(t->arena, i % r->n_cycle);
}

static void say_intro(const struct teller *t, const struct reordering *r)
{
    unsigned lost = 0, n = r->n_cycle;
    for (unsigned i = 0; i < n; i++)
        lost += r->lost[i];
    const char *middle = n == 2 ? "" : n == 3 ? "B before C, " : "B before C, and so on, ";
    say_wrapped(
        t->out, 0, WHY_WIDTH,
        arena_printf(t->arena,
                     "In program order this outcome is impossible: A would have to happen before B, %sand %s "
                     "before A again. At the step%s marked * the hardware does not keep that order:",
                     middle, letter_of(t, r, n - 1), lost == 1 ? "" : "s"));
}

static unsigned place_of(const struct teller *t, const struct reordering *r, unsigned event)
{
    unsigned place = 0;
    while (place < t->e->n_events && r->sequence[place] != event)
        place++;
    return place;
}

/* That of several additions none is enough alone, and so that the order below need not show all of them wanting. */
static void say_all_needed(const struct teller *t, const struct reordering *r)
{
    unsigned additions = 0, open = 0;
    const char **said = ARENA_ARRAY(t->arena, const char *, r->n_cycle + 1);
    for (unsigned i = 0; i < r->n_cycle; i++) {
        const struct edge *edge = &r->cycle[i].edge;
        if (!r->lost[i])
            continue;
        open += place_of(t, r, edge->from) > place_of(t, r, edge->to);
        said[additions] = remedy_words(t->arena, t->e, edge->from, edge->to);
        unsigned same = 0;
        while (strcmp(said[same], said[additions]) != 0)
            same++;
        additions += same == additions;
    }
    if (additions > 1)
        fprintf(t->out, "%s additions are needed: one step whose order is lost leaves the circle open%s.\n",
                additions == 2 ? "Both" : "All", open == 1 ? ", as below" : "");
}

static void say_circle(struct teller *t, const struct reordering *r)
{
    say_intro(t, r);
    for (unsigned i = 0; i < r->n_cycle; i++) {
        const struct cycle_step *step = &r->cycle[i];
        unsigned a = step->edge.from, b = step->edge.to;
        const char *next = letter_of(t, r, i + 1);
        fprintf(t->out, "%c %s. %s\n", r->lost[i] ? '*' : ' ', letter_of(t, r, i), tell_event(t, a));
        if (!r->lost[i]) {
            tell_reason(t, 7, step, next);
            continue;
        }
        say_wrapped(
            t->out, 7, WHY_WIDTH,
            arena_printf(t->arena,
                         "stands before %s in the program, but the hardware does not keep that order: %s.",
                         next, lost_words(t->arena, &t->e->events[a], &t->e->events[b])));
        say_wrapped(t->out, 7, WHY_WIDTH, remedy_words(t->arena, t->e, a, b));
    }
    fputs("  and so back to A.\n", t->out);
    say_all_needed(t, r);
    fputs("(After such a change check again: there may be another way to this outcome.)\n", t->out);
}

/* --- one order in which it happens --- */

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
    for (unsigned i = 0; i < r->n_cycle; i++) {
        const struct edge *edge = &r->cycle[i].edge;
        if (!r->lost[i] || edge->to != event)
            continue;
        if (place_of(t, r, edge->from) > place_of(t, r, event))
            return (int)place_of(t, r, edge->from);
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

static const char *statement(const struct teller *t, unsigned event)
{
    uint32_t line;
    return t->e->program->ops->describe(t->e->program, t->e->events[event].where, &line);
}

/* Of a load: the place of the own store that it reads before that is in memory; else -1. */
static int reads_ahead_of(const struct teller *t, const struct reordering *r, unsigned at)
{
    const struct event *event = &t->e->events[r->sequence[at]];
    for (unsigned k = at + 1; event->reads && k < t->e->n_events; k++)
        if (event->rf == (int)r->sequence[k])
            return (int)k;
    return -1;
}

/* What is unusual about the event at this place of the sequence; NULL: nothing. */
static const char *remark(const struct teller *t, const struct reordering *r, unsigned at)
{
    unsigned first, last, thread = t->e->events[r->sequence[at]].thread;
    int later = comes_ahead_of(t, r, r->sequence[at]);
    if (later >= 0)
        return arena_printf(
            t->arena, "(> %u happens before %d, although the statement of %d stands first in P%u's program.)",
            at + 1, later + 1, later + 1, thread);
    int store = reads_ahead_of(t, r, at);
    if (store >= 0)
        return arena_printf(t->arena,
                            "(> %u reads the value of %d in P%u's own store buffer, before it is in memory.)",
                            at + 1, store + 1, thread);
    if (r->interrupted && comes_between(t, r, at, &first, &last))
        return arena_printf(t->arena,
                            "(> %u comes between %u and %u, the two halves of P%u's %s: %u writes what it "
                            "made of the value that %u "
                            "read, and so the effect of %u is lost.)",
                            at + 1, first + 1, last + 1, t->e->events[r->sequence[first]].thread,
                            statement(t, r->sequence[first]), last + 1, first + 1, at + 1);
    return NULL;
}

static void say_sequence(const struct teller *t, const struct reordering *r)
{
    const struct explanation *e = t->e;
    unsigned width = 0;
    for (unsigned i = 0; i < e->n_events; i++) {
        unsigned w = width_of(statement(t, i));
        width = w > width ? w : width;
    }
    fputs("One order in which it happens:\n", t->out);
    for (unsigned i = 0; i < e->n_events; i++) {
        const struct event *event = &e->events[r->sequence[i]];
        const char *text = statement(t, r->sequence[i]);
        fprintf(t->out, "%c %3u. P%u  %s%*s  %s\n", remark(t, r, i) ? '>' : ' ', i + 1, event->thread, text,
                (int)(width - width_of(text)), "", event_words(t->arena, e->program, event));
    }
    for (unsigned i = 0; i < e->n_events; i++)
        if (remark(t, r, i))
            say_wrapped(t->out, 2, WHY_WIDTH, remark(t, r, i));
}

/* --- all --- */

/* What a remote atomic changes while another thread's write comes between its two halves; NULL: there is no such. */
static const char *torn_location(const struct teller *t, const struct reordering *r)
{
    unsigned first, last;
    for (unsigned i = 0; r->interrupted && i < t->e->n_events; i++)
        if (comes_between(t, r, i, &first, &last)) {
            const struct event *read = &t->e->events[r->sequence[first]];
            if (read->type == (read->lib == LIB_TSO ? (unsigned)T_NAR : (unsigned)S_NAR))
                return t->e->program->locs[read->loc].name;
        }
    return NULL;
}

/* Program order, kept as a whole, allows the outcome: so no fence forbids it. */
static const char *without_reordering(const struct teller *t, const struct reordering *r)
{
    const char *torn = torn_location(t, r);
    const char *so = r->interrupted ? "each thread's statements take effect in program order. But a remote "
                                      "operation is not one step, and here steps of other threads come "
                                      "between its parts."
                                    : "every statement takes effect in program order, and the threads merely "
                                      "interleave like this.";
    return arena_printf(
        t->arena, "No reordering is involved: %s A fence or wait does not rule this out%s", so,
        torn ? arena_printf(t->arena,
                            ". It is ruled out if every thread writes %s by remote atomics only "
                            "(rfaa, rcas), on its own node too.",
                            torn)
             : "; only another algorithm would.");
}

void tell_allowed(struct teller *t)
{
    struct reordering r = find_reordering(t->arena, t->e);
    if (r.n_cycle)
        say_circle(t, &r);
    else
        say_wrapped(
            t->out, 0, WHY_WIDTH,
            r.too_many ? arena_printf(t->arena,
                                      "(There are more than %d events: it was not looked into which order of "
                                      "the program is lost.)",
                                      REORDERING_MOST_EVENTS)
                       : without_reordering(t, &r));
    say_sequence(t, &r);
}
