/* The summary of `remora run` over several tests: what the model says of each condition, and whether each
 * provider showed it. */
#include "cli/report/run.h"

#include <inttypes.h>
#include <string.h>

struct total {
    size_t ran, skipped, unfinished, unjudged;
    size_t may, may_seen, never, never_seen; /* conditions */
    size_t allowed, allowed_seen, full;      /* outcomes; tests all of whose outcomes were seen */
    size_t forbidden;
    uint64_t iterations, stuck;
};

/* What the condition singles out: for forall the outcomes that break it. */
static bool is_possible(const struct run_line *line)
{
    return line->quantifier == LM_FORALL ? line->figures.can_fail : line->figures.may;
}

static bool is_seen(const struct run_line *line)
{
    return (line->quantifier == LM_FORALL ? line->figures.negative : line->figures.positive) > 0;
}

static void add(struct total *total, const struct run_line *line)
{
    total->ran += line->ran;
    total->skipped += !line->ran;
    total->unfinished += line->ran && line->end != RUN_DONE && line->end != RUN_EARLY;
    if (!line->ran)
        return;
    total->iterations += line->iterations;
    total->stuck += line->stuck;
    if (!line->figures.judged) {
        total->unjudged++;
        return;
    }
    bool may = is_possible(line), seen = is_seen(line);
    total->may += may;
    total->may_seen += may && seen;
    total->never += !may;
    total->never_seen += !may && seen;
    total->allowed += line->figures.allowed;
    total->allowed_seen += line->figures.allowed_seen;
    total->full += line->figures.allowed == line->figures.allowed_seen;
    total->forbidden += line->figures.forbidden;
}

static void print_cell(FILE *out, const struct run_line *line)
{
    char cell[64];
    if (!line->ran)
        snprintf(cell, sizeof cell, "skipped");
    else if (line->figures.forbidden)
        snprintf(cell, sizeof cell, "FORBIDDEN %" PRIu64, line->figures.forbidden_count);
    else
        snprintf(cell, sizeof cell, "%s %zu/%zu%s", is_seen(line) ? "seen" : "not seen",
                 line->figures.allowed_seen, line->figures.allowed, line->stuck ? " stuck" : "");
    fprintf(out, " %-22s", cell);
}

static const char *short_name(const char *file)
{
    const char *name = strstr(file, "litmus/");
    return name ? name + strlen("litmus/") : file;
}

static void print_total(FILE *out, const char *provider, const struct total *t)
{
    fprintf(out, "%s: %zu tests", provider, t->ran);
    if (t->skipped)
        fprintf(out, ", %zu skipped", t->skipped);
    if (t->unfinished)
        fprintf(out, ", %zu not finished", t->unfinished);
    if (t->unjudged)
        fprintf(out, ", %zu not judged", t->unjudged);
    fprintf(out, ", %" PRIu64 " iterations, %" PRIu64 " stuck\n", t->iterations, t->stuck);
    fprintf(out, "  conditions that may be met: %zu, seen %zu; that can't: %zu, seen %zu\n", t->may,
            t->may_seen, t->never, t->never_seen);
    fprintf(out, "  allowed outcomes: %zu, seen %zu (%.1f %%); tests with all of them seen: %zu\n",
            t->allowed, t->allowed_seen,
            t->allowed ? 100.0 * (double)t->allowed_seen / (double)t->allowed : 100.0, t->full);
    fprintf(out, "  forbidden outcomes seen: %zu\n", t->forbidden);
}

void run_report_summary(FILE *out, const struct run_line *lines, size_t tests, const char *const *providers,
                        size_t n_providers)
{
    fprintf(out, "Summary of %zu tests\n%-48s %-10s", tests, "", "model");
    for (size_t p = 0; p < n_providers; p++)
        fprintf(out, " %-22s", providers[p]);
    fputc('\n', out);
    for (size_t t = 0; t < tests; t++) {
        const struct run_line *line = &lines[t * n_providers];
        if (!line->file)
            continue;
        fprintf(out, "%-48s %-10s", short_name(line->file),
                !line->figures.judged ? "unknown"
                : is_possible(line)   ? "allowed"
                                      : "forbidden");
        for (size_t p = 0; p < n_providers; p++)
            print_cell(out, &line[p]);
        fputc('\n', out);
    }
    for (size_t p = 0; p < n_providers; p++) {
        struct total total = {0};
        for (size_t t = 0; t < tests; t++)
            if (lines[t * n_providers + p].file)
                add(&total, &lines[t * n_providers + p]);
        print_total(out, providers[p], &total);
    }
    fputc('\n', out);
}
