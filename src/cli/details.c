/* Explanations, pictures and runs, put together (see details.h). */
#include "cli/details.h"

#include "base/arena.h"
#include "base/wrap.h"
#include "cli/report/trace.h"
#include "cli/report/trace_words.h"
#include "cli/report/why.h"
#include "cli/traced.h"

#include <stdlib.h>

/* The verdict may be that of the other engine, which may have been quicker: --verbose is not to take long. */
enum { UNASKED_STATES = 300000, WIDTH = 100 };

struct teller {
    const struct details *details;
    struct arena *arena;
    const struct judge_options *options;
    struct report *report;
    FILE *text, *messages;
};

/* What the test's author says of it. */
static void say_doc(const struct teller *t)
{
    const struct lm_test *test = t->report->test;
    const char *text = "";
    for (unsigned i = 0; i < test->n_docs; i++)
        text = arena_printf(t->arena, "%s%s%s", text, i ? " " : "", test->docs[i]);
    if (*text)
        say_wrapped(t->text, 0, WIDTH, text);
}

/* An explanation that does not stand up to its check is not shown. */
static enum status explain_outcome(struct teller *t, size_t i)
{
    const struct details *details = t->details;
    struct report *report = t->report;
    struct explained_test *explained = ARENA_NEW(t->arena, struct explained_test);
    struct judge_options options = *t->options;
    bool asked = details->why || details->trace || details->pictures.dot || details->pictures.svg;
    if (!asked && (!options.limits.max_states || options.limits.max_states > UNASKED_STATES))
        options.limits.max_states = UNASKED_STATES;
    *explained = explain_test(t->arena, report->test, report->verdict, &options);
    if (explained->fault) {
        fprintf(t->messages, "remora check: %s: internal error: wrong explanation: %s\n", report->file,
                explained->fault);
        return STATUS_DISAGREE;
    }
    report->explained = explained;
    if (details->why)
        say_doc(t);
    if (details->why || details->verbose)
        fputs(why_in_words(t->arena, explained), t->text);
    bool bad;
    const char *message = pictures_write(t->arena, &details->pictures, i, report->test, explained, &bad);
    if (message)
        fprintf(t->messages, "remora check: %s\n", message);
    return bad ? STATUS_BAD : STATUS_HOLDS;
}

static void show_run(const struct teller *t, const struct traced *traced, const char *title)
{
    struct trace_style style = {.full = t->details->full_trace, .color = t->details->color};
    if (!traced->run) {
        fprintf(t->text, "%s: not found: %s\n", title, traced->why_none);
        return;
    }
    fprintf(t->text, "%s%s%s (%u steps)\n", title, traced->outcome ? " with " : "",
            traced->outcome ? traced->outcome : "", traced->run->n_steps);
    trace_text(t->text, traced->run, traced->program, &style);
    if (traced->outcome)
        fprintf(t->text, "This is how %s comes about.\n", traced->outcome);
}

static void trace_outcome(struct teller *t)
{
    struct report *report = t->report;
    struct traced *traced = ARENA_NEW(t->arena, struct traced);
    *traced = trace_test(t->arena, report->test, report->verdict, t->options, report->explained);
    report->traced = traced;
    show_run(t, traced, "A run");
}

/* ": P0 waits at poll(1)" of one of the runs. */
static const char *who_waits(const struct teller *t, const struct traced *stuck, bool every)
{
    if (!stuck->run)
        return "";
    struct waiting w = trace_waiting(t->arena, stuck->run, stuck->program);
    const char *under_way = !every    ? ""
                            : w.n > 1 ? ", and nothing is under way that could let one of them go on"
                                      : ", and nothing is under way that could let it go on";
    bool several = t->report->verdict->stuck > 1;
    return arena_printf(t->arena, "%s: %s%s%s",
                        w.deadlock ? several ? ". One is a deadlock" : ". Deadlock"
                        : several  ? ", one of them so"
                                   : "",
                        w.places, under_way,
                        w.deadlock ? ". It is ruled out if all threads acquire these locks in one order"
                                   : "");
}

/* The run itself is shown if it was asked for, or in place of a run with the outcome in question, if there is none. */
static void tell_stuck(const struct teller *t)
{
    const struct verdict *verdict = t->report->verdict;
    const struct traced *traced = t->report->traced;
    bool every = every_run_gets_stuck(t->report->test, verdict);
    bool shown = t->details->verbose || (traced && !traced->run);
    struct traced stuck = trace_stuck(t->arena, t->report->test, t->options);
    if (shown)
        show_run(t, &stuck, "A run that gets stuck");
    if (shown && !every)
        return;
    say_wrapped(t->text, 0, WIDTH,
                arena_printf(t->arena, "%s%s.%s%s",
                             every ? "Every run gets stuck" : "Besides, some runs get stuck",
                             shown ? "" : who_waits(t, &stuck, every),
                             !every                         ? ""
                             : verdict->holds == ANSWER_YES ? " So \"Ok\" says nothing."
                                                            : " So there is no outcome.",
                             shown ? "" : " (--verbose shows such a run.)"));
}

static enum status tell(struct teller *t, size_t i)
{
    const struct details *details = t->details;
    bool pictures = details->pictures.dot || details->pictures.svg;
    enum status status = STATUS_HOLDS;
    if (details->why || details->verbose || details->trace || pictures)
        status = explain_outcome(t, i);
    if (details->trace)
        trace_outcome(t);
    if (t->report->verdict->stuck && !details->json && (details->why || details->verbose || details->trace))
        tell_stuck(t);
    if (!details->why)
        t->report->explained = NULL;
    return status;
}

enum status details_tell(const struct details *details, size_t i, struct arena *arena,
                         const struct judge_options *options, struct report *report, FILE *messages)
{
    char *text;
    size_t length;
    struct teller t = {details, arena, options, report, open_memstream(&text, &length), messages};
    if (!t.text)
        out_of_memory();
    enum status status = tell(&t, i);
    if (fclose(t.text) != 0)
        out_of_memory();
    if (length && !details->json)
        report->explanation = arena_strndup(arena, text, length);
    free(text);
    return status;
}
