/* See run_tell.h. A step that only moves an operation on inside the network card, without reading or writing memory,
 * is not told. */
#include "verify/run_tell.h"

#include "base/arena.h"
#include "verify/run_blame.h"
#include "verify/run_end.h"
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

static void tell_statement(struct teller *t, unsigned thread, uint32_t point)
{
    unsigned number = c_program_statement_at(t->words.names->program, thread, point);
    const char *s = words_statement(&t->words, thread, number);
    if (t->statement[thread] == number + 1 || !s)
        return;
    for (unsigned before = t->statement[thread]; before < number; before++)
        fprintf(t->out, "      P%u: %s   (takes no step)\n", thread,
                words_statement(&t->words, thread, before));
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
    for (unsigned i = 0; (name = names->held(names->context, thread, local->point, i, &ticket)); i++)
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
    for (unsigned i = 0; (lock = names->held(names->context, thread, now->point, i, &ticket)); i++) {
        if (is_held(&t->words, thread, before, lock))
            continue;
        if (takes)
            fprintf(t->out, "      P%u now holds %s, with ticket %" PRIu64 "\n", thread, lock, ticket);
        else
            fprintf(t->out, "      P%u releases %s:\n", thread, lock);
    }
}

/* The step of the thread's CPU before this one. */
static bool step_before(const struct story *story, uint32_t at, uint32_t *before)
{
    for (*before = at; (*before)-- > 0;)
        if (story->steps[*before].thread == story->steps[at].thread && story->steps[*before].rule == RULE_CPU)
            return true;
    return false;
}

/* A lock is marked as free before the operations that release it, but after the thread's earlier ones. */
static void tell_releases(const struct teller *t, uint32_t at)
{
    struct step step = t->words.story->steps[at];
    uint32_t before;
    bool told = words_statement(&t->words, step.thread, 0); /* by the statement */
    if (t->words.names->held && !told && step.rule == RULE_CPU && step_before(t->words.story, at, &before))
        tell_change(t, step.thread, local_after(t, before, step.thread), local_after(t, at, step.thread),
                    false);
}

static void tell_acquires(const struct teller *t, uint32_t at)
{
    struct step step = t->words.story->steps[at];
    if (t->words.names->held && step.rule == RULE_CPU)
        tell_change(t, step.thread, local_after(t, at + 1, step.thread), local_after(t, at, step.thread),
                    true);
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
          "itself. x@1 is x on\nnode 1; [a < b]: a, called from b. Lines without a number are remarks.\n",
          t->out);
    if (names_word(&t->words, ".rel["))
        fputs("The words of a lock l: l.next is the next ticket to be drawn; l.rel[P0], a copy on each node, "
              "the ticket after the\none that P0 released last.\n",
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
        tell_releases(t, at);
        if (story->told[at])
            tell_step(t, at);
        tell_acquires(t, at);
    }
    const char *missing = run_end(t->out, &t->words, t->goal);
    run_blame(t->out, &t->words, missing);
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
