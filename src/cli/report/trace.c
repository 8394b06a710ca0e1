/* Runs of the machine of section 2 in words: who does what by which rule, and what that changes in memory, store
 * buffers and queue pairs. States come as text, a line for each part that is not empty (search/run.h); they are
 * taken apart here to be compared. */
#include "cli/report/trace.h"

#include "base/arena.h"
#include "cli/report/json.h"
#include "cli/report/trace_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A part of a state that can change by itself: a location, where a thread stands, a FIFO. */
struct part {
    const char *group; /* its line: "memory", "P0", "P0 to node 1" */
    const char *name;  /* "x", "pipe" */
    const char *value;
};

struct parts {
    struct arena *arena;
    struct part *of;
    unsigned n, capacity;
};

static void add_part(struct parts *parts, const char *group, const char *name, const char *value)
{
    if (parts->n == parts->capacity) {
        struct part *old = parts->of;
        parts->capacity = parts->capacity ? 2 * parts->capacity : 32;
        parts->of = ARENA_ARRAY(parts->arena, struct part, parts->capacity);
        if (old)
            memcpy(parts->of, old, parts->n * sizeof *old);
    }
    parts->of[parts->n++] = (struct part){group, name, value};
}

/* "x=0 y=1" */
static void take_memory(struct parts *parts, char *text)
{
    char *rest;
    for (char *item = strtok_r(text, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');
        if (!equals)
            continue;
        *equals = 0;
        add_part(parts, "memory", item, equals + 1);
    }
}

/* "pipe ACK  wbR W(y,1) · W(z,1)": FIFOs are two spaces apart. */
static void take_fifos(struct parts *parts, const char *group, char *text)
{
    static const char *const names[] = {"store buffer", "pipe", "wbR", "wbL"};
    while (text) {
        char *next = strstr(text, "  ");
        if (next)
            *next = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i]);
            if (strncmp(text, names[i], length) == 0 && text[length] == ' ')
                add_part(parts, group, names[i], text + length + 1);
        }
        text = next ? next + 2 : NULL;
    }
}

static void take_line(struct parts *parts, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return;
    *colon = 0;
    char *body = colon + 1 + strspn(colon + 1, " "), *next = strstr(line, " next");
    if (strcmp(line, "memory") == 0)
        take_memory(parts, body);
    else if (next) {
        char *fifos = strstr(body, "  store buffer ");
        *next = 0;
        if (fifos) {
            *fifos = 0;
            take_fifos(parts, line, fifos + 2);
        }
        add_part(parts, line, "next", body);
    } else if (strstr(line, " to node "))
        take_fifos(parts, line, body);
    else
        add_part(parts, line, "remote atomics", "busy");
}

static struct parts parts_of(struct arena *arena, const char *state)
{
    struct parts parts = {.arena = arena};
    char *rest, *copy = arena_strdup(arena, state);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(&parts, line);
    return parts;
}

static const struct part *find(const struct parts *parts, const struct part *like)
{
    for (unsigned i = 0; i < parts->n; i++)
        if (strcmp(parts->of[i].group, like->group) == 0 && strcmp(parts->of[i].name, like->name) == 0)
            return &parts->of[i];
    return NULL;
}

static bool is_changed(const struct parts *before, const struct part *part)
{
    const struct part *old = find(before, part);
    return !old || strcmp(old->value, part->value) != 0;
}

/* --- what changed --- */

#define BAR "          | " /* what stands behind it is not done, but changed by a step */

struct printer {
    FILE *out;
    const struct trace_style *style;
    const char *group; /* whose parts are being printed */
};

static void change(struct printer *p, const struct part *part, const char *old, const char *new)
{
    bool bold = p->style->color;
    if (!p->group || strcmp(p->group, part->group) != 0)
        fprintf(p->out, "%s%s: ", p->group ? "\n" BAR : BAR, part->group);
    else
        fputs("   ", p->out);
    p->group = part->group;
    fprintf(p->out, "%s %s%s%s%s%s", part->name, old ? old : "", old ? " → " : "", bold ? "\033[1m" : "", new,
            bold ? "\033[0m" : "");
}

static void print_changes(struct printer *p, const struct parts *before, const struct parts *after)
{
    static const struct part gone = {0};
    p->group = NULL;
    for (unsigned i = 0; i < after->n; i++) {
        const struct part *part = &after->of[i], *old = find(before, part);
        bool memory = strcmp(part->group, "memory") == 0;
        if (strcmp(part->name, "next") != 0 && is_changed(before, part))
            change(p, part, memory && old ? old->value : gone.value, part->value);
        /* A FIFO that has become empty stands with the others of its queue pair. */
        bool last = i + 1 == after->n || strcmp(after->of[i + 1].group, part->group) != 0;
        for (unsigned k = 0; last && k < before->n; k++)
            if (strcmp(before->of[k].group, part->group) == 0 && !find(after, &before->of[k]))
                change(p, &before->of[k], NULL, "empty");
    }
    for (unsigned k = 0; k < before->n; k++) {
        bool group_left = false;
        for (unsigned i = 0; i < after->n; i++)
            group_left |= strcmp(after->of[i].group, before->of[k].group) == 0;
        if (!group_left)
            change(p, &before->of[k], NULL, strcmp(before->of[k].value, "busy") == 0 ? "free" : "empty");
    }
    if (p->group)
        fputc('\n', p->out);
}

/* --- whole states --- */

static void print_state(struct printer *p, const struct parts *before, const struct parts *after)
{
    bool color = p->style->color;
    p->group = NULL;
    for (unsigned i = 0; i < after->n; i++) {
        const struct part *part = &after->of[i];
        bool bold = color && before && is_changed(before, part);
        if (!p->group || strcmp(p->group, part->group) != 0)
            fprintf(p->out, "%s" BAR "%s:", i ? "\n" : "", part->group);
        p->group = part->group;
        fprintf(p->out, "%s%s%s%s%s%s", strcmp(part->group, "memory") ? "   " : " ", bold ? "\033[1m" : "",
                part->name, strcmp(part->group, "memory") ? " " : "=", part->value, bold ? "\033[0m" : "");
    }
    fputc('\n', p->out);
}

/* --- all --- */

void trace_text(FILE *out, const struct run *run, const struct program *program,
                const struct trace_style *style)
{
    struct arena *arena = arena_new();
    struct printer printer = {.out = out, .style = style};
    struct parts before = parts_of(arena, run->start);
    trace_reading(out, arena, run, style->full);
    fputs("   0. start\n", out);
    print_state(&printer, NULL, &before);
    for (unsigned i = 0; i < run->n_steps; i++) {
        struct parts after = parts_of(arena, run->steps[i].state);
        trace_step(out, arena, i + 1, &run->steps[i], program);
        if (style->full)
            print_state(&printer, &before, &after);
        else
            print_changes(&printer, &before, &after);
        before = after;
    }
    if (!style->full || run->stuck) {
        fputs(run->stuck ? "      stuck here:\n" : "      end\n", out);
        print_state(&printer, NULL, &before);
    }
    trace_ending(out, arena, run, program);
    arena_free(arena);
}

static void print_string(FILE *out, const char *key, const char *text)
{
    char *value = json_quoted(text);
    fprintf(out, "\"%s\":%s", key, value);
    free(value);
}

void trace_json(FILE *out, const struct run *run, const struct program *program)
{
    fputc('[', out);
    for (unsigned i = 0; i < run->n_steps; i++) {
        const struct run_step *step = &run->steps[i];
        uint32_t line;
        const char *statement = program->ops->describe(program, step->where, &line);
        fprintf(out, "%s{\"thread\":%u,", i ? "," : "", step->thread);
        if (step->rule == RUN_CPU || step->rule == RUN_FLUSH)
            print_string(out, "rule", run_rule_name(step->rule));
        else
            fprintf(out, "\"rule\":%u,\"node\":%u", step->rule, step->node);
        fputc(',', out);
        print_string(out, "statement", statement);
        if (line)
            fprintf(out, ",\"line\":%" PRIu32, line);
        fputc(',', out);
        print_string(out, "text", step->text);
        fputc(',', out);
        print_string(out, "state", step->state);
        fputc('}', out);
    }
    fputc(']', out);
}
