/* The JSON Lines report of `remora run --json` (remora-run(1), JSON). */
#include "base/arena.h"
#include "cli/report/json.h"
#include "cli/report/report.h"
#include "cli/report/run.h"
#include "litmus/litmus.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_string(FILE *out, const char *key, const char *text)
{
    char *value = json_quoted(text);
    fprintf(out, "\"%s\":%s,", key, value);
    free(value);
}

static void print_row(FILE *out, struct arena *arena, const struct run_report *report, const uint64_t *row)
{
    fputc('{', out);
    for (unsigned c = 0; c < report->verdict->n_columns; c++) {
        char *key = json_quoted(lm_print_atom(arena, report->test, &report->verdict->columns[c]));
        fprintf(out, "%s%s:%" PRIu64, c ? "," : "", key, row[c]);
        free(key);
    }
    fputc('}', out);
}

static void print_states(FILE *out, struct arena *arena, const struct run_report *report, bool judged)
{
    const struct histogram *seen = report->result->seen;
    fputs("\"states\":[", out);
    for (size_t i = 0; i < seen->count; i++) {
        fprintf(out, "%s{\"count\":%" PRIu64 ",\"allowed\":%s,\"state\":", i ? "," : "", seen->counts[i],
                !judged                                                         ? "null"
                : outcomes_has(report->verdict->states, histogram_row(seen, i)) ? "true"
                                                                                : "false");
        print_row(out, arena, report, histogram_row(seen, i));
        if (report->result->replays && report->result->replays[i]) {
            char *replay = json_quoted(report->result->replays[i]);
            fprintf(out, ",\"replay\":%s", replay);
            free(replay);
        }
        fputc('}', out);
    }
    fputs("],\"unseen\":[", out);
    struct outcomes *rows = outcomes_new(seen->n);
    for (size_t i = 0; i < seen->count; i++)
        outcomes_add(rows, histogram_row(seen, i));
    bool first = true;
    for (size_t i = 0; judged && i < outcomes_count(report->verdict->states); i++) {
        const uint64_t *row = outcomes_row(report->verdict->states, i);
        if (outcomes_has(rows, row))
            continue;
        if (!first)
            fputc(',', out);
        first = false;
        print_row(out, arena, report, row);
    }
    fputs("],", out);
    outcomes_free(rows);
}

static const char *end_word(enum run_end end)
{
    static const char *const words[] = {[RUN_GOES_ON] = "",
                                        [RUN_DONE] = "done",
                                        [RUN_EARLY] = "early",
                                        [RUN_TIMEOUT] = "timeout",
                                        [RUN_INTERRUPTED] = "interrupted",
                                        [RUN_FAILED] = "failed",
                                        [RUN_SKIPPED] = "skipped"};
    return words[end];
}

static void print_figures(FILE *out, const struct run_report *report, const struct run_figures *f)
{
    static const char *const quantifiers[] = {
        [LM_EXISTS] = "exists", [LM_NOT_EXISTS] = "~exists", [LM_FORALL] = "forall", [LM_FINAL] = "final"};
    bool swapped = report->test->quantifier == LM_NOT_EXISTS;
    print_string(out, "quantifier", quantifiers[report->test->quantifier]);
    print_string(out, "observation", f->positive == 0 ? "Never" : f->negative == 0 ? "Always" : "Sometimes");
    fprintf(out, "\"validated\":%s,\"positive\":%" PRIu64 ",\"negative\":%" PRIu64 ",",
            f->validated ? "true" : "false", swapped ? f->negative : f->positive,
            swapped ? f->positive : f->negative);
    fprintf(
        out,
        "\"judged\":%s,\"allowed\":%zu,\"allowed_seen\":%zu,\"forbidden\":%zu,\"forbidden_count\":%" PRIu64
        ",",
        f->judged ? "true" : "false", f->allowed, f->allowed_seen, f->forbidden, f->forbidden_count);
    fprintf(out, "\"stuck\":%" PRIu64 ",\"dropped\":%" PRIu64 ",", report->result->stuck,
            report->result->dropped);
}

void run_report_json(FILE *out, const struct run_report *report)
{
    const struct run_result *result = report->result;
    struct arena *arena = arena_new();
    char hash[33];
    lm_hash(report->test, hash);
    fputc('{', out);
    print_string(out, "name", report->test->name);
    print_string(out, "file", report->file);
    print_string(out, "arch", report->test->arch == LM_RDMA_TSO ? "RDMA_TSO" : "RDMA_WAIT");
    print_string(out, "provider", report->provider);
    print_string(out, "end", end_word(result->end));
    if (result->why[0])
        print_string(out, "why", result->why);
    if (result->seen) {
        struct run_figures f = run_figures(report);
        print_figures(out, report, &f);
        print_states(out, arena, report, f.judged);
    }
    print_string(out, "hash", hash);
    fprintf(out, "\"seed\":%" PRIu64 ",\"iterations\":%" PRIu64 ",\"seconds\":%.6f}\n", result->seed,
            result->iterations, result->seconds);
    arena_free(arena);
}
