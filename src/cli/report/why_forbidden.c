/* Why an outcome cannot happen, in words: the cycle, step by step, lettered; and for each step that is a choice, why it
 * could not be the other way round. These are told behind the cycle, as (1), (2), …, so that its steps follow each other. */
#include "base/arena.h"
#include "base/wrap.h"
#include "cli/report/teller.h"
#include "search/explain_words.h"

#include <inttypes.h>

/* --- the other way round --- */

/* "P1's put(x, 2) [x becomes 2]" */
static const char *short_event(const struct teller *t, unsigned event)
{
    const struct event *ev = &t->e->events[event];
    uint32_t line;
    const char *text = t->e->program->ops->describe(t->e->program, ev->where, &line);
    if (ev->lib == LIB_LOCK)
        return arena_printf(t->arena, "P%u's %s", ev->thread, text);
    return arena_printf(t->arena, "P%u's %s (%s)", ev->thread, text,
                        event_words(t->arena, t->e->program, ev));
}

static const char *question(const struct teller *t, const struct edge *ordered)
{
    const struct event *to = &t->e->events[ordered->to];
    if (ordered->kind == EDGE_LO)
        return arena_printf(t->arena, "Could P%u hold lock %s before P%u?", to->thread,
                            t->e->program->locks[to->object].name, t->e->events[ordered->from].thread);
    return arena_printf(t->arena, "Could %s come before %s?", short_event(t, ordered->to),
                        short_event(t, ordered->from));
}

/* Why the chain's last event would come before its first if the order were the other one. */
static const char *conclusion(const struct cycle_step *step, unsigned end)
{
    if (end != step->ordered.to && step->ordered.kind == EDGE_MO)
        return "the last of these, which reads that value, would come before the first, which overwrites it "
               "(rb)";
    if (end != step->ordered.to && step->ordered.kind == EDGE_RAO)
        return "the last of these would come before the first (ar)";
    return "the last of these would come before the first";
}

static void say_because(struct teller *t, const struct cycle_step *step, unsigned choice)
{
    unsigned end = step->because[step->n_because - 1].edge.to;
    say_wrapped(t->out, 0, WHY_WIDTH,
                arena_printf(t->arena, "(%u) %s No: then %s; but each comes before the next:", choice,
                             question(t, &step->ordered), conclusion(step, end)));
    for (unsigned i = 0; i < step->n_because; i++) {
        const struct cycle_step *link = &step->because[i];
        fprintf(t->out, "  %u.%u. %s\n", choice, i + 1, tell_event(t, link->edge.from));
        tell_reason(t, 7, link, arena_printf(t->arena, "%u.%u", choice, i + 2));
    }
    fprintf(t->out, "  %u.%u. %s\n", choice, step->n_because + 1, tell_event(t, end));
}

static bool is_choice(enum edge_kind kind)
{
    return kind == EDGE_MO || kind == EDGE_NFO || kind == EDGE_RAO || kind == EDGE_LO;
}

/* Below the step: that it could not be otherwise. Returns whether that is told behind the cycle. */
static bool say_choice(struct teller *t, const struct cycle_step *step, unsigned choice)
{
    enum edge_kind kind = step->edge.kind;
    const struct event *to = &t->e->events[step->edge.to];
    bool final = step->ordered.kind == EDGE_MO && is_final_write(t->e, step->ordered.to);
    if (step->n_because)
        fprintf(t->out, "       (why this order and not the other: see (%u) below)\n", choice);
    else if (kind == EDGE_RB && final)
        fprintf(t->out, "       (%s is %" PRId64 " in the end, so that is written last)\n",
                t->e->program->locs[to->loc].name, (int64_t)to->written);
    else if (is_choice(kind) && !final)
        fputs("       (the other order of these two contradicts itself, too)\n", t->out);
    return step->n_because > 0;
}

/* --- the cycle --- */

static void say_ways(const struct teller *t)
{
    const struct explanation *e = t->e;
    const char *what = e->cycle[0].edge.orders & FORBIDDEN ? "this step is impossible:"
                       : e->cycle_of_issue_order
                           ? "each step below must begin before the next, and the last before the first:"
                           : "each step below must come before the next, and the last before the first:";
    const char *ways = "It could only come about in one way, and that contradicts itself:";
    if (!e->all_candidates)
        ways = "Each way in which it could come about contradicts itself. The search for the simplest "
               "contradiction "
               "stopped at a limit; in the simplest so far,";
    else if (e->ways > 1)
        ways = arena_printf(t->arena,
                            "It could only come about in %" PRIu64
                            " ways (they differ in which writes the reads take their values from), and each "
                            "contradicts itself. This is the simplest:",
                            e->ways);
    say_wrapped(t->out, 0, WHY_WIDTH, arena_printf(t->arena, "%s %s", ways, what));
}

void tell_forbidden(struct teller *t)
{
    const struct explanation *e = t->e;
    unsigned choices = 0;
    say_ways(t);
    for (unsigned i = 0; i < e->n_cycle; i++) {
        const struct cycle_step *step = &e->cycle[i];
        fprintf(t->out, "  %s. %s\n", letter_of_step(t->arena, i), tell_event(t, step->edge.from));
        tell_reason(t, 7, step, letter_of_step(t->arena, (i + 1) % e->n_cycle));
        choices += say_choice(t, step, choices + 1);
    }
    if (e->n_cycle > 1)
        fputs("  and so back to A.\n", t->out);
    choices = 0;
    for (unsigned i = 0; i < e->n_cycle; i++)
        if (e->cycle[i].n_because)
            say_because(t, &e->cycle[i], ++choices);
}
