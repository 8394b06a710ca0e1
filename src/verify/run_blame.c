/* See run_blame.h. Orders that are not kept are found as a circle (run_order.h): of its steps, those that program order
 * alone accounts for are told first, then by what the others show it. */
#include "verify/run_blame.h"

#include "base/arena.h"
#include "base/wrap.h"
#include "verify/run_order.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 110 };

struct blamer {
    const struct run_words *w;
    const struct run_order *order;
    FILE *out;
};

static const struct operation *operation_of(const struct blamer *b, unsigned event)
{
    return &b->w->story->operations[b->order->of[event].operation];
}

static const char *name_of(const struct blamer *b, unsigned loc)
{
    return b->w->names->location(b->w->arena, b->w->names->context, loc);
}

/* --- events --- */

static const char *verb_of(unsigned type)
{
    switch (type) {
    case T_NRW:
        return "lands";
    case T_NAW:
        return "writes";
    case T_NLW:
        return "brings its result";
    case T_NLR:
        return "reads its source";
    case T_NRR:
    case T_NAR:
        return "reads";
    case T_LW:
        return "gets into memory";
    default:
        return "is done";
    }
}

/* "in step 7"; of what is not told, or comes behind the end, what is known. */
static const char *when(const struct blamer *b, unsigned event)
{
    const struct story *story = b->w->story;
    uint32_t at = b->order->of[event].at;
    if (at >= story->n_steps)
        return "only after all of these steps";
    return story->numbers[at] ? arena_printf(b->w->arena, "in step %u", story->numbers[at]) : "before that";
}

/* "step 7", or by its operation. */
static const char *what(const struct blamer *b, unsigned event)
{
    const struct story *story = b->w->story;
    uint32_t at = b->order->of[event].at;
    const struct operation *o = operation_of(b, event);
    if (at < story->n_steps && story->numbers[at])
        return arena_printf(b->w->arena, "step %u", story->numbers[at]);
    return arena_printf(b->w->arena, "P%u's %s", o->thread, words_short(b->w, o));
}

/* --- what is not kept --- */

/* In a user's code a call, in the library's what its calls are made of. */
static const char *what_orders(const struct blamer *b, const struct event *first, const struct event *second)
{
    bool users = b->w->names->is_users;
    struct arena *a = b->w->arena;
    switch (lost_remedy(first, second)) {
    case REMEDY_MFENCE:
        return users ? "a rem_mfence" : "an mfence or a locked instruction";
    case REMEDY_WAIT:
        return users ? "a rem_wait for the work id of the first" : "taking the completion of the first";
    case REMEDY_RFENCE:
        return arena_printf(a, users ? "rem_rfence(thread, %u)" : "a remote fence towards node %u",
                            first->node);
    default:
        return users ? arena_printf(a, "rem_gfence(thread, REM_NODE(%u))", first->node)
                     : arena_printf(a, "a get from node %u, and taking its completion,", first->node);
    }
}

/* What is seen of it is where the program stands. */
static bool is_at_once(const struct blamer *b, unsigned event)
{
    return b->order->of[event].at == operation_of(b, event)->step;
}

static void tell_lost(const struct blamer *b, const struct edge *edge)
{
    struct arena *a = b->w->arena;
    const struct event *first = &b->order->events[edge->from], *second = &b->order->events[edge->to];
    const struct operation *x = operation_of(b, edge->from), *y = operation_of(b, edge->to);
    const char *other = is_at_once(b, edge->to) ? ""
                                                : arena_printf(a, ", after the other one, which %s %s",
                                                               verb_of(second->type), when(b, edge->to));
    say_wrapped(b->out, 2, WIDTH,
                arena_printf(a, "P%u's %s stands before its %s in the program, but %s %s%s.", x->thread,
                             words_long(b->w, x), words_long(b->w, y), verb_of(first->type),
                             when(b, edge->from), other));
    say_wrapped(b->out, 2, WIDTH,
                arena_printf(a, "Nothing keeps the two in order: %s. Between them, %s would keep the order.",
                             lost_words(a, first, second), what_orders(b, first, second)));
}

/* --- how it shows --- */

static void tell_kept(const struct blamer *b, const struct edge *edge)
{
    struct arena *a = b->w->arena;
    const struct event *from = &b->order->events[edge->from], *to = &b->order->events[edge->to];
    const char *text;
    if (strcmp(what(b, edge->from), what(b, edge->to)) == 0)
        return; /* told as one step */
    switch (edge->kind) {
    case EDGE_RF:
        text = arena_printf(a, "%s reads %s = %" PRIu64 ", which %s wrote", what(b, edge->to),
                            name_of(b, to->loc), to->read, what(b, edge->from));
        break;
    case EDGE_RB:
        text = arena_printf(a, "%s reads %s = %" PRIu64 ", not yet the %" PRIu64 " that %s writes",
                            what(b, edge->from), name_of(b, from->loc), from->read, to->written,
                            what(b, edge->to));
        break;
    case EDGE_MO:
        text = arena_printf(a, "%s writes %s before %s does", what(b, edge->from), name_of(b, to->loc),
                            what(b, edge->to));
        break;
    case EDGE_PF:
        text = arena_printf(a, "%s comes after %s, whose completion it takes", what(b, edge->to),
                            what(b, edge->from));
        break;
    case EDGE_RAO:
    case EDGE_AR:
        text = arena_printf(a, "%s comes after %s: remote atomics on a node are executed one after the other",
                            what(b, edge->to), what(b, edge->from));
        break;
    default:
        if (from->call == to->call)
            text = arena_printf(a, "%s and %s are one operation", what(b, edge->from), what(b, edge->to));
        else
            text = arena_printf(a, "%s stands before %s in P%u's program, and that order is kept",
                                what(b, edge->from), what(b, edge->to), from->thread);
        break;
    }
    say_wrapped(b->out, 4, WIDTH, text);
}

static void tell_circle(const struct blamer *b)
{
    const struct reordering *lost = &b->order->lost;
    unsigned first = 0;
    for (unsigned i = 0; i < lost->n_cycle; i++)
        first = lost->lost[i] ? i : first;
    fprintf(b->out, "\nWhat is out of order in this run:\n");
    for (unsigned i = 1; i <= lost->n_cycle; i++)
        if (lost->lost[(first + i) % lost->n_cycle])
            tell_lost(b, &lost->cycle[(first + i) % lost->n_cycle].edge);
    fprintf(b->out, "  How it shows:\n");
    for (unsigned i = 1; i <= lost->n_cycle; i++)
        if (!lost->lost[(first + i) % lost->n_cycle])
            tell_kept(b, &lost->cycle[(first + i) % lost->n_cycle].edge);
}

/* --- between the halves --- */

/* Whether the atomic wrote over what came between its halves. */
static bool tell_between(const struct blamer *b)
{
    const struct story *story = b->w->story;
    bool any = false;
    for (uint32_t at = 0; at < story->n_steps; at++) {
        uint32_t atomic = story->numbers[at] ? story_between(story, at) : NO_OPERATION;
        if (atomic == NO_OPERATION)
            continue;
        const struct operation *o = &story->operations[atomic],
                               *other = &story->operations[story->operation[at]];
        if (!any)
            fputs("\nWhat goes wrong in this run:\n", b->out);
        say_wrapped(
            b->out, 2, WIDTH,
            arena_printf(
                b->w->arena,
                "P%u's %s takes effect in step %u, between the two halves of P%u's %s, which reads in step "
                "%u and writes in step %u: so the %s is overwritten. A remote atomic is atomic against other "
                "remote "
                "atomics towards its node only, not against puts, nor against what the node's own CPU does.",
                other->thread, words_long(b->w, other), story->numbers[at], o->thread, words_long(b->w, o),
                story->numbers[o->read], o->write < story->n_steps ? story->numbers[o->write] : 0,
                words_noun(other)));
        any = true;
    }
    return any;
}

/* --- neither --- */

/* A put or get of several words some of which have taken effect without the others, or out of their order. */
static bool tell_words(const struct blamer *b)
{
    const struct story *story = b->w->story;
    const struct operation *o = NULL;
    const char *order = "";
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *word = &story->operations[i];
        if (word->words < 2 || (o && word->thread != o->thread))
            continue;
        order = arena_printf(b->w->arena, "%s%s%u", order, o ? ", " : "", word->word);
        o = o ? o : word;
    }
    if (!o)
        return false;
    fputs("\nWhat there is to know of this run:\n", b->out);
    say_wrapped(
        b->out, 2, WIDTH,
        arena_printf(
            b->w->arena,
            "The %u words of P%u's %s are not one step: they arrive one by one, in any order (here %s), "
            "and others see some of them before the rest. Otherwise nothing is out of order.",
            o->words, o->thread, o->local->kind == OP_GET ? "get" : "put", order));
    return true;
}

void run_blame(FILE *out, const struct run_words *words)
{
    struct run_order order = run_order_of(words->arena, words->story);
    struct blamer b = {.w = words, .order = &order, .out = out};
    bool between = tell_between(&b);
    if (order.lost.n_cycle)
        tell_circle(&b);
    else if (order.lost.too_many)
        fprintf(out,
                "\n(The run has more than %d events: it was not looked into what is out of order in it.)\n",
                REORDERING_MOST_EVENTS);
    else if (!between && !tell_words(&b))
        fputs("\nNothing is out of order in this run: each thread's operations take effect one after the "
              "other, as they "
              "stand in the\nprogram. That the threads take turns in this way is enough; no further fence or "
              "wait would rule it "
              "out.\n",
              out);
}
