/* Reading a test: the first word says which language it is in; then parse, resolve names, check. */
#include "litmus/litmus.h"

#include "base/arena.h"
#include "litmus/names.h"
#include "litmus/raw.h"
#include "litmus/x86.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 16 << 20 };

static bool is_native(const char *arch)
{
    return !strcmp(arch, "RDMA_TSO") || !strcmp(arch, "RDMA_WAIT");
}

static void refuse_arch(struct source *source, const struct raw_word *first)
{
    static const char *const known[] = {"RDMA_TSO", "RDMA_WAIT", "X86", "X86_64"};
    if (!*first->text) {
        source_error(source, (struct lm_pos){0, 0}, NULL, "the file has no test in it");
        return;
    }
    struct guess guess = guess_start(first->text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        guess_consider(&guess, known[i]);
    const char *hint = guess_hint(&guess, source->arena);
    source_error(source, first->pos,
                 hint ? hint : "a test begins with RDMA_TSO, RDMA_WAIT, X86 or X86_64, and its name",
                 "unknown architecture `%s`", first->text);
}

/* The test in its raw form; false, and an error, if it is not one. */
static bool read_raw(struct source *source, const struct raw_word *first, struct raw_test *raw,
                     enum lm_syntax *syntax)
{
    *syntax = LM_NATIVE;
    if (is_native(first->text))
        return native_parse(source, raw);
    struct x86_test table = {.is_64 = !strcmp(first->text, "X86_64")};
    if (!table.is_64 && strcmp(first->text, "X86")) {
        refuse_arch(source, first);
        return false;
    }
    *syntax = table.is_64 ? LM_X86_64 : LM_X86;
    return x86_parse(source, &table) && x86_translate(source, &table, raw);
}

static struct lm_test *read_test(struct source *source)
{
    if (!source_is_text(source))
        return NULL;
    struct raw_word first = native_first_word(source);
    struct raw_test raw = {0};
    enum lm_syntax syntax;
    if (source->n_errors || !read_raw(source, &first, &raw, &syntax))
        return NULL;
    struct lm_test *test = native_resolve(source, &raw);
    if (!test)
        return NULL;
    test->syntax = syntax;
    check_test(source, test);
    return test;
}

struct lm_parse lm_parse_text(struct arena *arena, const char *file, const char *text, size_t length)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (length >= 3 && !memcmp(text, byte_order_mark, 3)) {
        text += 3;
        length -= 3;
    }
    struct source source = source_open(arena, arena_strdup(arena, file), text, length);
    struct lm_parse parse = {.test = read_test(&source)};
    source_finish(&source, &parse);
    return parse;
}

/* NULL, and errno set, if the file can't be read. `likely` is how long it says it is; what counts is what can be read, up to a
 * block more than the limit. */
static char *read_all(struct arena *arena, int fd, off_t likely, size_t *length)
{
    size_t room = likely > 0 && likely < MAX_FILE ? (size_t)likely + 1 : 4096, used = 0;
    char *text = arena_alloc(arena, room);
    for (;;) {
        ssize_t got = read(fd, text + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return NULL;
        used += (size_t)got;
        if (got == 0 || used > MAX_FILE)
            break;
        if (used == room) {
            char *larger = arena_alloc(arena, 2 * room);
            memcpy(larger, text, used);
            text = larger;
            room *= 2;
        }
    }
    *length = used;
    return text;
}

struct lm_parse lm_parse_file(struct arena *arena, const char *file)
{
    struct source source = source_open(arena, arena_strdup(arena, file), NULL, 0);
    struct lm_parse parse = {0};
    struct stat status = {0};
    /* Without waiting for the writer of a named pipe that has none; reading waits again. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        fcntl(fd, F_SETFL, 0);
    size_t length = 0;
    char *text = NULL;
    if (fd >= 0 && !fstat(fd, &status) && S_ISDIR(status.st_mode))
        errno = EISDIR;
    else if (fd >= 0)
        text = read_all(arena, fd, status.st_size, &length);
    if (text)
        parse = lm_parse_text(arena, file, text, length);
    else
        source_error(&source, (struct lm_pos){0, 0}, NULL, "cannot read the file: %s", strerror(errno));
    if (!text)
        source_finish(&source, &parse);
    if (fd >= 0)
        close(fd);
    return parse;
}
