/* Diagnostics with their source line and caret (see source.h), and how they are printed: file:line:col, the
 * line, a caret and a hint, as remora-litmus(5) says. Columns count characters, not bytes. */
#include "litmus/source.h"

#include "base/arena.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MAX_EXCERPT = 100 /* characters of a source line that are shown */ };

struct source source_open(struct arena *arena, const char *file, const char *text, size_t length)
{
    return (struct source){.arena = arena, .file = file, .text = text, .length = length};
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t count_characters(const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += !is_continuation(text[i]);
    return n;
}

/* The byte offset of character number n (from 0), or the length if there are fewer. */
static size_t character_offset(const char *text, size_t length, size_t n)
{
    size_t i = 0;
    for (; i < length; i++)
        if (!is_continuation(text[i]) && n-- == 0)
            break;
    return i;
}

static const char *find_line(const struct source *source, uint32_t line, size_t *length)
{
    const char *at = source->text, *end = source->text + source->length;
    for (uint32_t n = 1; n < line; n++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            break;
        at = newline + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((newline ? newline : end) - at);
    if (*length && at[*length - 1] == '\r')
        --*length;
    return at;
}

static size_t word_length(const char *at, const char *end)
{
    const char *p = at;
    if (p + 1 < end && *p == '%') /* a register of x86 */
        p++;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    return p - at > 1 ? (size_t)(p - at) : 1;
}

/* Fills in source, caret and width. A long line is cut to a window around the place, with "..." where it was
 * cut. */
static void add_excerpt(const struct source *source, struct lm_diagnostic *d)
{
    size_t length;
    const char *line = find_line(source, d->pos.line, &length);
    if (!length)
        return;
    size_t characters = count_characters(line, length), column = d->pos.col - 1;
    if (column > characters)
        column = characters;
    size_t at = character_offset(line, length, column);
    size_t width = word_length(line + at, line + length);
    size_t first = 0, last = characters;
    if (characters > MAX_EXCERPT) {
        first = column > MAX_EXCERPT / 2 ? column - MAX_EXCERPT / 2 : 0;
        last = first + MAX_EXCERPT < characters ? first + MAX_EXCERPT : characters;
    }
    size_t from = character_offset(line, length, first), to = character_offset(line, length, last);
    char *excerpt = arena_printf(source->arena, "%s%.*s%s", first ? "..." : "", (int)(to - from), line + from,
                                 last < characters ? "..." : "");
    for (char *p = excerpt; *p; p++)
        if ((unsigned char)*p < ' ' && *p != '\t')
            *p = '?';
    if (column + width > last)
        width = last > column ? last - column : 1;
    d->source = excerpt;
    d->caret = (uint32_t)(column - first + (first ? 3 : 0) + 1);
    d->width = (uint32_t)width;
}

/* Checks that walk over a repeat twice find the same fault twice. */
static bool is_known(const struct source *source, struct lm_pos pos, const char *message)
{
    for (unsigned i = 0; i < source->n_shown; i++) {
        const struct lm_diagnostic *d = &source->shown[i];
        if (d->pos.line == pos.line && d->pos.col == pos.col && !strcmp(d->message, message))
            return true;
    }
    return false;
}

static void report(struct source *source, enum lm_severity severity, struct lm_pos pos, const char *hint,
                   const char *format, va_list args)
{
    char message[512];
    vsnprintf(message, sizeof message, format, args);
    if (is_known(source, pos, message))
        return;
    unsigned *count = severity == LM_ERROR ? &source->n_errors : &source->n_warnings;
    if (++*count > SOURCE_MAX_SHOWN)
        return;
    if (!source->shown)
        source->shown = ARENA_ARRAY(source->arena, struct lm_diagnostic, 2 * SOURCE_MAX_SHOWN + 2);
    struct lm_diagnostic *d = &source->shown[source->n_shown++];
    *d = (struct lm_diagnostic){.severity = severity, .pos = pos, .hint = hint};
    d->message = arena_strdup(source->arena, message);
    if (pos.line)
        add_excerpt(source, d);
}

bool source_has_room(const struct source *source, enum lm_severity severity)
{
    return (severity == LM_ERROR ? source->n_errors : source->n_warnings) < SOURCE_MAX_SHOWN;
}

void source_error(struct source *source, struct lm_pos pos, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(source, LM_ERROR, pos, hint, format, args);
    va_end(args);
}

void source_warning(struct source *source, struct lm_pos pos, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(source, LM_WARNING, pos, hint, format, args);
    va_end(args);
}

/* The length of the UTF-8 sequence at p, or 0 if there is none that is well formed. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    if (*p < 0x80)
        return 1;
    size_t n = *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    if (!n || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool out_of_range = (p[0] == 0xed && p[1] >= 0xa0) || (p[0] == 0xf4 && p[1] >= 0x90);
    return overlong || out_of_range ? 0 : n;
}

bool source_is_text(struct source *source)
{
    const struct lm_pos nowhere = {0, 0};
    if (source->length > MAX_BYTES) {
        source_error(source, nowhere, NULL, "the file is larger than %d MB", MAX_BYTES >> 20);
        return false;
    }
    uint32_t line = 1;
    for (size_t i = 0; i < source->length;) {
        unsigned char byte = (unsigned char)source->text[i];
        size_t n = utf8_sequence((const unsigned char *)source->text + i, source->length - i);
        if (!n || byte == 0x7f || (byte < ' ' && !strchr("\t\n\r\f\v", byte)) || byte == 0) {
            source_error(source, nowhere, NULL, "not a text file: byte 0x%02x in line %u is not UTF-8 text",
                         byte, line);
            return false;
        }
        line += byte == '\n';
        i += n;
    }
    return true;
}

static int by_position(const void *left, const void *right)
{
    const struct lm_diagnostic *a = left, *b = right;
    if (a->pos.line != b->pos.line)
        return a->pos.line < b->pos.line ? -1 : 1;
    if (a->pos.col != b->pos.col)
        return a->pos.col < b->pos.col ? -1 : 1;
    return a->severity != b->severity ? (a->severity == LM_ERROR ? -1 : 1) : strcmp(a->message, b->message);
}

static void add_count(struct source *source, enum lm_severity severity, unsigned n, const char *what)
{
    if (n <= SOURCE_MAX_SHOWN)
        return;
    struct lm_diagnostic *d = &source->shown[source->n_shown++];
    *d = (struct lm_diagnostic){.severity = severity};
    d->message = arena_printf(source->arena, "%u more %s%s not shown", n - SOURCE_MAX_SHOWN, what,
                              n - SOURCE_MAX_SHOWN == 1 ? " is" : "s are");
}

void source_finish(struct source *source, struct lm_parse *into)
{
    if (source->n_shown)
        qsort(source->shown, source->n_shown, sizeof *source->shown, by_position);
    add_count(source, LM_ERROR, source->n_errors, "error");
    add_count(source, LM_WARNING, source->n_warnings, "warning");
    into->diagnostics = source->shown;
    into->n_diagnostics = source->n_shown;
    into->has_comments = source->has_comments;
    if (source->n_errors)
        into->test = NULL;
}

/* The line below the source line: tabs are kept, so that the caret stands right whatever their width. */
static void print_caret(FILE *out, const struct lm_diagnostic *d)
{
    uint32_t character = 1;
    for (const char *p = d->source; character < d->caret && *p; p++) {
        if (is_continuation(*p))
            continue;
        fputc(*p == '\t' ? '\t' : ' ', out);
        character++;
    }
    fputc('^', out);
    for (uint32_t i = 1; i < d->width; i++)
        fputc('~', out);
    fputc('\n', out);
}

void lm_print_diagnostics(FILE *out, const char *file, const struct lm_parse *parse, bool warnings_too)
{
    for (unsigned i = 0; i < parse->n_diagnostics; i++) {
        const struct lm_diagnostic *d = &parse->diagnostics[i];
        if (d->severity == LM_WARNING && !warnings_too)
            continue;
        fprintf(out, "%s:", file);
        if (d->pos.line)
            fprintf(out, "%u:%u:", d->pos.line, d->pos.col);
        fprintf(out, " %s: %s\n", d->severity == LM_ERROR ? "error" : "warning", d->message);
        if (d->source) {
            fprintf(out, "  %s\n  ", d->source);
            print_caret(out, d);
        }
        if (d->hint)
            fprintf(out, "  hint: %s\n", d->hint);
    }
}
