/* Lock-well-formedness (semantics §7), thread by thread: a thread releases only what it holds and acquires
 * only what it doesn't hold. Each lock is followed through the thread as the set of states that it may be in;
 * an `if` unites those of its branches, conditions are not looked into. So what may go wrong on some path of
 * the program text is an error, and the engines may rely on every release matching one acquire. */
#include "litmus/check.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { FREE = 1, HELD = 2 };

struct locks {
    struct source *source;
    unsigned *number; /* of each declaration among the locks that the thread uses, from 1; 0: none yet */
    unsigned n;
};

static void number_locks(struct locks *locks, const struct lm_stmt *block)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        if ((s->kind == LM_ACQUIRE || s->kind == LM_RELEASE) && !locks->number[s->decl->index])
            locks->number[s->decl->index] = ++locks->n;
        number_locks(locks, s->body);
        number_locks(locks, s->other);
    }
}

static void acquire(struct locks *locks, const struct lm_stmt *s, unsigned char *state)
{
    if (*state == HELD)
        source_error(locks->source, s->pos, NULL, "`%s` is already held here", s->decl->name);
    else if (*state & HELD)
        source_error(locks->source, s->pos, "acquire and release it on the same paths",
                     "`%s` may already be held here, depending on an if", s->decl->name);
    *state = HELD;
}

static void release(struct locks *locks, const struct lm_stmt *s, unsigned char *state)
{
    if (*state == FREE)
        source_error(locks->source, s->pos, NULL, "`%s` is not held here", s->decl->name);
    else if (*state & FREE)
        source_error(locks->source, s->pos, "acquire and release it on the same paths",
                     "`%s` may not be held here, depending on an if", s->decl->name);
    *state = FREE;
}

static void walk(struct locks *locks, const struct lm_stmt *block, unsigned char *states);

static void walk_if(struct locks *locks, const struct lm_stmt *s, unsigned char *states)
{
    unsigned char *other = xmalloc(locks->n);
    memcpy(other, states, locks->n);
    walk(locks, s->body, states);
    walk(locks, s->other, other);
    for (unsigned i = 0; i < locks->n; i++)
        states[i] |= other[i];
    free(other);
}

static void walk(struct locks *locks, const struct lm_stmt *block, unsigned char *states)
{
    for (const struct lm_stmt *s = block; s; s = s->next) {
        switch (s->kind) {
        case LM_ACQUIRE:
            acquire(locks, s, &states[locks->number[s->decl->index] - 1]);
            break;
        case LM_RELEASE:
            release(locks, s, &states[locks->number[s->decl->index] - 1]);
            break;
        case LM_IF:
            walk_if(locks, s, states);
            break;
        case LM_DO:
            walk(locks, s->body, states);
            break;
        case LM_REPEAT: /* a second round shows whatever a later one could */
            walk(locks, s->body, states);
            if (s->count > 1)
                walk(locks, s->body, states);
            break;
        default:
            break;
        }
    }
}

void check_locks(struct source *source, const struct lm_test *test)
{
    struct locks locks = {.source = source};
    for (unsigned t = 0; t < test->n_threads; t++) {
        locks.number = xcalloc(test->n_decls, sizeof *locks.number);
        locks.n = 0;
        number_locks(&locks, test->threads[t].body);
        unsigned char *states = xmalloc(locks.n);
        memset(states, FREE, locks.n);
        walk(&locks, test->threads[t].body, states);
        free(states);
        free(locks.number);
    }
}
