/* See run_tell.h. A step that only moves an operation on inside the network card, without reading or writing memory,
 * is not told. */
#include "verify/run_tell.h"

#include "base/arena.h"
#include "verify/run_blame.h"
#include "verify/run_words.h"
#include "verify/source_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct teller {
    struct run_words words;
    struct machine *machine;
    const struct run_goal *goal;
    FILE *out;
    unsigned statement[PROG_MAX_THREADS]; /* told last, plus one */
};

/* --- the steps --- */

static const char *statement_text(const struct teller *t, unsigned thread, unsigned number)
{
    const struct run_names *names = t->words.names;
    return names->statement ? names->statement(t->words.arena, names->context, thread, number) : NULL;
}

static void tell_statement(struct teller *t, unsigned thread, uint32_t point)
{
    unsigned number = c_program_statement_at(t->words.names->program, thread, point);
    const char *s = statement_text(t, thread, number);
    if (t->statement[thread] == number + 1 || !s)
        return;
    t->statement[thread] = number + 1;
    fprintf(t->out, "      P%u: %s\n", thread, s);
}

static void tell_step(struct teller *t, uint32_t at)
{
    const struct story *story = t->words.story;
    struct step step = story->steps[at];
    const struct operation *o = &story->operations[story->operation[at]];
    const char *text = words_step(&t->words, at);
    if (step.rule == RULE_CPU) {
        tell_statement(t, step.thread, o->local->point);
        const char *place = words_place(&t->words, step.thread, o->local->point);
        fprintf(t->out, "%4u  P%u %s%s%s%s\n", story->numbers[at], step.thread, text, *place ? "   [" : "",
                place, *place ? "]" : "");
    } else if (step.rule == RULE_FLUSH) {
        fprintf(t->out, "%4u     P%u's store buffer: %s\n", story->numbers[at], step.thread, text);
    } else {
        fprintf(t->out, "%4u     P%u's network card, towards node %u: %s\n", story->numbers[at], step.thread,
                t->machine->qps[step.qp].node, text);
    }
}

/* --- locks --- */

static const struct local *local_after(const struct teller *t, uint32_t step, unsigned thread)
{
    return local_of(t->machine, t->words.story->states[step], thread);
}

/* Whether the thread holds the lock there. */
static bool is_held(const struct run_words *w, unsigned thread, const struct local *local, const char *lock)
{
    const struct run_names *names = w->names;
    uint64_t ticket;
    const char *name;
    for (unsigned i = 0; (name = names->held(w->arena, names->context, thread, local->point, i, &ticket));
         i++)
        if (strcmp(name, lock) == 0)
            return true;
    return false;
}

/* What the thread holds at `now` and not at `before`. */
static void tell_change(const struct teller *t, unsigned thread, const struct local *now,
                        const struct local *before, bool takes)
{
    const struct run_names *names = t->words.names;
    uint64_t ticket;
    const char *lock;
    for (unsigned i = 0; (lock = names->held(t->words.arena, names->context, thread, now->point, i, &ticket));
         i++) {
        if (is_held(&t->words, thread, before, lock))
            continue;
        if (takes)
            fprintf(t->out, "      P%u now holds %s, with ticket %" PRIu64 "\n", thread, lock, ticket);
        else
            fprintf(t->out, "      P%u releases %s:\n", thread, lock);
    }
}

static void tell_locks(const struct teller *t, uint32_t at)
{
    struct step step = t->words.story->steps[at];
    if (!t->words.names->held || step.rule != RULE_CPU)
        return;
    const struct local *before = local_after(t, at, step.thread),
                       *after = local_after(t, at + 1, step.thread);
    tell_change(t, step.thread, after, before, true);
    tell_change(t, step.thread, before, after, false);
}

/* ", holding lock" */
static const char *still_holds(const struct teller *t, unsigned thread)
{
    const struct run_words *w = &t->words;
    const struct local *local = local_after(t, w->story->n_steps, thread);
    const char *text = "", *lock;
    uint64_t ticket;
    for (unsigned i = 0; w->names->held && (lock = w->names->held(w->arena, w->names->context, thread,
                                                                  local->point, i, &ticket));
         i++)
        text = arena_printf(w->arena, "%s%s%s", text, i ? " and " : ", still holding ", lock);
    return text;
}

/* --- where each thread stands in the end --- */

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

/* What one more round of the waiting loop finds, other than in the library's own words: "word@1 = 1, x@0 = 2". */
static const char *round_words(const struct teller *t, unsigned thread)
{
    enum { MOST_STEPS = 200, ROOM = 64 << 10 };
    const struct run_words *w = &t->words;
    struct machine *m = t->machine;
    const char *text = "";
    uint8_t *state = xmalloc(ROOM);
    const uint8_t *last = w->story->states[w->story->n_steps];
    struct step step = {RULE_CPU, (uint8_t)thread, NO_QP, 0};
    memcpy(state, last, state_size(m, last));
    for (unsigned i = 0; i < MOST_STEPS; i++) {
        const struct local *local = local_of(m, state, thread);
        unsigned loc = step.rule == RULE_CPU && local->kind == OP_LOAD ? local->loc : (unsigned)PROG_NO_LOC;
        if (step.rule == RULE_GET_READ || step.rule == RULE_RCAS_FAIL)
            loc = entry_loc(get_entries(m, state)[get_ends(m, state)[m->qps[step.qp].fifo] + step.at]);
        if (loc != PROG_NO_LOC && !words_is_internal(w, loc)) {
            uint64_t value = machine_value(m, machine_load(m, state, thread, loc));
            const char *found = arena_printf(w->arena, "%s = %" PRIu64,
                                             w->names->location(w->arena, w->names->context, loc), value);
            if (!strstr(text, found))
                text = arena_printf(w->arena, "%s%s%s", text, *text ? ", " : "", found);
        }
        if (machine_apply(m, state, step) != EFFECT_OK || state_size(m, state) + STEP_GROWTH > ROOM ||
            !own_step(m, state, thread, &step))
            break;
    }
    free(state);
    return text;
}

static void tell_waiting(const struct teller *t, unsigned thread, const struct local *local, const char *in)
{
    const struct run_words *w = &t->words;
    const uint8_t *last = w->story->states[w->story->n_steps];
    const char *place = words_place(w, thread, local->point);
    fprintf(t->out, "      P%u waits for ever%s%s   [%s]\n             ", thread, in, still_holds(t, thread),
            place);
    if (local->kind == OP_SPIN_BEGIN) {
        const char *found = round_words(t, thread);
        if (*found)
            fprintf(t->out, "each round of its loop finds %s, and nobody is left who would change that\n",
                    found);
        else
            fputs("nobody is left who would end its loop\n", t->out);
    } else if (local->kind == OP_POLL) {
        fprintf(t->out, "for a completion from node %u, and nothing is on its way that would give one\n",
                local->node);
    } else {
        fprintf(t->out, "%s is %" PRIu64 ", and nobody is left who would change that\n",
                w->names->location(w->arena, w->names->context, local->loc),
                machine_value(t->machine, machine_load(t->machine, last, thread, local->loc)));
    }
}

/* " in acquire(l)", " in read_both" */
static const char *in_words(const struct teller *t, unsigned thread, uint32_t point)
{
    const struct run_words *w = &t->words;
    const char *s = statement_text(t, thread, c_program_statement_at(w->names->program, thread, point));
    if (!s && w->names->is_users)
        words_line(w, thread, point, &s);
    return s ? arena_printf(w->arena, " in %s", s) : "";
}

static void tell_thread(const struct teller *t, unsigned thread)
{
    const struct run_words *w = &t->words;
    const struct local *local = local_after(t, w->story->n_steps, thread);
    if (local->kind == OP_END) {
        fprintf(t->out, "      P%u has ended%s\n", thread, still_holds(t, thread));
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

/* "words 2 and 3 of P0's put (step 4)": those that the run has not come to. */
static const char *missing_words(const struct teller *t, const struct operation *last)
{
    const struct story *story = t->words.story;
    struct arena *a = t->words.arena;
    bool plural = last->nth + 1 < last->words;
    const char *text = plural ? "words" : "word", *comma = " ";
    for (unsigned word = 1; word <= last->words; word++) {
        bool there = false;
        for (uint32_t i = last->whole; i < story->n_operations; i++)
            there |= story->operations[i].whole == last->whole && story->operations[i].word == word;
        if (there)
            continue;
        text = arena_printf(a, "%s%s%u", text, comma, word);
        comma = ", ";
    }
    return arena_printf(a, "%s of P%u's %s", text, last->thread, words_short(&t->words, last));
}

static void tell_on_its_way(const struct teller *t)
{
    const struct story *story = t->words.story;
    const char *text = "";
    for (uint32_t i = 0; i < story->n_on_its_way; i++) {
        const struct operation *o = &story->operations[story->on_its_way[i]];
        const char *word = o->words > 1 ? arena_printf(t->words.arena, "word %u of ", o->word) : "";
        text = arena_printf(t->words.arena, "%s%s%sP%u's %s (step %u)", text, *text ? ", " : "", word,
                            o->thread, words_operation(&t->words, o), o->number);
    }
    for (unsigned thread = 0; thread < t->machine->n_threads; thread++)
        if (story->in_part[thread] != NO_OPERATION)
            text = arena_printf(t->words.arena, "%s%s%s", text, *text ? ", " : "",
                                missing_words(t, &story->operations[story->in_part[thread]]));
    if (*text)
        fprintf(t->out, "      still on its way: %s\n", text);
}

static void tell_end(const struct teller *t)
{
    if (t->goal->stuck)
        fputs("Then nothing can happen any more:\n", t->out);
    else
        fputs(t->goal->failed ? "There it fails:\n" : "Then everything is done:\n", t->out);
    for (unsigned thread = 0; thread < t->machine->n_threads; thread++)
        tell_thread(t, thread);
    tell_on_its_way(t);
}

/* --- what need not be told --- */

static bool is_value_call(const char *call)
{
    static const char *const calls[] = {"rem_get_value", "rem_fetch_add", "rem_compare_swap"};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(call, calls[i]) == 0)
            return true;
    return false;
}

static bool is_call_of_object(const char *call)
{
    static const char *const objects[] = {"rem_nlock_", "rem_wlock_", "rem_slock_", "rem_sc_", "rem_object_"};
    for (unsigned i = 0; i < sizeof objects / sizeof *objects; i++)
        if (strncmp(call, objects[i], strlen(objects[i])) == 0)
            return true;
    return false;
}

static uint32_t told_before(const struct story *story, uint32_t at)
{
    uint32_t before = at;
    while (before > 0 && (!story->told[before] || story->steps[before].thread != story->steps[at].thread))
        before--;
    return before;
}

/* How a call of the library gets hold of what it has fetched: nothing that its user could see. */
static void hide_internal(const struct run_words *w, struct story *story, const struct operation *o)
{
    const char *call = w->names->is_users ? words_call(w, o->thread, o->local->point) : NULL;
    if (!call || (!is_value_call(call) && !is_call_of_object(call)))
        return;
    if (o->local->kind == OP_POLL && o->polled != NO_OPERATION)
        story_hide(story, o->step, told_before(story, o->step - 1));
    if (o->local->kind == OP_LOAD && is_call_of_object(call) && words_is_internal(w, o->local->loc) &&
        !words_is_ticket(w, o->local->loc))
        story_hide(story, o->step, told_before(story, o->step - 1));
    if (operation_is_remote(o) && o->result < story->n_steps && words_is_internal(w, operation_near(o)))
        story_hide(story, o->result, o->read);
}

/* A remote atomic between whose halves nothing is told. */
static bool is_one_piece(const struct story *story, const struct operation *o)
{
    if ((o->local->kind != OP_RCAS && o->local->kind != OP_RFAA) || o->write >= story->n_steps)
        return false;
    for (uint32_t at = o->read + 1; at < o->write; at++)
        if (story->told[at])
            return false;
    return true;
}

/* A poll that takes the completion of one word of several, and of the same ones the next poll takes another. */
static bool is_poll_in_part(const struct story *story, uint32_t number)
{
    const struct operation *o = &story->operations[number];
    if (o->local->kind != OP_POLL || o->polled == NO_OPERATION)
        return false;
    for (uint32_t i = number + 1; i < story->n_operations; i++) {
        const struct operation *other = &story->operations[i];
        if (other->local->kind == OP_POLL && other->polled != NO_OPERATION &&
            story->operations[other->polled].whole == story->operations[o->polled].whole)
            return true;
    }
    return false;
}

static void shorten(const struct run_words *w, struct story *story)
{
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        if (o->nth > 1)
            story_hide(story, o->step, story->operations[o->whole].step);
        if (is_poll_in_part(story, i))
            story_hide(story, o->step, told_before(story, o->step - 1));
        if (o->local->kind == OP_STORE && o->write == o->step + 1 && o->write < story->n_steps)
            story_hide(story, o->write, o->step);
        if (is_one_piece(story, o))
            story_hide(story, o->write, o->read);
        hide_internal(w, story, o);
    }
}

/* --- all --- */

/* Whether some operation of the run is on a word of that name. */
static bool names_word(const struct run_words *w, const char *part)
{
    const struct story *story = w->story;
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        unsigned loc = operation_is_remote(o) ? operation_far(o) : o->local->loc;
        if (loc != PROG_NO_LOC && strstr(w->names->location(w->arena, w->names->context, loc), part))
            return true;
    }
    return false;
}

static void tell_header(const struct teller *t)
{
    fputs("\nA run that leads there. Indented: done by a network card or a store buffer, not by the thread "
          "itself. x@1 is x on\nnode 1; [a < b] is line a of the C code, called from line b.\n",
          t->out);
    if (names_word(&t->words, ".rel["))
        fputs("The words of a lock l: l.next is the next ticket to be drawn; l.rel[P0], a copy on each node, "
              "the "
              "ticket after the\none that P0 released last.\n",
              t->out);
    else if (names_word(&t->words, ".serving"))
        fputs("The words of a lock l: l.next is the next ticket to be drawn, l.serving the ticket whose turn "
              "it is.\n",
              t->out);
}

static void tell_run(struct teller *t, const struct run *run)
{
    struct story *story = story_of(t->words.arena, t->machine, t->words.names->program, run);
    t->words.story = story;
    shorten(&t->words, story);
    story_number(story);
    tell_header(t);
    for (uint32_t at = 0; at < story->n_steps; at++) {
        if (story->told[at])
            tell_step(t, at);
        tell_locks(t, at);
    }
    tell_end(t);
    run_blame(t->out, &t->words, t->goal->stuck);
}

/* A run in which each thread does one thing after the other says more than a shorter one in which it does not. */
static bool find_run(const struct teller *t, struct run *run)
{
    struct run_goal orderly = *t->goal;
    orderly.orderly = true;
    return run_search(t->words.arena, t->machine, &orderly, run) ||
           run_search(t->words.arena, t->machine, t->goal, run);
}

void run_tell(FILE *out, struct arena *arena, const struct run_names *names, const struct query *query,
              const struct run_goal *goal)
{
    struct teller t = {.words = {.arena = arena, .names = names, .lines = source_lines_new(arena)},
                       .goal = goal,
                       .out = out};
    const char *why;
    struct run run;
    t.machine = machine_new(arena, query->program, false, &why);
    if (t.machine && find_run(&t, &run))
        tell_run(&t, &run);
    else
        fprintf(out, "\nA run that leads there was not found among the first %d states.\n", RUN_MOST_STATES);
    if (t.machine)
        machine_free(t.machine);
    source_lines_free(t.words.lines);
}
