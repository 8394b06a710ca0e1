/* Golden files: each NAME.litmus of a folder is read; its diagnostics, then its canonical form if it has one,
 * must be what NAME.expected says. With REMORA_PROMOTE set in the environment, what is found becomes what is
 * expected. */
#include "base/arena.h"
#include "litmus/litmus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>
#include <libgen.h>

static char *read_file(struct arena *arena, const char *path)
{
    FILE *in = fopen(path, "r");
    if (!in)
        return arena_strdup(arena, "");
    fseek(in, 0, SEEK_END);
    size_t length = (size_t)ftell(in);
    rewind(in);
    char *text = arena_alloc(arena, length + 1);
    assert_int_equal(fread(text, 1, length, in), length);
    fclose(in);
    return text;
}

static char *report(struct arena *arena, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    struct lm_parse parse = lm_parse_file(arena, path);
    lm_print_diagnostics(out, basename(arena_strdup(arena, path)), &parse, true);
    if (parse.test) {
        fputs(lm_print_test(arena, parse.test), out);
        fprintf(out, "Condition %s\n", lm_print_cond(arena, parse.test));
    }
    fclose(out);
    char *copy = arena_strdup(arena, text);
    free(text);
    return copy;
}

static void check_file(void **state)
{
    struct arena *arena = arena_new();
    const char *path = *state;
    const char *expected =
        arena_printf(arena, "%.*s.expected", (int)(strlen(path) - strlen(".litmus")), path);
    const char *found = report(arena, path);
    if (getenv("REMORA_PROMOTE")) {
        FILE *out = fopen(expected, "w");
        assert_non_null(out);
        fputs(found, out);
        fclose(out);
    }
    assert_string_equal(found, read_file(arena, expected));
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_new();
    glob_t files = {0};
    for (int i = 1; i < argc; i++)
        glob(arena_printf(arena, "%s/*.litmus", argv[i]), i > 1 ? GLOB_APPEND : 0, NULL, &files);
    struct CMUnitTest *tests = ARENA_ARRAY(arena, struct CMUnitTest, files.gl_pathc);
    for (size_t i = 0; i < files.gl_pathc; i++)
        tests[i] = (struct CMUnitTest){
            .name = files.gl_pathv[i], .test_func = check_file, .initial_state = files.gl_pathv[i]};
    int failed = _cmocka_run_group_tests("golden", tests, files.gl_pathc, NULL, NULL);
    globfree(&files);
    arena_free(arena);
    return failed;
}
