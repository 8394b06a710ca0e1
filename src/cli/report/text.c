/* The text report of `remora check` (remora-check(1), OUTPUT): herd7's layout,
 * kept such that herd's log readers (mcompare7, msum7) take it. What those readers require shapes a few
 * things here:
 *
 * - between `States N` and the verdict stand state lines and nothing else; additional lines go before
 * `States`, or behind `Hash=`, from where on the readers skip whatever is not a new `Test` line;
 * - a location is a name or name[index], so the copy of s on node 1 is written s[1] rather than s@1;
 * - integers are signed 64-bit numbers, so 2^64-1 is written -1;
 * - a state line that begins with a verdict's word would be taken for the verdict: such a location goes into
 * brackets. */
#include "cli/report/report.h"

#include "base/arena.h"
#include "litmus/litmus.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *report_observation(const struct verdict *verdict)
{
    return verdict->positive == 0 ? "Never" : verdict->negative == 0 ? "Always" : "Sometimes";
}

void report_witnesses(const struct report *report, uint64_t *positive, uint64_t *negative)
{
    const struct verdict *verdict = report->verdict;
    bool swapped = report->test->quantifier == LM_NOT_EXISTS;
    *positive = swapped ? verdict->negative : verdict->positive;
    *negative = swapped ? verdict->positive : verdict->negative;
}

const char *report_kind(const struct lm_test *test)
{
    switch (test->quantifier) {
    case LM_EXISTS:
    case LM_FINAL:
        return "Allowed";
    case LM_NOT_EXISTS:
        return "Forbidden";
    case LM_FORALL:
        return "Required";
    }
    abort();
}

static const char *verdict_word(enum answer answer)
{
    return answer == ANSWER_YES ? "Ok" : answer == ANSWER_NO ? "No" : "Undef";
}

static bool reads_as_verdict(const char *name)
{
    static const char *const words[] = {"Undef", "Succeeded", "Failed", "Ok", "No", "Loop"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

char *report_column(struct arena *arena, const struct lm_test *test, const struct lm_atom *atom)
{
    if (!atom->is_reg && atom->decl->kind == LM_SHARED)
        return arena_printf(arena, "%s[%u]", atom->decl->name, atom->node);
    if (!atom->is_reg && reads_as_verdict(atom->decl->name))
        return arena_printf(arena, "[%s]", atom->decl->name);
    return lm_print_atom(arena, test, atom);
}

/* The condition in the words of herd's readers: s@1 becomes s[1], and numbers become signed. */
static void print_condition(FILE *out, const char *text)
{
    while (*text) {
        char *end;
        if (*text == '@') {
            unsigned long node = strtoul(text + 1, &end, 10);
            fprintf(out, "[%lu]", node);
            text = end;
        } else if (isdigit((unsigned char)*text)) {
            fprintf(out, "%" PRId64, (int64_t)strtoull(text, &end, 0));
            text = end;
        } else if (isalpha((unsigned char)*text) || *text == '_') {
            size_t name = strcspn(text, "@ =/\\()~:;");
            fwrite(text, 1, name, out);
            text += name;
        } else {
            fputc(*text++, out);
        }
    }
}

void report_condition(FILE *out, struct arena *arena, const struct lm_test *test)
{
    print_condition(out, lm_print_cond(arena, test));
}

static void print_state(FILE *out, char *const *names, const uint64_t *row, unsigned n)
{
    for (unsigned c = 0; c < n; c++)
        fprintf(out, "%s%s=%" PRId64 ";", c ? " " : "", names[c], (int64_t)row[c]);
    fputc('\n', out);
}

static void print_differences(FILE *out, char *const *names, const struct verdict *verdict)
{
    const struct outcomes *sets[] = {verdict->only_operational, verdict->only_declarative};
    static const char *const labels[] = {"only operational", "only declarative"};
    for (size_t i = 0; i < 2; i++)
        for (size_t row = 0; sets[i] && row < outcomes_count(sets[i]); row++) {
            fprintf(out, "Disagreement, %s: ", labels[i]);
            print_state(out, names, outcomes_row(sets[i], row), verdict->n_columns);
        }
}

/* Behind the hash: what herd has no line for. */
static void print_additions(FILE *out, const struct report *report, char *const *names)
{
    const struct verdict *verdict = report->verdict;
    if (verdict->compared && verdict->implementation < outcomes_count(verdict->states))
        fprintf(out, "Implementation %" PRIu64 " of %zu states\n", verdict->implementation,
                outcomes_count(verdict->states));
    print_differences(out, names, verdict);
    if (verdict->stuck)
        fprintf(out, "Stuck %" PRIu64 "\n", verdict->stuck);
    if (report->verbose) {
        fprintf(out, "Engine %s\nExplored %" PRIu64 "\n", verdict->engine, verdict->explored);
        if (verdict->bytes)
            fprintf(out, "Memory %" PRIu64 " bytes\n", verdict->bytes);
        if (!verdict->stuck_known)
            fprintf(out, "Stuck runs were not looked for everywhere\n");
    }
    if (report->explanation)
        fputs(report->explanation, out);
}

void report_text(FILE *out, const struct report *report)
{
    const struct verdict *verdict = report->verdict;
    const struct lm_test *test = report->test;
    struct arena *arena = arena_new();
    char **names = ARENA_ARRAY(arena, char *, verdict->n_columns);
    for (unsigned c = 0; c < verdict->n_columns; c++)
        names[c] = report_column(arena, test, &verdict->columns[c]);
    fprintf(out, "Test %s %s\n", test->name, report_kind(test));
    if (verdict->completion != DONE)
        fprintf(out, "Partial (%s): there may be more states than these\n", verdict->why);
    fprintf(out, "States %zu\n", outcomes_count(verdict->states));
    for (size_t i = 0; i < outcomes_count(verdict->states); i++)
        print_state(out, names, outcomes_row(verdict->states, i), verdict->n_columns);
    uint64_t positive, negative;
    report_witnesses(report, &positive, &negative);
    fprintf(out, "%s\nWitnesses\nPositive: %" PRIu64 " Negative: %" PRIu64 "\nCondition ",
            verdict_word(verdict->holds), positive, negative);
    report_condition(out, arena, test);
    fprintf(out, "\nObservation %s %s %" PRIu64 " %" PRIu64 "\nTime %s %.2f\n", test->name,
            report_observation(verdict), verdict->positive, verdict->negative, test->name, verdict->seconds);
    char hash[33];
    lm_hash(test, hash);
    fprintf(out, "Hash=%s\n", hash);
    print_additions(out, report, names);
    fputc('\n', out);
    arena_free(arena);
}
