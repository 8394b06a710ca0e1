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

/* "lands in step 7", "has not landed yet when the run ends" */
static const char *takes_effect(const struct blamer *b, unsigned event)
{
    static const char *const verbs[][2] = {
        [T_NRW] = {"lands", "has not landed"},
        [T_NAW] = {"writes", "has not written"},
        [T_NLW] = {"brings its result", "has not brought its result"},
        [T_NLR] = {"reads its source", "has not read its source"},
        [T_NRR] = {"reads", "has not read"},
        [T_NAR] = {"reads", "has not read"},
        [T_LW] = {"gets into memory", "has not got into memory"},
    };
    const struct story *story = b->w->story;
    unsigned type = b->order->events[event].type;
    uint32_t at = b->order->of[event].at;
    bool known = type < sizeof verbs / sizeof *verbs && verbs[type][0];
    if (at >= story->n_steps)
        return arena_printf(b->w->arena, "%s yet when the run ends", known ? verbs[type][1] : "is not done");
    const char *verb = known ? verbs[type][0] : "is done";
    return story->numbers[at] ? arena_printf(b->w->arena, "%s in step %u", verb, story->numbers[at])
                              : arena_printf(b->w->arena, "%s before the first step that is told", verb);
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

/* "rem_put_value (user.c:31)"; in the library's own code its lines or a step. */
static const char *where(const struct blamer *b, const struct operation *o)
{
    const char *function, *line = words_line(b->w, o->thread, o->local->point, &function);
    const char *call = b->w->names->is_users ? words_call(b->w, o->thread, o->local->point) : NULL;
    if (!*line)
        return arena_printf(b->w->arena, "step %u", o->number);
    return call ? arena_printf(b->w->arena, "%s (%s)", call, line)
                : words_place(b->w, o->thread, o->local->point);
}

/* The work id that the operation was posted with; -1: not known. */
static int work_id_of(const struct blamer *b, const struct operation *o)
{
    const struct run_names *names = b->w->names;
    const struct story *story = b->w->story;
    for (uint32_t at = o->step + 1; at < story->n_steps && names->work_id; at++) {
        const struct operation *next = &story->operations[story->operation[at]];
        if (story->steps[at].rule == RULE_CPU && next->thread == o->thread && next->whole != o->whole)
            return names->work_id(names->context, o->thread, o->local->point, next->local->point,
                                  o->local->node);
    }
    return -1;
}

/* What completes the operation in a user's code. */
static const char *wait_for(const struct blamer *b, const struct operation *o)
{
    int id = work_id_of(b, o);
    return id < 0 ? arena_printf(b->w->arena, "a rem_wait for the work id of %s", where(b, o))
                  : arena_printf(b->w->arena, "rem_wait(thread, %d), for the work id %d of %s", id, id,
                                 where(b, o));
}

/* What to add to a user's code, and what it does. */
static const char *users_remedy(const struct blamer *b, const struct edge *edge)
{
    const struct event *first = &b->order->events[edge->from], *second = &b->order->events[edge->to];
    struct arena *a = b->w->arena;
    switch (lost_remedy(first, second)) {
    case REMEDY_MFENCE:
        return "add rem_mfence(thread): it blocks until the thread's stores are in memory";
    case REMEDY_WAIT:
        return arena_printf(a, "add %s: it blocks until that has %s",
                            wait_for(b, operation_of(b, edge->from)),
                            first->type == T_NLR ? "read its source" : "brought its result");
    case REMEDY_RFENCE:
        return arena_printf(
            a,
            "add rem_rfence(thread, %u): what the thread posts to node %u after it begins only when its "
            "gets and atomics before it are done",
            first->node, first->node);
    default:
        return arena_printf(
            a,
            "add rem_gfence(thread, REM_NODE(%u)): it blocks until all that the thread has posted to "
            "node %u is in memory there",
            first->node, first->node);
    }
}

/* What the library is to do, in terms of what its calls are made of. */
static const char *librarys_remedy(const struct blamer *b, const struct edge *edge)
{
    const struct event *first = &b->order->events[edge->from], *second = &b->order->events[edge->to];
    const struct operation *x = operation_of(b, edge->from);
    struct arena *a = b->w->arena;
    switch (lost_remedy(first, second)) {
    case REMEDY_MFENCE:
        return "have an mfence or a locked instruction, which waits until the thread's stores are in memory";
    case REMEDY_WAIT:
        return arena_printf(a, "poll the completion of the %s of step %u", words_noun(x), x->number);
    case REMEDY_RFENCE:
        return arena_printf(
            a,
            "post a remote fence towards node %u, which holds back what is posted to that node after it "
            "until the gets and atomics before it are done",
            first->node);
    default:
        return arena_printf(
            a,
            "post a get from node %u after the %s of step %u, and poll the completion of that get: it "
            "reads only when the earlier writes to node %u are in memory",
            first->node, words_noun(x), x->number, first->node);
    }
}

/* The statements of a client between two operations of a thread: "wait(d)"; NULL: none. */
static const char *statements_between(const struct blamer *b, const struct operation *x,
                                      const struct operation *y)
{
    const struct c_program *program = b->w->names->program;
    unsigned first = c_program_statement_at(program, x->thread, x->local->point),
             last = c_program_statement_at(program, y->thread, y->local->point);
    const char *text = NULL;
    for (unsigned number = first + 1; number < last; number++) {
        const char *statement = words_statement(b->w, x->thread, number);
        if (statement)
            text = text ? arena_printf(b->w->arena, "%s, %s", text, statement) : statement;
    }
    return text;
}

/* What mends it. What a client of the library does is not to be changed: the library must keep its promise. */
static const char *advice(const struct blamer *b, const struct edge *edge)
{
    const struct operation *x = operation_of(b, edge->from), *y = operation_of(b, edge->to);
    struct arena *a = b->w->arena;
    if (b->w->names->is_users)
        return arena_printf(a, "Before %s, %s.", where(b, y), users_remedy(b, edge));
    const char *function, *line = words_line(b->w, y->thread, y->local->point, &function);
    if (*line)
        return arena_printf(a, "Before %s, %s.", where(b, y), librarys_remedy(b, edge));
    const char *between = statements_between(b, x, y);
    return arena_printf(
        a, "%s should keep them in order; for that it must %s. In this run it does not before step %u.",
        between ? between : "What the library does between them", librarys_remedy(b, edge), y->number);
}

/* What is seen of it is where the program stands. */
static bool is_at_once(const struct blamer *b, unsigned event)
{
    return b->order->of[event].at == operation_of(b, event)->step;
}

/* *last: the remedy that was told last. Whether this one is another. */
static bool tell_lost(const struct blamer *b, const struct edge *edge, const char **last)
{
    struct arena *a = b->w->arena;
    const struct event *first = &b->order->events[edge->from], *second = &b->order->events[edge->to];
    const struct operation *x = operation_of(b, edge->from), *y = operation_of(b, edge->to);
    const char *other =
        is_at_once(b, edge->to) ? "" : arena_printf(a, "; the other one %s", takes_effect(b, edge->to));
    say_wrapped(b->out, 2, WIDTH,
                arena_printf(a, "P%u's %s stands before its %s in the program, but %s%s.", x->thread,
                             words_long(b->w, x), words_long(b->w, y), takes_effect(b, edge->from), other));
    const char *mends = advice(b, edge);
    bool is_same = *last && strcmp(*last, mends) == 0;
    say_wrapped(b->out, 2, WIDTH,
                arena_printf(a, "Nothing keeps the two in order: %s. %s", lost_words(a, first, second),
                             is_same ? "The change above mends this, too." : mends));
    *last = mends;
    return !is_same;
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
    const char *last = NULL;
    unsigned first = 0, changes = 0;
    for (unsigned i = 0; i < lost->n_cycle; i++)
        first = lost->lost[i] ? i : first;
    fprintf(b->out, "\nWhat is out of order in this run:\n");
    for (unsigned i = 1; i <= lost->n_cycle; i++)
        if (lost->lost[(first + i) % lost->n_cycle])
            changes += tell_lost(b, &lost->cycle[(first + i) % lost->n_cycle].edge, &last);
    if (changes > 1)
        fprintf(b->out, "  %s changes are needed to rule this run out.\n",
                changes > 2 ? "All of these" : "Both");
    fprintf(b->out, "  How it shows:\n");
    for (unsigned i = 1; i <= lost->n_cycle; i++)
        if (!lost->lost[(first + i) % lost->n_cycle])
            tell_kept(b, &lost->cycle[(first + i) % lost->n_cycle].edge);
}

/* --- between the halves --- */

/* Whether the atomic wrote over what came between its halves. */
static bool tell_between(const struct blamer *b)
{
    const char *mends =
        b->w->names->is_users
            ? " So have every thread, on that node too, write the word by remote atomics only."
            : "";
    const struct story *story = b->w->story;
    bool any = false;
    for (uint32_t at = 0; at < story->n_steps; at++) {
        uint32_t atomic = story->numbers[at] ? story_between(story, at) : NO_OPERATION;
        if (atomic == NO_OPERATION)
            continue;
        const struct operation *o = &story->operations[atomic],
                               *other = &story->operations[story->operation[at]];
        if (!any)
            fputs(b->order->lost.n_cycle ? "\nWhat comes of it:\n" : "\nWhat goes wrong in this run:\n",
                  b->out);
        say_wrapped(b->out, 2, WIDTH,
                    arena_printf(b->w->arena,
                                 "P%u's %s takes effect in step %u, between the two halves of P%u's %s, "
                                 "which reads in step %u and writes in step %u: so the %s is overwritten. A "
                                 "remote atomic is atomic against other remote atomics towards its node "
                                 "only, not against puts, nor against what the node's own CPU does.%s",
                                 other->thread, words_long(b->w, other), story->numbers[at], o->thread,
                                 words_long(b->w, o), story->numbers[o->read],
                                 o->write < story->n_steps ? story->numbers[o->write] : 0, words_noun(other),
                                 mends));
        any = true;
    }
    return any;
}

/* --- several words --- */

static uint32_t effect_of(const struct operation *o)
{
    return o->local->kind == OP_GET ? o->read : o->write;
}

/* Whether another thread does something between the first and the last word. */
static bool is_split(const struct story *story, uint32_t whole)
{
    const struct operation *o = &story->operations[whole];
    uint32_t first = NOT_AT_ALL, last = 0;
    for (uint32_t i = whole; i < story->n_operations; i++) {
        uint32_t at = effect_of(&story->operations[i]);
        if (story->operations[i].whole != whole)
            continue;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    if (first >= story->n_steps)
        return false;
    if (last >= story->n_steps || story->in_part[o->thread] != NO_OPERATION)
        return true;
    for (uint32_t at = first; at < last; at++)
        if (story->told[at] && story->steps[at].thread != o->thread)
            return true;
    return false;
}

/* "a[0]@1, then a[2]@1": the words that have taken effect, in their order. */
static const char *words_in_order(const struct blamer *b, uint32_t whole, unsigned *n)
{
    const struct story *story = b->w->story;
    const char *text = "";
    *n = 0;
    for (uint32_t at = 0; at < story->n_steps; at++) {
        const struct operation *o = &story->operations[story->operation[at]];
        if (o->whole == whole && effect_of(o) == at)
            text = arena_printf(b->w->arena, "%s%s%s", text, (*n)++ ? ", then " : "",
                                name_of(b, operation_far(o)));
    }
    return text;
}

/* A put or get of several words some of which have taken effect without the others. */
static bool tell_several(const struct blamer *b)
{
    const struct story *story = b->w->story;
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        if (o->words < 2 || o->whole != i || !is_split(story, i))
            continue;
        bool get = o->local->kind == OP_GET;
        unsigned n;
        const char *order = words_in_order(b, i, &n);
        const char *which = arena_printf(b->w->arena, n < o->words ? "so far only %s" : "here %s", order);
        fputs("\nWhat goes wrong in this run:\n", b->out);
        say_wrapped(b->out, 2, WIDTH,
                    arena_printf(b->w->arena,
                                 "A %s of %u words, as P%u's of step %u, is not one step: its words %s one "
                                 "by one, in any order (%s), and other threads go on in between. %s",
                                 words_noun(o), o->words, o->thread, o->number, get ? "are read" : "land",
                                 which,
                                 get ? "To get words that belong together, have reader and writer hold a "
                                       "lock; or have the writer change a "
                                       "sequence number before and after, and the reader get that by gets of "
                                       "their own, waited for, before "
                                       "and after."
                                     : "To tell that all have landed, send a flag by a second put to the "
                                       "same node: puts of one thread to one node land in order."));
        return true;
    }
    return false;
}

/* --- neither --- */

static void tell_no_reordering(const struct blamer *b, const char *why_stuck)
{
    fputs("\nWhat goes wrong in this run:\n", b->out);
    say_wrapped(b->out, 2, WIDTH,
                why_stuck ? arena_printf(b->w->arena, "No reordering is involved. %s", why_stuck)
                          : "No reordering is involved: every operation takes effect in program order, and "
                            "the threads merely interleave like this. A fence or wait will not help; the "
                            "algorithm itself must change.");
}

void run_blame(FILE *out, const struct run_words *words, const char *why_stuck)
{
    struct run_order order = run_order_of(words->arena, words->story);
    struct blamer b = {.w = words, .order = &order, .out = out};
    if (order.lost.n_cycle)
        tell_circle(&b);
    bool between = tell_between(&b);
    if (order.lost.n_cycle)
        return;
    if (order.lost.too_many)
        fprintf(out,
                "\n(The run has more than %d events: it was not looked into what is out of order in it.)\n",
                REORDERING_MOST_EVENTS);
    else if (!between && !tell_several(&b))
        tell_no_reordering(&b, why_stuck);
}
