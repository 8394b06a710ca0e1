/* The raw form of conditions, which both grammars build (see grammar.h), and the reserved words. */
#include "litmus/raw.h"

#include "base/arena.h"
#include "litmus/scan.h"

#include <string.h>

bool raw_is_reserved(const char *word)
{
    static const char *const words[] = {"if",     "else",   "assume", "await",     "do",  "until", "repeat",
                                        "exists", "forall", "final",  "locations", "not", "true",  "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

struct raw_cond *raw_new_cond(struct scan *scan, enum lm_cond_kind kind)
{
    struct raw_cond *cond = ARENA_NEW(scan->source->arena, struct raw_cond);
    cond->kind = kind;
    return cond;
}

struct raw_cond *raw_equal(struct scan *scan, struct raw_atom *atom, uint64_t value)
{
    struct raw_cond *cond = raw_new_cond(scan, LM_C_EQ);
    cond->atom = atom;
    cond->value = value;
    return cond;
}

static void add_part(struct raw_cond *cond, struct raw_cond *part)
{
    if (cond->last_part)
        cond->last_part->next = part;
    else
        cond->parts = part;
    cond->last_part = part;
}

/* The parts of a part of the same kind become parts of the whole: both connectives are associative. */
static void add_parts(struct raw_cond *cond, struct raw_cond *part)
{
    if (part->kind != cond->kind || cond->kind == LM_C_NOT) {
        add_part(cond, part);
        return;
    }
    add_part(cond, part->parts);
    cond->last_part = part->last_part;
}

struct raw_cond *raw_combine(struct scan *scan, enum lm_cond_kind kind, struct raw_cond *a,
                             struct raw_cond *b)
{
    struct raw_cond *cond = a;
    unsigned height = b && b->height > a->height ? b->height : a->height;
    if (a->kind != kind || kind == LM_C_NOT) {
        cond = raw_new_cond(scan, kind);
        add_parts(cond, a);
        height++;
    }
    if (b)
        add_parts(cond, b);
    cond->height = height;
    if (height > RAW_MAX_EXPR_HEIGHT)
        scan_error(scan, scan->at, NULL, "a condition is nested more than %d deep", RAW_MAX_EXPR_HEIGHT);
    return cond;
}
