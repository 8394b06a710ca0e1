/* Inputs that are too much, or not text at all: each is refused with one clear line, and none is slow or
 * deep. Also the pieces of printed tests that reports are made of. */
#include "base/arena.h"
#include "litmus/litmus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

/* A text that is built by printing to `out`. */
struct text {
    char *data;
    size_t length;
    FILE *out;
};

static struct text *text_new(void)
{
    struct text *text = xcalloc(1, sizeof *text);
    text->out = open_memstream(&text->data, &text->length);
    return text;
}

static void repeat(struct text *text, size_t times, const char *what)
{
    for (size_t i = 0; i < times; i++)
        fputs(what, text->out);
}

/* Parses and frees the text; what is expected is the first diagnostic as line:col: message, or NULL for a
 * good test. */
static void expect_text(struct text *text, const char *expected)
{
    fclose(text->out);
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_text(arena, "t", text->data, text->length);
    if (!expected) {
        lm_print_diagnostics(stderr, "t", &parse, false);
        assert_non_null(parse.test);
    } else {
        assert_null(parse.test);
        assert_int_equal(parse.n_diagnostics, 1);
        const struct lm_diagnostic *d = parse.diagnostics;
        if (strcmp(d->message, expected))
            assert_string_equal(arena_printf(arena, "%u:%u: %s", d->pos.line, d->pos.col, d->message),
                                expected);
    }
    arena_free(arena);
    free(text->data);
    free(text);
}

static void test_threads(void **state)
{
    (void)state;
    for (unsigned n = 64; n <= 65; n++) {
        struct text *text = text_new();
        fputs("RDMA_TSO t\n{ node 0: x; }\n", text->out);
        for (unsigned i = 0; i < n; i++)
            fprintf(text->out, "P%u on 0 { x = %u; }\n", i, i);
        fputs("exists (x = 1)\n", text->out);
        expect_text(text, n == 64 ? NULL : "67:1: a test has at most 64 threads");
    }
}

static void test_x86_threads(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("X86 t\n{ }\nP0", text->out);
    for (unsigned i = 1; i < 65; i++)
        fprintf(text->out, "|P%u", i);
    fputs(";\nMOV [x],$1;\nexists (x=1)\n", text->out);
    expect_text(text, "3:1: a test has at most 64 threads");
}

static void test_nodes(void **state)
{
    (void)state;
    for (unsigned node = 63; node <= 64; node++) {
        struct text *text = text_new();
        fprintf(text->out, "RDMA_TSO t\n{ node %u: x; }\nP0 on 0 { put(x, 1); }\nexists (x = 1)\n", node);
        expect_text(text, node == 63 ? NULL : "2:8: node 64 is out of range: nodes are numbered 0 to 63");
    }
}

static void test_statements(void **state)
{
    (void)state;
    for (unsigned n = 10000; n <= 10001; n++) {
        struct text *text = text_new();
        fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 {\n", text->out);
        repeat(text, n, "x = 1;\n");
        fputs("}\nexists (x = 1)\n", text->out);
        expect_text(text, n == 10000
                              ? NULL
                              : "3:1: P0 has more than 10000 statements (those of a repeat count once for "
                                "each round)");
    }
}

static void test_unrolling(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 {\n", text->out);
    repeat(text, 150, "repeat (2) { ");
    repeat(text, 150, "} ");
    fputs("}\nexists (x = 1)\n", text->out);
    expect_text(text, "3:1: P0 has more than 10000 statements (those of a repeat count once for each round)");
}

static void test_declarations(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x", text->out);
    for (unsigned i = 0; i < 10000; i++)
        fprintf(text->out, ", x%u", i);
    fputs("; }\nP0 on 0 { x = 1; }\nexists (x = 1)\n", text->out);
    expect_text(text, "2:11: more than 10000 names are declared");
}

static void test_brackets(void **state)
{
    (void)state;
    for (unsigned n = 199; n <= 200; n++) {
        struct text *text = text_new();
        fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { x = ", text->out);
        repeat(text, n, "(");
        fputs("1", text->out);
        repeat(text, n, ")");
        fputs("; }\nexists (x = 1)\n", text->out);
        expect_text(text, n == 199 ? NULL : "3:214: brackets are nested more than 200 deep");
    }
}

/* Deep without end: only the nesting limit keeps these from the C stack. */
static void expect_deep(const char *before, const char *repeated, const char *expected)
{
    struct text *text = text_new();
    fputs(before, text->out);
    repeat(text, (10 << 20) / strlen(repeated), repeated);
    expect_text(text, expected);
}

static void test_depth(void **state)
{
    (void)state;
    const char *thread = "RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { ";
    const char *value = "RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { x = ";
    const char *condition = "RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { }\nexists ";
    expect_deep(thread, "do { ", "brackets are nested more than 200 deep");
    expect_deep(thread, "if (1) { } else ", "this is nested too deeply");
    expect_deep(value, "(", "brackets are nested more than 200 deep");
    expect_deep(value, "!", "this is nested too deeply");
    expect_deep(condition, "(", "brackets are nested more than 200 deep");
    expect_deep(condition, "~", "this is nested too deeply");
    expect_deep("X86 t\n{ }\nP0;\nMOV [x],$1;\nexists ", "not ", "this is nested too deeply");
    expect_deep("X86 t\n{ }\nP0;\n", "lock ", "this is nested too deeply");
    expect_deep("(*", "(*", "1:1: the comment that begins here is never closed");
    expect_deep("RDMA_TSO t\n{ ", "/* ", "2:3: the comment that begins here is never closed");
}

static void test_heights(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { ", text->out);
    repeat(text, 201, "if (1) { } else ");
    fputs("{ } }\nexists (x = 1)\n", text->out);
    expect_text(text, "3:11: blocks are nested more than 200 deep");
    text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { }\nexists ", text->out);
    repeat(text, 1001, "~");
    fputs("x = 1\n", text->out);
    expect_text(text, "a condition is nested more than 1000 deep");
    text = text_new();
    fputs("X86 t\n{ }\nP0;\n", text->out);
    for (unsigned i = 0; i < 65; i++)
        fprintf(text->out, "MOV %%r%u,$1;\n", i);
    fputs("exists (x=1)\n", text->out);
    fflush(text->out);
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_text(arena, "t", text->data, text->length);
    assert_null(parse.test);
    assert_string_equal(parse.diagnostics[0].message, "P0 has more than 64 registers");
    arena_free(arena);
    fclose(text->out);
    free(text->data);
    free(text);
}

static void test_chains(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { x = 1", text->out);
    repeat(text, 1001, " + 1");
    fputs("; }\nexists (x = 1)\n", text->out);
    expect_text(text, "3:4017: an expression has more than 1000 operators in a row");
    text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 { x = 1; }\nexists (x = 1", text->out);
    repeat(text, 200000, " /\\ x = 1 \\/ x = 2");
    fputs(")\n", text->out);
    expect_text(text, NULL); /* a long condition is wide, not deep */
}

static void test_ten_megabytes(void **state)
{
    (void)state;
    struct text *text = text_new();
    fputs("RDMA_TSO t\n{ node 0: x; }\nP0 on 0 {\n", text->out);
    repeat(text, (10 << 20) / 10, "r0 = x;   ");
    fputs("}\nexists (x = 1)\n", text->out);
    expect_text(text, "3:1: P0 has more than 10000 statements (those of a repeat count once for each round)");
}

static void test_too_large(void **state)
{
    (void)state;
    struct text *text = text_new();
    repeat(text, (16 << 20) / 8 + 1, "        ");
    expect_text(text, "0:0: the file is larger than 16 MB");
}

static void expect_bytes(const char *data, size_t length, const char *expected)
{
    struct text *text = text_new();
    fwrite(data, 1, length, text->out);
    expect_text(text, expected);
}

static void test_not_text(void **state)
{
    (void)state;
    expect_bytes("\x7f"
                 "ELF\2\1\1",
                 7, "0:0: not a text file: byte 0x7f in line 1 is not UTF-8 text");
    expect_bytes("RDMA_TSO t\n{ \0 }", 16, "0:0: not a text file: byte 0x00 in line 2 is not UTF-8 text");
    expect_bytes("RDMA_TSO \xc3", 10, "0:0: not a text file: byte 0xc3 in line 1 is not UTF-8 text");
    expect_bytes("\xed\xa0\x80", 3, "0:0: not a text file: byte 0xed in line 1 is not UTF-8 text");
    expect_bytes("\xc0\x80", 2, "0:0: not a text file: byte 0xc0 in line 1 is not UTF-8 text");
    expect_bytes("\xf4\x90\x80\x80", 4, "0:0: not a text file: byte 0xf4 in line 1 is not UTF-8 text");
    static const char windows[] =
        "\xef\xbb\xbfRDMA_TSO t\r\n\"doc\"\r\n{ node 0: x; }\r\nP0 on 0 { x = 1; }\r\n"
        "exists (x = 1)\r\n";
    expect_bytes(windows, strlen(windows), NULL);
    expect_bytes("", 0, "0:0: the file has no test in it");
    expect_bytes(" \n\t", 3, "0:0: the file has no test in it");
}

static void expect_file(const char *path, const char *expected)
{
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_file(arena, path);
    assert_null(parse.test);
    assert_int_equal(parse.n_diagnostics, 1);
    assert_string_equal(parse.diagnostics->message, expected);
    assert_int_equal(parse.diagnostics->pos.line, 0);
    arena_free(arena);
}

static void test_files(void **state)
{
    (void)state;
    expect_file("/no/such/file.litmus", "cannot read the file: No such file or directory");
    expect_file("/", "cannot read the file: Is a directory");
    expect_file("/dev/zero", "the file is larger than 16 MB");
    if (geteuid() != 0)
        expect_file("/etc/shadow", "cannot read the file: Permission denied");
}

static void test_pieces(void **state)
{
    (void)state;
    static const char source[] =
        "RDMA_WAIT t\n{ node 0: x; shared s; }\n"
        "P0 on 0 { if (r0 == 1) { x = r0 + 1; } do { r0 = x; } until (r0); repeat (2) { put(x, "
        "1, d); } await(x != r0); bcast(s, {0, 1}, d); }\nexists (0:r0 = 1 /\\ s@1 = 2 \\/ ~x = 3)\n";
    static const char *const heads[] = {"if (r0 == 1)", "until (r0)", "repeat (2)", "await(x != r0)",
                                        "bcast(s, {0, 1}, d)"};
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_text(arena, "t", source, strlen(source));
    assert_non_null(parse.test);
    const struct lm_stmt *stmt = parse.test->threads[0].body;
    assert_string_equal(lm_print_stmt(arena, parse.test, 0, stmt->body), "x = r0 + 1");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++, stmt = stmt->next)
        assert_string_equal(lm_print_stmt(arena, parse.test, 0, stmt), heads[i]);
    assert_string_equal(lm_print_cond(arena, parse.test), "exists (0:r0=1 /\\ s@1=2 \\/ not (x=3))");
    assert_string_equal(lm_print_atom(arena, parse.test, &parse.test->cond->a->a->atom), "0:r0");
    assert_string_equal(lm_print_atom(arena, parse.test, &parse.test->cond->a->b->atom), "s@1");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),       cmocka_unit_test(test_x86_threads),
        cmocka_unit_test(test_nodes),         cmocka_unit_test(test_statements),
        cmocka_unit_test(test_unrolling),     cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_brackets),      cmocka_unit_test(test_depth),
        cmocka_unit_test(test_heights),       cmocka_unit_test(test_chains),
        cmocka_unit_test(test_ten_megabytes), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_not_text),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
