/* The text report of `remora run` (remora-run(1), OUTPUT): litmus7's layout, which herd's log readers
 * (mcompare7, msum7) take. What litmus7 has no line for stands behind the last of its lines, where the readers skip
 * whatever is not a new `Test` line, or before `Histogram`, where they do so too. */
#include "base/arena.h"
#include "cli/report/report.h"
#include "cli/report/run.h"
#include "litmus/litmus.h"
#include "search/condition.h"

#include <inttypes.h>

struct run_figures run_figures(const struct run_report *report)
{
    struct run_figures f = {.judged = report->verdict->completion == DONE,
                            .allowed = outcomes_count(report->verdict->states),
                            .may = report->verdict->positive > 0,
                            .can_fail = report->verdict->negative > 0};
    const struct histogram *seen = report->result->seen;
    if (!seen)
        return f;
    struct arena *arena = arena_new();
    struct condition *condition =
        condition_prepare(arena, report->test->cond, report->verdict->columns, seen->n);
    for (size_t i = 0; i < seen->count; i++) {
        bool holds = condition_holds(condition, histogram_row(seen, i));
        *(holds ? &f.positive : &f.negative) += seen->counts[i];
        bool allowed = outcomes_has(report->verdict->states, histogram_row(seen, i));
        f.allowed_seen += allowed;
        f.forbidden += f.judged && !allowed;
        f.forbidden_count += f.judged && !allowed ? seen->counts[i] : 0;
    }
    enum lm_quantifier quantifier = report->test->quantifier;
    f.validated = quantifier == LM_EXISTS       ? f.positive > 0
                  : quantifier == LM_NOT_EXISTS ? f.positive == 0
                  : quantifier == LM_FORALL     ? f.negative == 0
                                                : true;
    arena_free(arena);
    return f;
}

static void print_row(FILE *out, struct arena *arena, const struct run_report *report, const uint64_t *row)
{
    for (unsigned c = 0; c < report->verdict->n_columns; c++)
        fprintf(out, "%s%s=%" PRId64 ";", c ? " " : "",
                report_column(arena, report->test, &report->verdict->columns[c]), (int64_t)row[c]);
}

static void print_histogram(FILE *out, struct arena *arena, const struct run_report *report)
{
    const struct histogram *seen = report->result->seen;
    struct condition *condition =
        condition_prepare(arena, report->test->cond, report->verdict->columns, seen->n);
    fprintf(out, "Histogram (%zu states)\n", seen->count);
    for (size_t i = 0; i < seen->count; i++) {
        bool holds = condition_holds(condition, histogram_row(seen, i));
        fprintf(out, "%-6" PRIu64 "%c>", seen->counts[i], holds ? '*' : ':');
        print_row(out, arena, report, histogram_row(seen, i));
        fputc('\n', out);
    }
}

static const char *observation(const struct run_figures *f)
{
    return f->positive == 0 ? "Never" : f->negative == 0 ? "Always" : "Sometimes";
}

static void print_unseen(FILE *out, struct arena *arena, const struct run_report *report)
{
    const struct outcomes *allowed = report->verdict->states;
    const struct histogram *seen = report->result->seen;
    struct outcomes *rows = outcomes_new(seen->n);
    for (size_t i = 0; i < seen->count; i++)
        outcomes_add(rows, histogram_row(seen, i));
    for (size_t i = 0; i < outcomes_count(allowed); i++)
        if (!outcomes_has(rows, outcomes_row(allowed, i))) {
            fputs("Unseen ", out);
            print_row(out, arena, report, outcomes_row(allowed, i));
            fputc('\n', out);
        }
    outcomes_free(rows);
}

void run_report_alarm(FILE *out, const struct run_report *report)
{
    struct run_figures f = run_figures(report);
    if (!f.forbidden)
        return;
    struct arena *arena = arena_new();
    const struct histogram *seen = report->result->seen;
    for (size_t i = 0; i < seen->count; i++) {
        if (outcomes_has(report->verdict->states, histogram_row(seen, i)))
            continue;
        fprintf(out, "FORBIDDEN %s (%s) on %s: ", report->test->name, report->file, report->provider);
        print_row(out, arena, report, histogram_row(seen, i));
        fprintf(out, " seen %" PRIu64 " times in %" PRIu64 " iterations", seen->counts[i], seen->total);
        if (report->result->replays && report->result->replays[i])
            fprintf(out, "; again: %s remora run -p %s -n 1 %s", report->result->replays[i], report->provider,
                    report->file);
        fputc('\n', out);
    }
    arena_free(arena);
}

static const char *end_words(const struct run_result *result)
{
    switch (result->end) {
    case RUN_GOES_ON:
    case RUN_DONE:
        return NULL;
    case RUN_EARLY:
        return "nothing more to be seen";
    case RUN_TIMEOUT:
        return "time limit reached";
    case RUN_INTERRUPTED:
        return "interrupted";
    case RUN_FAILED:
    case RUN_SKIPPED:
        return result->why;
    }
    return NULL;
}

/* Behind litmus7's lines. */
static void print_additions(FILE *out, struct arena *arena, const struct run_report *report,
                            const struct run_figures *f)
{
    const struct run_result *result = report->result;
    fprintf(out, "Provider %s\nSeed %" PRIu64 "\n", report->provider, report->result->seed);
    if (f->judged)
        fprintf(out, "Allowed outcomes seen: %zu of %zu\n", f->allowed_seen, f->allowed);
    if (result->stuck)
        fprintf(out, "Stuck %" PRIu64 "%s\n", result->stuck,
                report->verdict->stuck_known && !report->verdict->stuck
                    ? ", though the model has no stuck run"
                    : "");
    if (result->dropped)
        fprintf(out, "Dropped %" PRIu64 "\n", result->dropped);
    if (end_words(result))
        fprintf(out, "Ended after %" PRIu64 " iterations: %s\n", result->iterations, end_words(result));
    if (report->verbose && f->judged)
        print_unseen(out, arena, report);
    run_report_alarm(out, report);
}

void run_report_text(FILE *out, const struct run_report *report)
{
    const struct lm_test *test = report->test;
    if (!report->result->seen) {
        fprintf(out, "Skipped %s on %s: %s\n\n", test->name, report->provider, report->result->why);
        return;
    }
    struct arena *arena = arena_new();
    struct run_figures f = run_figures(report);
    fprintf(out, "Test %s %s\n", test->name, report_kind(test));
    if (!f.judged)
        fprintf(out, "Not judged (%s): the model's outcomes are not all known\n", report->verdict->why);
    print_histogram(out, arena, report);
    bool swapped = test->quantifier == LM_NOT_EXISTS;
    fprintf(out, "%s\n\nWitnesses\nPositive: %" PRIu64 ", Negative: %" PRIu64 "\nCondition ",
            f.validated ? "Ok" : "No", swapped ? f.negative : f.positive, swapped ? f.positive : f.negative);
    report_condition(out, arena, test);
    char hash[33];
    lm_hash(test, hash);
    fprintf(out, " is %svalidated\nHash=%s\nObservation %s %s %" PRIu64 " %" PRIu64 "\nTime %s %.2f\n",
            f.validated ? "" : "NOT ", hash, test->name, observation(&f), f.positive, f.negative, test->name,
            report->result->seconds);
    print_additions(out, arena, report, &f);
    fputc('\n', out);
    arena_free(arena);
}
