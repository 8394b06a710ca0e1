/* See run_end.h. */
#include "verify/run_end.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AWAITED = 8 };

struct ending {
    const struct run_words *w;
    const struct story *story;
    const struct run_goal *goal;
    FILE *out;
    const char *missing;           /* what those who wait would need */
    unsigned n_waiting, n_holders; /* … and how many of them wait for a lock and hold another one */
    const char *remarks; /* locks of threads that have ended; changes that may have come too early */
};

static const struct local *at_end(const struct ending *t, unsigned thread)
{
    return local_of(t->story->machine, t->story->states[t->story->n_steps], thread);
}

/* --- locks --- */

/* "lock and other"; NULL: it holds none. */
static const char *held_locks(const struct ending *t, unsigned thread)
{
    const struct run_names *names = t->w->names;
    const char *text = NULL, *lock;
    uint64_t ticket;
    for (unsigned i = 0;
         names->held && (lock = names->held(names->context, thread, at_end(t, thread)->point, i, &ticket));
         i++)
        text = text ? arena_printf(t->w->arena, "%s and %s", text, lock) : lock;
    return text;
}

static const char *still_holds(const struct ending *t, unsigned thread)
{
    const char *locks = held_locks(t, thread);
    return locks ? arena_printf(t->w->arena, ", still holding %s", locks) : "";
}

static bool is_acquiring(const struct ending *t, unsigned thread)
{
    uint32_t point = at_end(t, thread)->point;
    const char *call = words_call(t->w, thread, point);
    const char *statement =
        words_statement(t->w, thread, c_program_statement_at(t->w->names->program, thread, point));
    return (call && strstr(call, "lock_acquire")) || (statement && strncmp(statement, "acquire", 7) == 0);
}

/* --- who waits --- */

static bool is_stuck_in(unsigned kind)
{
    return kind == OP_SPIN_BEGIN || kind == OP_POLL || kind == OP_AWAIT;
}

/* One step of the thread, of its CPU if that can go on; false: there is none. */
static bool own_step(const struct machine *m, const uint8_t *state, unsigned thread, struct step *step)
{
    struct step *steps = xmalloc((machine_steps_bound(m, state) + 1) * sizeof *steps);
    unsigned n = machine_steps(m, state, steps), best = n;
    for (unsigned i = 0; i < n; i++)
        if (steps[i].thread == thread && (best == n || steps[i].rule == RULE_CPU))
            best = i;
    if (best < n)
        *step = steps[best];
    free(steps);
    return best < n;
}

/* The words that one more round of the waiting loop looks at, other than the library's own. */
static unsigned awaited_words(const struct ending *t, unsigned thread, unsigned *words)
{
    enum { MOST_STEPS = 200, ROOM = 64 << 10 };
    struct machine *m = t->story->machine;
    uint8_t *state = xmalloc(ROOM);
    const uint8_t *last = t->story->states[t->story->n_steps];
    struct step step = {RULE_CPU, (uint8_t)thread, NO_QP, 0};
    unsigned n = 0;
    memcpy(state, last, state_size(m, last));
    for (unsigned i = 0; i < MOST_STEPS && n < MOST_AWAITED; i++) {
        const struct local *local = local_of(m, state, thread);
        unsigned loc = step.rule == RULE_CPU && local->kind == OP_LOAD ? local->loc : (unsigned)PROG_NO_LOC,
                 k = 0;
        if (step.rule == RULE_GET_READ || step.rule == RULE_RCAS_FAIL)
            loc = entry_loc(get_entries(m, state)[get_ends(m, state)[m->qps[step.qp].fifo] + step.at]);
        while (k < n && words[k] != loc)
            k++;
        if (loc != PROG_NO_LOC && !words_is_internal(t->w, loc) && k == n)
            words[n++] = loc;
        if (machine_apply(m, state, step) != EFFECT_OK || state_size(m, state) + STEP_GROWTH > ROOM ||
            !own_step(m, state, thread, &step))
            break;
    }
    free(state);
    return n;
}

/* The number of the step that wrote the word last; 0: none did. */
static unsigned last_written(const struct story *story, unsigned loc)
{
    for (uint32_t at = story->n_steps; at-- > 0;)
        if (story_written(story, at) == loc && story->numbers[at])
            return story->numbers[at];
    return 0;
}

/* "0 in step 2, 1 in step 4": what the thread has read of the word so far; NULL: always the same. */
static const char *has_read(const struct ending *t, unsigned thread, unsigned loc)
{
    const struct story *story = t->story;
    const char *text = NULL;
    uint64_t first = 0;
    bool differs = false;
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        bool reads = o->local->kind == OP_LOAD ? o->local->loc == loc
                                               : o->local->kind == OP_GET && operation_far(o) == loc;
        if (o->thread != thread || !reads || o->read >= story->n_steps || !story->numbers[o->read])
            continue;
        differs |= text && o->value_read != first;
        first = text ? first : o->value_read;
        text = arena_printf(t->w->arena, "%s%s%" PRIu64 " in step %u", text ? text : "", text ? ", " : "",
                            o->value_read, story->numbers[o->read]);
    }
    return differs ? text : NULL;
}

static void add_missing(struct ending *t, unsigned thread, const char *what)
{
    t->missing = arena_printf(t->w->arena, "%s%s for P%u, %s", t->missing, t->n_waiting ? "; and," : ",",
                              thread, what);
    t->n_waiting++;
}

/* "flag@1 = 1 (last written in step 3), x@0 = 0 (never written)" */
static const char *tell_words(struct ending *t, unsigned thread, const unsigned *words, unsigned n)
{
    struct arena *a = t->w->arena;
    struct machine *m = t->story->machine;
    const char *text = "", *missing = "a write to ";
    for (unsigned i = 0; i < n; i++) {
        const char *name = t->w->names->location(a, t->w->names->context, words[i]);
        uint64_t value =
            machine_value(m, machine_load(m, t->story->states[t->story->n_steps], thread, words[i]));
        unsigned step = last_written(t->story, words[i]);
        text = arena_printf(a, "%s%s%s = %" PRIu64 " (%s)", text, i ? ", " : "", name, value,
                            step ? arena_printf(a, "last written in step %u", step) : "never written");
        missing = arena_printf(a, "%s%s%s%s", missing, i ? " or " : "", name,
                               step ? arena_printf(a, " after step %u", step) : "");
        const char *read = has_read(t, thread, words[i]);
        if (read)
            t->remarks = arena_printf(
                a,
                "%s But P%u has read %s: %s. The change that it waits for may have come before it "
                "began to wait.",
                t->remarks, thread, name, read);
    }
    add_missing(t, thread, n ? missing : "what would end its loop");
    return text;
}

static void tell_waiting(struct ending *t, unsigned thread, const struct local *local, const char *in)
{
    unsigned words[MOST_AWAITED], n;
    fprintf(t->out, "      P%u waits for ever%s%s   [%s]\n             ", thread, in, still_holds(t, thread),
            words_place(t->w, thread, local->point));
    t->n_holders += held_locks(t, thread) && is_acquiring(t, thread);
    switch (local->kind) {
    case OP_SPIN_BEGIN:
        n = awaited_words(t, thread, words);
        fprintf(t->out,
                n ? "each round of its loop finds %s, and nobody is left who would change that\n"
                  : "%snobody is left who would end its loop\n",
                tell_words(t, thread, words, n));
        break;
    case OP_POLL:
        fprintf(t->out, "for a completion from node %u, and nothing is on its way that would give one\n",
                local->node);
        add_missing(t, thread, arena_printf(t->w->arena, "a completion from node %u", local->node));
        break;
    default:
        words[0] = local->loc;
        fprintf(t->out, "finding %s, and nobody is left who would change that\n",
                tell_words(t, thread, words, 1));
        break;
    }
}

/* " in acquire(l)", " in read_both" */
static const char *in_words(const struct ending *t, unsigned thread, uint32_t point)
{
    const struct run_words *w = t->w;
    const char *s = words_statement(t->w, thread, c_program_statement_at(w->names->program, thread, point));
    if (!s && w->names->is_users)
        words_line(w, thread, point, &s);
    return s ? arena_printf(w->arena, " in %s", s) : "";
}

static void tell_thread(struct ending *t, unsigned thread)
{
    const struct run_words *w = t->w;
    const struct local *local = at_end(t, thread);
    if (local->kind == OP_END) {
        const char *locks = held_locks(t, thread);
        fprintf(t->out, "      P%u has ended%s\n", thread, still_holds(t, thread));
        if (locks)
            t->remarks =
                arena_printf(w->arena, "%s P%u has ended without releasing %s.", t->remarks, thread, locks);
        return;
    }
    const char *in = in_words(t, thread, local->point), *place = words_place(w, thread, local->point);
    if (t->goal->failed && t->goal->thread == thread)
        fprintf(t->out, "      P%u fails%s   [%s]\n", thread, in, place);
    else if (t->goal->stuck && is_stuck_in(local->kind))
        tell_waiting(t, thread, local, in);
    else if (w->story->in_part[thread] != NO_OPERATION)
        fprintf(t->out, "      P%u stands%s   [%s]\n", thread, in, place);
    else
        fprintf(t->out, "      P%u stands%s; next it %s   [%s]\n", thread, in, words_next(w, local), place);
}

/* "2 words of P0's put of step 4": those that the run has not come to. */
static const char *missing_words(const struct ending *t, const struct operation *last)
{
    unsigned n = (unsigned)(last->words - last->nth);
    return arena_printf(t->w->arena, "the other %s of P%u's %s",
                        n == 1 ? "word" : arena_printf(t->w->arena, "%u words", n), last->thread,
                        words_short(t->w, last));
}

static void tell_on_its_way(const struct ending *t)
{
    const struct story *story = t->story;
    const char *text = "";
    for (uint32_t i = 0; i < story->n_on_its_way; i++) {
        const struct operation *o = &story->operations[story->on_its_way[i]];
        const char *word = o->words > 1 ? arena_printf(t->w->arena, "word %u of ", o->word) : "";
        text = arena_printf(t->w->arena, "%s%s%sP%u's %s (step %u)", text, *text ? ", " : "", word, o->thread,
                            words_operation(t->w, o), o->number);
    }
    for (unsigned thread = 0; thread < t->story->machine->n_threads; thread++)
        if (story->in_part[thread] != NO_OPERATION)
            text = arena_printf(t->w->arena, "%s%s%s", text, *text ? ", " : "",
                                missing_words(t, &story->operations[story->in_part[thread]]));
    if (*text)
        fprintf(t->out, "      still on its way: %s\n", text);
}

static const char *why_stuck(const struct ending *t)
{
    if (t->n_waiting > 1 && t->n_holders == t->n_waiting)
        return "Deadlock: each of the threads that wait holds a lock and waits for another one. Have all "
               "threads acquire locks in one order.";
    return arena_printf(t->w->arena, "What is missing is%s.%s", t->missing, t->remarks);
}

const char *run_end(FILE *out, const struct run_words *words, const struct run_goal *goal)
{
    struct ending ending = {
        .w = words, .story = words->story, .goal = goal, .out = out, .missing = "", .remarks = ""};
    struct ending *t = &ending;
    if (t->goal->stuck)
        fputs("Then nothing can happen any more:\n", t->out);
    else
        fputs(t->goal->failed ? "There it fails:\n" : "Then everything is done:\n", t->out);
    for (unsigned thread = 0; thread < t->story->machine->n_threads; thread++)
        tell_thread(t, thread);
    tell_on_its_way(t);
    return goal->stuck ? why_stuck(t) : NULL;
}
