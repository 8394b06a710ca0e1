/* Every test of the corpus, and of the folders given: reading its canonical form gives the same test, the
 * canonical form is its own, and the hash is that of the form without docs. Arguments: folders, searched for
 * .litmus files. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "same.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fts.h>

static void check_file(void **state)
{
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_file(arena, *state);
    lm_print_diagnostics(stderr, *state, &parse, false);
    assert_non_null(parse.test);
    char *text = lm_print_test(arena, parse.test);
    struct lm_parse again = lm_parse_text(arena, "canonical", text, strlen(text));
    lm_print_diagnostics(stderr, "canonical", &again, false);
    assert_non_null(again.test);
    assert_true(same_test(parse.test, again.test));
    assert_string_equal(text, lm_print_test(arena, again.test));
    char first[33], second[33];
    lm_hash(parse.test, first);
    again.test->n_docs = 0;
    lm_hash(again.test, second);
    assert_string_equal(first, second);
    arena_free(arena);
}

struct paths {
    char **list;
    size_t n;
};

static void find_files(struct arena *arena, char **folders, struct paths *paths)
{
    FTS *tree = fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t room = 0;
    for (FTSENT *entry; (entry = fts_read(tree));) {
        const char *dot = strrchr(entry->fts_name, '.');
        if (entry->fts_info != FTS_F || !dot || strcmp(dot, ".litmus"))
            continue;
        if (paths->n == room) {
            room = room ? 2 * room : 64;
            paths->list = xrealloc(paths->list, room * sizeof *paths->list);
        }
        paths->list[paths->n++] = arena_strdup(arena, entry->fts_path);
    }
    fts_close(tree);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct paths paths = {0};
    if (argc > 1)
        find_files(arena, argv + 1, &paths);
    struct CMUnitTest *tests = ARENA_ARRAY(arena, struct CMUnitTest, paths.n);
    for (size_t i = 0; i < paths.n; i++)
        tests[i] = (struct CMUnitTest){
            .name = paths.list[i], .test_func = check_file, .initial_state = paths.list[i]};
    int failed = _cmocka_run_group_tests("round trip", tests, paths.n, NULL, NULL);
    free(paths.list);
    arena_free(arena);
    return failed;
}
