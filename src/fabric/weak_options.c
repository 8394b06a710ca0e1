/* Reading and writing REMORA_WEAK. */
#include "fabric/weak_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const weak_mode_names[WEAK_MODES] = {"mix", "uniform", "random", "starve", "late", "overtake"};

static bool read_number(const char *text, const char *end, uint64_t *number)
{
    char *after;
    errno = 0;
    *number = strtoull(text, &after, 0);
    return after == end && after != text && errno == 0 && *text != '-';
}

static bool read_unsigned(const char *text, const char *end, unsigned *number)
{
    uint64_t wide;
    bool good = read_number(text, end, &wide) && wide <= 1000000;
    *number = good ? (unsigned)wide : 0;
    return good;
}

static bool read_mode(const char *text, const char *end, enum weak_mode *mode)
{
    for (unsigned i = 0; i < WEAK_MODES; i++)
        if (strlen(weak_mode_names[i]) == (size_t)(end - text) &&
            strncmp(text, weak_mode_names[i], (size_t)(end - text)) == 0) {
            *mode = (enum weak_mode)i;
            return true;
        }
    return false;
}

/* A whole number is a count; with a point it is a probability. */
static bool read_chance(const char *text, const char *end, struct weak_chance *chance)
{
    char *after;
    if (read_number(text, end, &chance->count))
        return true;
    chance->count = 0;
    chance->probability = strtod(text, &after);
    return after == end && after != text && chance->probability >= 0 && chance->probability <= 1;
}

static bool read_option(struct weak_options *options, const char *key, size_t length, const char *value,
                        const char *end)
{
#define IS(name) (length == strlen(name) && strncmp(key, name, length) == 0)
    if (IS("seed"))
        return read_number(value, end, &options->seed);
    if (IS("mode"))
        return read_mode(value, end, &options->mode);
    if (IS("threads"))
        return read_unsigned(value, end, &options->threads);
    if (IS("patience"))
        return read_unsigned(value, end, &options->patience) && options->patience > 0;
    if (IS("free")) {
        unsigned number;
        bool good = read_unsigned(value, end, &number) && number <= 1;
        options->free = good && number;
        return good;
    }
    if (IS("delay"))
        return read_chance(value, end, &options->delay);
    if (IS("death"))
        return read_chance(value, end, &options->death);
    return IS("error") && read_chance(value, end, &options->error);
#undef IS
}

static bool is_ever(const struct weak_chance *chance)
{
    return chance->count || chance->probability > 0;
}

bool weak_options_read(struct weak_options *options, const char *text, const char **bad)
{
    *options = (struct weak_options){.seed = 1, .patience = 50};
    while (text && *text) {
        const char *end = text + strcspn(text, ","), *equals = memchr(text, '=', (size_t)(end - text));
        if (!equals || !read_option(options, text, (size_t)(equals - text), equals + 1, end)) {
            *bad = text;
            return false;
        }
        text = *end ? end + 1 : end;
    }
    options->faults = is_ever(&options->delay) || is_ever(&options->death) || is_ever(&options->error);
    return true;
}

struct writer {
    char *text;
    size_t size;
    int length;
};

static void write_chance(struct writer *to, const char *name, const struct weak_chance *chance)
{
    char *at = (size_t)to->length < to->size ? to->text + to->length : NULL, number[40];
    snprintf(number, sizeof number, "%.12g", chance->probability);
    if (!strpbrk(number, ".e")) /* a whole number would be a count */
        strcat(number, ".0");
    if (chance->count)
        snprintf(number, sizeof number, "%llu", (unsigned long long)chance->count);
    if (is_ever(chance))
        to->length += snprintf(at, at ? to->size - (size_t)to->length : 0, ",%s=%s", name, number);
}

static void write_unsigned(struct writer *to, const char *name, unsigned number, unsigned usual)
{
    char *at = (size_t)to->length < to->size ? to->text + to->length : NULL;
    if (number != usual)
        to->length += snprintf(at, at ? to->size - (size_t)to->length : 0, ",%s=%u", name, number);
}

int weak_options_write(const struct weak_options *options, char *text, size_t size)
{
    struct writer to = {text, size, 0};
    to.length = snprintf(text, size, "seed=%llu,mode=%s", (unsigned long long)options->seed,
                         weak_mode_names[options->mode]);
    write_unsigned(&to, "threads", options->threads, 0);
    write_unsigned(&to, "patience", options->patience, 50);
    write_unsigned(&to, "free", options->free, 0);
    write_chance(&to, "delay", &options->delay);
    write_chance(&to, "death", &options->death);
    write_chance(&to, "error", &options->error);
    return to.length;
}
