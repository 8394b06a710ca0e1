/* Fuzz target: any bytes are either refused with at least one error, or read as a test whose canonical form
 * is read back as the same test, is its own canonical form, and has the same hash. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "same.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void print_all(const struct lm_parse *parse)
{
    static FILE *sink;
    if (!sink)
        sink = fopen("/dev/null", "w");
    if (sink)
        lm_print_diagnostics(sink, "fuzz", parse, true);
}

static void check_round_trip(struct arena *arena, const struct lm_test *test)
{
    char *text = lm_print_test(arena, test);
    struct lm_parse again = lm_parse_text(arena, "canonical", text, strlen(text));
    if (!again.test)
        lm_print_diagnostics(stderr, text, &again, false);
    require(again.test != NULL, "the canonical form is refused");
    require(same_test(test, again.test), "the canonical form is read as another test");
    require(!strcmp(text, lm_print_test(arena, again.test)), "the canonical form is not its own");
    char first[33], second[33];
    lm_hash(test, first);
    lm_hash(again.test, second);
    require(!strcmp(first, second), "the hashes differ");
    lm_print_cond(arena, test);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_text(arena, "fuzz", (const char *)data, size);
    unsigned errors = 0;
    for (unsigned i = 0; i < parse.n_diagnostics; i++)
        errors += parse.diagnostics[i].severity == LM_ERROR;
    require((errors > 0) == (parse.test == NULL), "refused without an error, or read in spite of one");
    print_all(&parse);
    if (parse.test)
        check_round_trip(arena, parse.test);
    arena_free(arena);
    return 0;
}
