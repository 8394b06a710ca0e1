/* See trace_words.h. */
#include "cli/report/trace_words.h"

#include "base/arena.h"
#include "base/wrap.h"

#include <string.h>

enum { WIDTH = 100 };

/* --- ahead --- */

/* What states are made of, as search/run.h prints them. */
static const char *const words[][2] = {
    {"  store buffer ",
     "store buffer: stores (x:=1) and RDMA operations that have not left the CPU, oldest first"},
    {"  pipe ", "pipe: what the NIC has been given for a node and has not finished, oldest first"},
    {"  wbR ", "wbR: writes that were sent and are not in the target's memory yet, oldest first"},
    {"  wbL ", "wbL: results that are not in the thread's own memory yet, and completions, oldest first"},
    {" PUT(", "PUT(x,y): a put into x whose source, y, is not read yet"},
    {" PUTV(", "PUTV(x,1): a put into x whose source is read: 1"},
    {" ACK", "ACK: a put that is sent and waits for its acknowledgement"},
    {" GET(", "GET(a,x): a get from x into a that has not read yet"},
    {" RCAS(", "RCAS(a,x,0,1): a remote compare-and-swap on x that has not read yet"},
    {" RFAA(", "RFAA(a,x,1): a remote fetch-and-add on x that has not read yet"},
    {" AW(", "AW(x,1): the write half of a remote atomic"},
    {" LW(", "LW(a,1): a result that is to be written to a, in the thread's own memory"},
    {" FENCE", "FENCE: a remote fence"},
    {" W(", "W(x,1): the write of a put"},
    {" CN", "CN: a completion that can be polled"},
    {"remote RMW", "remote atomics busy: one has read on that node and not written yet; the next one waits"},
};

static bool occurs(const struct run *run, const char *word)
{
    for (unsigned i = 0; i < run->n_steps; i++)
        if (strstr(run->steps[i].state, word))
            return true;
    return strstr(run->start, word) != NULL;
}

static bool is_of_nic(const struct run_step *step)
{
    return step->rule != RUN_CPU && step->rule != RUN_FLUSH;
}

void trace_reading(FILE *out, struct arena *arena, const struct run *run, bool full)
{
    bool nic = false;
    for (unsigned i = 0; i < run->n_steps; i++)
        nic |= is_of_nic(&run->steps[i]);
    say_wrapped(
        out, 0, WIDTH,
        arena_printf(
            arena,
            "How to read it: each numbered line is a step. One that begins with a thread is taken by "
            "that thread's CPU; one that is set in, by a store buffer or a network card (NIC) for the "
            "thread, in its own time. Behind | stands %s.%s",
            full ? "the state after it" : "what it changes",
            occurs(run, "@") ? " x@1 is the copy of x on node 1." : ""));
    fputs("Words:\n", out);
    if (nic)
        fputs("  rule n: the step's number in section 2 of the semantics (docs/semantics.md)\n", out);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (occurs(run, words[i][0]))
            fprintf(out, "  %s\n", words[i][1]);
    fputs("  next: the statement at which the thread stands\n", out);
}

/* --- steps --- */

static const char *statement(const struct program *program, const struct run_step *step)
{
    uint32_t line;
    return program->ops->describe(program, step->where, &line);
}

/* What the NIC does to a statement, around its text; with the value that is read, if it is. */
static const char *nic_words(struct arena *arena, const struct run_step *step, const char *text)
{
    static const char *const around[][2] = {{"", ""},
                                            {"is done with ", ""},
                                            {"takes the value of ", ""},
                                            {"sends the value of ", ""},
                                            {"", " is in the target's memory"},
                                            {"", " is acknowledged"},
                                            {"", " reads at the target"},
                                            {"sends the result of ", " to local memory"},
                                            {"the result of ", " is in local memory"},
                                            {"", " reads at the target, and fails"},
                                            {"", " reads at the target"},
                                            {"", " reads at the target"},
                                            {"sends the write of ", ""},
                                            {"the write of ", " is in the target's memory"}};
    const char *read = strstr(step->text, " reads ");
    return arena_printf(arena, "%s%s%s%s%s", around[step->rule][0], text, around[step->rule][1],
                        read ? ": " : "", read ? read + strlen(" reads ") : "");
}

void trace_step(FILE *out, struct arena *arena, unsigned number, const struct run_step *step,
                const struct program *program)
{
    if (step->rule == RUN_CPU)
        fprintf(out, "%4u. P%u  %s\n", number, step->thread, step->text);
    else if (step->rule == RUN_FLUSH)
        fprintf(out, "%4u.     P%u's store buffer: %s\n", number, step->thread,
                step->text + strlen("flush: "));
    else
        fprintf(out, "%4u.     P%u's NIC, to node %u: %s  (rule %u)\n", number, step->thread, step->node,
                nic_words(arena, step, statement(program, step)), step->rule);
}

/* --- what took effect out of program order --- */

/* Whether the step is one in which its operation reads or writes memory. The CPU's stores do when they leave the buffer. */
static bool is_effect(const struct run_step *step)
{
    switch (step->rule) {
    case RUN_CPU:
        return strstr(step->text, ": reads ") || strstr(step->text, ": finds ");
    case RUN_FLUSH:
        return strstr(step->text, " reaches memory") != NULL;
    case 4:  /* put: land */
    case 8:  /* local write: land */
    case 13: /* atomic write: land */
        return true;
    default:
        return strstr(step->text, " reads ") != NULL;
    }
}

enum { ANY_PLACE = -1 };

/* Of each step the place of its operation among those of its thread; ANY_PLACE: the statement is carried out more than
 * once, so which time it was is not known. */
static const int *places_of(struct arena *arena, const struct run *run)
{
    int *places = ARENA_ARRAY(arena, int, run->n_steps + 1);
    for (unsigned i = 0; i < run->n_steps; i++) {
        const struct run_step *step = &run->steps[i], *last = NULL;
        int n = 0, times = 0;
        for (unsigned k = 0; k < run->n_steps; k++) {
            const struct run_step *other = &run->steps[k];
            if (other->thread != step->thread || other->rule != RUN_CPU)
                continue;
            bool again = last && last->where == other->where;
            if (other->where == step->where && !again) {
                places[i] = n;
                times++;
            }
            n += !again;
            last = other;
        }
        if (times != 1)
            places[i] = ANY_PLACE;
    }
    return places;
}

enum order { IN_ORDER, NOT_KNOWN, OUT_OF_ORDER };

/* The thread's first step that takes effect behind one that stands later in the program, and the furthest such one. */
static enum order first_overtaken(const struct run *run, const int *places, unsigned thread,
                                  unsigned *overtaken, unsigned *by)
{
    int furthest = ANY_PLACE;
    for (unsigned i = 0; i < run->n_steps; i++) {
        if (run->steps[i].thread != thread || !is_effect(&run->steps[i]))
            continue;
        *overtaken = i;
        if (places[i] == ANY_PLACE)
            return NOT_KNOWN;
        if (places[i] < furthest)
            return OUT_OF_ORDER;
        *by = places[i] > furthest ? i : *by;
        furthest = places[i];
    }
    return IN_ORDER;
}

static void say_order(FILE *out, struct arena *arena, const struct run *run, const struct program *program)
{
    enum order all = IN_ORDER;
    const int *places = places_of(arena, run);
    for (unsigned t = 0; t < program->n_threads; t++) {
        unsigned overtaken = 0, by = 0;
        enum order order = first_overtaken(run, places, t, &overtaken, &by);
        if (order == OUT_OF_ORDER)
            say_wrapped(
                out, 0, WIDTH,
                arena_printf(
                    arena,
                    "Out of program order: P%u's %s takes effect in step %u, after its %s in step %u, "
                    "which stands behind it.",
                    t, statement(program, &run->steps[overtaken]), overtaken + 1,
                    statement(program, &run->steps[by]), by + 1));
        all = order > all ? order : all;
    }
    if (all == OUT_OF_ORDER && !run->stuck)
        fputs("(Whether that matters, and what would keep the order: see --why.)\n", out);
    if (all == IN_ORDER && run->n_steps)
        fputs("No reordering is involved: every operation takes effect in program order.\n", out);
}

/* --- who waits --- */

static const char *missing_step(struct arena *arena, const struct waiting *w)
{
    const char *const kinds[] = {w->value ? "changes the value" : NULL,
                                 w->completion ? "gives the completion" : NULL,
                                 w->lock ? "releases the lock" : NULL};
    const char *text = "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i])
            text = arena_printf(arena, "%s%s%s", text, *text ? ", or " : "", kinds[i]);
    return arena_printf(arena, "%s that %s waits for", text, w->threads);
}

static void say_stuck(FILE *out, struct arena *arena, const struct run *run, const struct program *program)
{
    struct waiting w = trace_waiting(arena, run, program);
    say_wrapped(out, 0, WIDTH,
                arena_printf(arena, "%s: %s, and nothing is under way that could let %s go on. %s%s.",
                             w.deadlock ? "Deadlock" : "Stuck", w.places, w.n == 1 ? "it" : "one of them",
                             w.deadlock ? "It is ruled out if all threads acquire these locks in one order"
                                        : "What is missing is a step that ",
                             w.deadlock ? "" : missing_step(arena, &w)));
}

void trace_ending(FILE *out, struct arena *arena, const struct run *run, const struct program *program)
{
    say_order(out, arena, run, program);
    if (run->stuck)
        say_stuck(out, arena, run, program);
}
