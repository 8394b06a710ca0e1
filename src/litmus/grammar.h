/* What the two grammars share: settings of bison's parsers, lists, and the raw form of conditions. Included
 * by the code part of a .y file only. */
#ifndef REMORA_LITMUS_GRAMMAR_H
#define REMORA_LITMUS_GRAMMAR_H

#include "base/arena.h"
#include "litmus/raw.h"
#include "litmus/scan.h"

/* A construct stands where its first token does. */
#define YYLLOC_DEFAULT(current, rhs, n) ((current) = YYRHSLOC(rhs, (n) ? 1 : 0))

/* The parser's stack is on the heap and bounded. */
#define YYMALLOC xmalloc
#define YYFREE free
#define YYSTACK_USE_ALLOCA 0
#define YYMAXDEPTH 100000

#define NEW(type) ARENA_NEW(scan->source->arena, type)

/* Appends to a list that is built as {first, last}. */
#define APPEND(list, item)                                                                                   \
    do {                                                                                                     \
        if ((list).last)                                                                                     \
            (list).last->next = (item);                                                                      \
        else                                                                                                 \
            (list).first = (item);                                                                           \
        (list).last = (item);                                                                                \
    } while (0)

struct raw_cond *raw_new_cond(struct scan *, enum lm_cond_kind);
struct raw_cond *raw_equal(struct scan *, struct raw_atom *, uint64_t value);

/* a and b, or of LM_C_NOT a alone. Parts of the same kind are joined into one wide node. */
struct raw_cond *raw_combine(struct scan *, enum lm_cond_kind, struct raw_cond *a, struct raw_cond *b);

#endif
