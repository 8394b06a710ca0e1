/* remora fmt: prints litmus tests in the canonical form, to standard output, in place, or only to tell
 * whether they have it. What the form can't keep (comments, an x86 table) is not lost silently: in place that
 * needs --force. */
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "litmus/litmus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char command[] = "remora fmt";

struct options {
    bool in_place, check, force, quiet;
};

enum { KEY_CHECK = 256, KEY_FORCE };

static const struct argp_option option_table[] = {
    {"in-place", 'i', NULL, 0, "Rewrite the files", 0},
    {"check", KEY_CHECK, NULL, 0, "Print nothing; exit status 1 if some file is not in the canonical form",
     0},
    {"force", KEY_FORCE, NULL, 0, "With -i: rewrite also where comments or an x86 table would be lost", 0},
    {"quiet", 'q', NULL, 0, "No warnings", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    (void)argument;
    switch (key) {
    case 'i':
        options->in_place = true;
        return 0;
    case KEY_CHECK:
        options->check = true;
        return 0;
    case KEY_FORCE:
        options->force = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file given");
        return 0;
    case ARGP_KEY_SUCCESS:
        if (options->in_place && options->check)
            argp_error(state, "-i and --check exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The whole file, in the arena, or NULL with errno set. */
static char *read_file(struct arena *arena, const char *file, size_t *length)
{
    FILE *in = fopen(file, "rb");
    if (!in)
        return NULL;
    char *text = read_stream(arena, in, length);
    int error = errno;
    fclose(in);
    errno = error;
    return text;
}

static bool write_all(int out, const char *text, size_t length)
{
    while (length) {
        ssize_t n = write(out, text, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        length -= (size_t)n;
    }
    return true;
}

/* Fills a new file beside the old one, and only when it is safely there puts it in the old one's place. */
static bool replace_file(struct arena *arena, const char *file, const char *text)
{
    char *target = realpath(file, NULL); /* a symbolic link stays one */
    struct stat status;
    if (!target || stat(target, &status) != 0) {
        free(target);
        return false;
    }
    char *temporary = arena_printf(arena, "%s.XXXXXX", target);
    int out = mkstemp(temporary);
    bool good = out >= 0 && write_all(out, text, strlen(text)) && fchmod(out, status.st_mode & 07777) == 0 &&
                fsync(out) == 0;
    /* Only the superuser can give a file away; for others it is theirs already or becomes so. */
    if (good && fchown(out, status.st_uid, status.st_gid) != 0 && errno != EPERM)
        good = false;
    int error = errno;
    if (out >= 0 && close(out) != 0 && good) {
        error = errno;
        good = false;
    }
    if (good && rename(temporary, target) != 0) {
        error = errno;
        good = false;
    }
    if (!good && out >= 0)
        unlink(temporary);
    free(target);
    errno = error;
    return good;
}

/* Why the canonical form would lose something of this text, or NULL. */
static const char *loss(const struct lm_parse *parsed)
{
    if (parsed->test->syntax != LM_NATIVE)
        return "would turn an x86 table into a native test";
    return parsed->has_comments ? "would lose its comments" : NULL;
}

static enum status rewrite(struct arena *arena, const struct options *options, const char *file,
                           const struct lm_parse *parsed, const char *text, size_t length,
                           const char *canonical)
{
    if (strlen(canonical) == length && memcmp(text, canonical, length) == 0)
        return STATUS_HOLDS;
    const char *reason = loss(parsed);
    if (reason && !options->force) {
        complain(command, "%s: not rewritten: that %s (--force does it all the same)", file, reason);
        return STATUS_BAD;
    }
    if (replace_file(arena, file, canonical))
        return STATUS_HOLDS;
    complain(command, "%s: cannot rewrite: %s", file, strerror(errno));
    return STATUS_BAD;
}

static enum status format_text(struct arena *arena, const struct options *options, const char *file,
                               const char *text, size_t length)
{
    const char *name = strcmp(file, "-") == 0 ? "<stdin>" : file;
    struct lm_parse parsed = lm_parse_text(arena, name, text, length);
    lm_print_diagnostics(stderr, name, &parsed, !options->quiet && !options->check);
    if (!parsed.test)
        return STATUS_BAD;
    const char *canonical = lm_print_test(arena, parsed.test);
    if (options->in_place)
        return rewrite(arena, options, file, &parsed, text, length, canonical);
    if (!options->check) {
        output(canonical, strlen(canonical));
        return STATUS_HOLDS;
    }
    if (strlen(canonical) == length && memcmp(text, canonical, length) == 0)
        return STATUS_HOLDS;
    complain(command, "%s: not in the canonical form", name);
    return STATUS_FAILS;
}

static enum status format_file(const struct options *options, const char *file)
{
    bool standard_input = strcmp(file, "-") == 0;
    if (standard_input && options->in_place) {
        complain(command, "standard input cannot be rewritten in place");
        return STATUS_BAD;
    }
    struct arena *arena = arena_new();
    size_t length;
    char *text = standard_input ? read_stream(arena, stdin, &length) : read_file(arena, file, &length);
    enum status status = STATUS_BAD;
    if (text)
        status = format_text(arena, options, file, text, length);
    else
        complain(command, "%s: %s", file, strerror(errno));
    arena_free(arena);
    return status;
}

static const char description[] = "Prints litmus tests in the canonical form. A FOLDER stands for the "
                                  "*.litmus files in it, `-' for standard input.\v"
                                  "Exit status: 0 done (with --check: all files are canonical), 1 some file "
                                  "is not, 2 bad usage, or a file that "
                                  "can't be read or written.";

int fmt_main(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse_option, "FILE|FOLDER...", description, NULL,
                                     NULL,         NULL};
    struct options options = {0};
    int first;
    argp_parse(&argp, argc, argv, 0, &first, &options);
    struct arena *arena = arena_new();
    struct inputs inputs = inputs_find(arena, command, argv + first, (size_t)(argc - first));
    enum status worst = inputs.failed ? STATUS_BAD : STATUS_HOLDS;
    for (size_t i = 0; i < inputs.count; i++) {
        enum status status = format_file(&options, inputs.files[i]);
        worst = status > worst ? status : worst;
    }
    arena_free(arena);
    return (int)worst;
}
