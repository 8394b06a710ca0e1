/* The JSON Lines report of `remora check --json` (remora-check(1)). Strings are escaped by jansson; the
 * objects are written here, since jansson's integers are signed and values of the model are unsigned 64-bit
 * numbers. */
#include "cli/report/report.h"

#include "base/arena.h"
#include "cli/report/json.h"
#include "cli/report/trace.h"
#include "cli/traced.h"
#include "litmus/litmus.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The length of the valid UTF-8 sequence at the start of the text, or 0. */
static size_t sequence_length(const unsigned char *s, size_t left)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;
    if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
    bool beyond = s[0] == 0xf4 && s[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : n;
}

/* A file name may be any bytes; JSON is UTF-8. What is not becomes U+FFFD. */
static char *valid_utf8(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t left = strlen(text), used = 0;
    char *valid = xmalloc(3 * left + 1);
    while (left) {
        size_t n = sequence_length((const unsigned char *)text, left);
        memcpy(valid + used, n ? text : replacement, n ? n : 3);
        used += n ? n : 3;
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    valid[used] = 0;
    return valid;
}

char *json_quoted(const char *text)
{
    char *valid = valid_utf8(text);
    json_t *string = json_string(valid);
    char *result = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (!result)
        out_of_memory();
    json_decref(string);
    free(valid);
    return result;
}

static void print_string(FILE *out, const char *key, const char *text)
{
    char *value = json_quoted(text);
    fprintf(out, "\"%s\":%s,", key, value);
    free(value);
}

static const char *quantifier_word(enum lm_quantifier quantifier)
{
    switch (quantifier) {
    case LM_EXISTS:
        return "exists";
    case LM_NOT_EXISTS:
        return "~exists";
    case LM_FORALL:
        return "forall";
    case LM_FINAL:
        return "final";
    }
    abort();
}

static char **column_keys(const struct report *report, struct arena *arena)
{
    const struct verdict *verdict = report->verdict;
    char **keys = xcalloc(verdict->n_columns, sizeof *keys);
    for (unsigned c = 0; c < verdict->n_columns; c++)
        keys[c] = json_quoted(lm_print_atom(arena, report->test, &verdict->columns[c]));
    return keys;
}

static void print_states(FILE *out, const char *key, const struct outcomes *states, char *const *keys,
                         unsigned n)
{
    fprintf(out, "\"%s\":[", key);
    for (size_t i = 0; i < outcomes_count(states); i++) {
        const uint64_t *row = outcomes_row(states, i);
        fputs(i ? ",{" : "{", out);
        for (unsigned c = 0; c < n; c++)
            fprintf(out, "%s%s:%" PRIu64, c ? "," : "", keys[c], row[c]);
        fputc('}', out);
    }
    fputs("],", out);
}

static void print_explanation(FILE *out, const struct report *report, char *const *keys)
{
    const struct explained_test *explained = report->explained;
    fputs("\"explanation\":{", out);
    if (explained->row) {
        fputs("\"outcome\":{", out);
        for (unsigned c = 0; c < report->verdict->n_columns; c++)
            fprintf(out, "%s%s:%" PRIu64, c ? "," : "", keys[c], explained->row[c]);
        fputs("},", out);
    }
    json_explanation(out, &explained->explanation);
    fputs("},", out);
}

static void print_comparison(FILE *out, const struct verdict *verdict, char *const *keys)
{
    if (!verdict->compared)
        return;
    fprintf(out, "\"implementation\":%" PRIu64 ",\"agree\":%s,", verdict->implementation,
            engines_disagree(verdict) ? "false" : "true");
    if (verdict->only_operational)
        print_states(out, "only_operational", verdict->only_operational, keys, verdict->n_columns);
    if (verdict->only_declarative)
        print_states(out, "only_declarative", verdict->only_declarative, keys, verdict->n_columns);
}

void report_json(FILE *out, const struct report *report)
{
    static const char *const answers[] = {
        [ANSWER_NO] = "false", [ANSWER_YES] = "true", [ANSWER_OPEN] = "null"};
    const struct verdict *verdict = report->verdict;
    struct arena *arena = arena_new();
    char **keys = column_keys(report, arena);
    uint64_t positive, negative;
    report_witnesses(report, &positive, &negative);
    char hash[33];
    lm_hash(report->test, hash);
    fputc('{', out);
    print_string(out, "name", report->test->name);
    print_string(out, "file", report->file);
    print_string(out, "arch", report->test->arch == LM_RDMA_TSO ? "RDMA_TSO" : "RDMA_WAIT");
    print_string(out, "engine", verdict->engine);
    fprintf(out, "\"holds\":%s,\"complete\":%s,", answers[verdict->holds],
            verdict->completion == DONE ? "true" : "false");
    if (verdict->completion != DONE)
        print_string(out, "partial", verdict->why);
    print_string(out, "quantifier", quantifier_word(report->test->quantifier));
    print_string(out, "observation", report_observation(verdict));
    fprintf(out, "\"positive\":%" PRIu64 ",\"negative\":%" PRIu64 ",\"stuck\":%" PRIu64 ",", positive,
            negative, verdict->stuck);
    print_comparison(out, verdict, keys);
    print_states(out, "states", verdict->states, keys, verdict->n_columns);
    if (report->explained)
        print_explanation(out, report, keys);
    if (report->traced && report->traced->run) {
        fputs("\"trace\":", out);
        trace_json(out, report->traced->run, report->traced->program);
        fputc(',', out);
    }
    print_string(out, "hash", hash);
    fprintf(out, "\"explored\":%" PRIu64 ",\"seconds\":%.6f}\n", verdict->explored, verdict->seconds);
    for (unsigned c = 0; c < verdict->n_columns; c++)
        free(keys[c]);
    free(keys);
    arena_free(arena);
}
