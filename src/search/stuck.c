/* A run is stuck when it cannot go on and is not complete (semantics, section 2): a poll with nothing left to
 * poll, an await that can't come true, a lock that is never handed over. Some tests plainly have no such run:
 *
 * - every poll finds more operations issued before it towards its node than were polled, on every path; each
 * of those operations completes whatever else happens;
 * - there is no await and no do-until;
 * - a thread that holds a lock goes on to release it without acquiring another, so that every lock is handed
 * on.
 *
 * For them the engine that does not look for stuck runs may answer alone. */
#include "search/stuck.h"

#include <string.h>

struct path {
    const struct lm_decl *held;      /* the one lock held, or NULL */
    uint32_t unpolled[LM_MAX_NODES]; /* at least so many completions are still to come, per node */
};

static bool walk(const struct lm_stmt *stmt, struct path *path);

/* Both ways out of an if must hold the same lock; of completions, only those that both ways leave are sure.
 */
static bool walk_if(const struct lm_stmt *stmt, struct path *path)
{
    struct path other = *path;
    if (walk(stmt->body, path) || walk(stmt->other, &other) || path->held != other.held)
        return true;
    for (unsigned n = 0; n < LM_MAX_NODES; n++)
        if (other.unpolled[n] < path->unpolled[n])
            path->unpolled[n] = other.unpolled[n];
    return false;
}

static bool walk_one(const struct lm_stmt *stmt, struct path *path)
{
    switch (stmt->kind) {
    case LM_AWAIT:
    case LM_DO:
        return true;
    case LM_PUT:
    case LM_GET:
    case LM_RCAS:
    case LM_RFAA:
        path->unpolled[stmt->decl->node]++;
        return false;
    case LM_POLL:
        return path->unpolled[stmt->node]-- == 0;
    case LM_ACQUIRE:
        if (path->held)
            return true;
        path->held = stmt->decl;
        return false;
    case LM_RELEASE:
        path->held = NULL;
        return false;
    case LM_SC_READ:
    case LM_SC_WRITE:
    case LM_SC_CAS:
    case LM_SC_FAA:
        return path->held != NULL; /* takes the location's own lock */
    case LM_IF:
        return walk_if(stmt, path);
    case LM_REPEAT:
        for (uint64_t i = 0; i < stmt->count; i++)
            if (walk(stmt->body, path))
                return true;
        return false;
    default:
        return false;
    }
}

static bool walk(const struct lm_stmt *stmt, struct path *path)
{
    for (; stmt; stmt = stmt->next)
        if (walk_one(stmt, path))
            return true;
    return false;
}

bool test_can_get_stuck(const struct lm_test *test)
{
    for (unsigned t = 0; t < test->n_threads; t++) {
        struct path path;
        memset(&path, 0, sizeof path);
        if (walk(test->threads[t].body, &path) || path.held)
            return true;
    }
    return false;
}

static bool assumes(const struct lm_stmt *stmt)
{
    for (; stmt; stmt = stmt->next)
        if (stmt->kind == LM_ASSUME || assumes(stmt->body) || assumes(stmt->other))
            return true;
    return false;
}

bool test_can_drop(const struct lm_test *test)
{
    for (unsigned t = 0; t < test->n_threads; t++)
        if (assumes(test->threads[t].body))
            return true;
    return false;
}
