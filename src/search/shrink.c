/* Reduction of a test to a smallest one that keeps a property (generate.h): every possible edit is tried on a
 * fresh copy; the first one that keeps the property is taken, until no edit does. Large edits come first.
 * Copies are made by printing and parsing, so an edit may leave loose ends (a register that nothing sets, a
 * name that is gone): what is no valid test is not taken. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "search/engine.h"
#include "search/generate.h"

#include <string.h>

/* Registers that some statement sets, every location, every copy of a shared variable. */
static void observe_everything(struct lm_test *test)
{
    test->n_locations = 0;
    test->locations = NULL;
    struct lm_atom *atoms;
    test->n_locations = observed_atoms(test->arena, test, true, &atoms);
    test->locations = atoms;
}

struct lm_test *reparse_test(struct arena *arena, struct lm_test *test, bool observe)
{
    for (int round = 0; round <= (observe ? 1 : 0) && test; round++) {
        if (round)
            observe_everything(test);
        else if (observe)
            test->n_locations = 0;
        const char *text = lm_print_test(arena, test);
        test = lm_parse_text(arena, test->name, text, strlen(text)).test;
    }
    return test;
}

/* An edit is a number. Each kind of edit counts down as it goes over the places where it could be made, and
 * is made where the count is used up. */
struct edit {
    struct lm_test *test;
    unsigned countdown;
    bool done;
};

static bool here(struct edit *edit)
{
    if (edit->done || edit->countdown-- > 0)
        return false;
    return edit->done = true;
}

static void drop_threads(struct edit *edit)
{
    struct lm_test *test = edit->test;
    for (unsigned t = 0; t < test->n_threads && test->n_threads > 1; t++)
        if (here(edit)) {
            memmove(&test->threads[t], &test->threads[t + 1],
                    (test->n_threads - t - 1) * sizeof *test->threads);
            test->n_threads--;
            return;
        }
}

static void drop_decls(struct edit *edit)
{
    struct lm_test *test = edit->test;
    for (unsigned i = 0; i < test->n_decls; i++)
        if (here(edit)) {
            memmove(&test->decls[i], &test->decls[i + 1], (test->n_decls - i - 1) * sizeof *test->decls);
            test->n_decls--;
            return;
        }
}

static bool is_block(const struct lm_stmt *stmt)
{
    return stmt->kind == LM_IF || stmt->kind == LM_DO || stmt->kind == LM_REPEAT;
}

static struct lm_stmt **end_of(struct lm_stmt **link)
{
    while (*link)
        link = &(*link)->next;
    return link;
}

/* Puts one of a statement's blocks in its place. */
static void unwrap(struct lm_stmt **link, struct lm_stmt *block)
{
    struct lm_stmt *next = (*link)->next;
    *link = block;
    *end_of(link) = next;
}

/* `drop`: whole statements; else: the frame of an if, do or repeat. */
static void edit_block(struct edit *edit, struct lm_stmt **link, bool drop)
{
    for (; *link && !edit->done; link = &(*link)->next) {
        struct lm_stmt *stmt = *link;
        if (drop && here(edit)) {
            *link = stmt->next;
            return;
        }
        if (!drop && is_block(stmt) && here(edit)) {
            unwrap(link, stmt->body);
            return;
        }
        if (!drop && stmt->kind == LM_IF && stmt->other && here(edit)) {
            unwrap(link, stmt->other);
            return;
        }
        edit_block(edit, &stmt->body, drop);
        edit_block(edit, &stmt->other, drop);
    }
}

/* Acquire and release of one thread and lock go together. */
static void drop_locking(struct edit *edit)
{
    struct lm_test *test = edit->test;
    for (unsigned t = 0; t < test->n_threads; t++)
        for (unsigned i = 0; i < test->n_decls; i++) {
            const struct lm_decl *lock = test->decls[i];
            if ((lock->kind != LM_WLOCK && lock->kind != LM_SLOCK && lock->kind != LM_NLOCK) || !here(edit))
                continue;
            struct lm_stmt **link = &test->threads[t].body;
            while (*link) {
                bool locking = (*link)->kind == LM_ACQUIRE || (*link)->kind == LM_RELEASE;
                if (locking && (*link)->decl == lock)
                    *link = (*link)->next;
                else
                    link = &(*link)->next;
            }
            return;
        }
}

static void rename_node(struct lm_stmt *stmt, unsigned from)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == LM_RFENCE || stmt->kind == LM_POLL)
            stmt->node -= stmt->node == from;
        if (stmt->nodes >> from & 1)
            stmt->nodes = (stmt->nodes & ~(UINT64_C(1) << from)) | UINT64_C(1) << (from - 1);
        rename_node(stmt->body, from);
        rename_node(stmt->other, from);
    }
}

/* The last node becomes the one before it. */
static void merge_nodes(struct edit *edit)
{
    struct lm_test *test = edit->test;
    if (test->nodes < 2 || !here(edit))
        return;
    unsigned last = test->nodes - 1;
    for (unsigned i = 0; i < test->n_decls; i++)
        test->decls[i]->node -= test->decls[i]->node == last;
    for (unsigned t = 0; t < test->n_threads; t++) {
        test->threads[t].node -= test->threads[t].node == last;
        rename_node(test->threads[t].body, last);
    }
    test->nodes--;
}

static void simplify_expr(struct edit *edit, struct lm_expr *e, uint64_t value)
{
    if (!e || (e->kind == LM_INT && e->value <= value) || !here(edit))
        return;
    *e = (struct lm_expr){.kind = LM_INT, .value = value};
}

static void simplify_stmt(struct edit *edit, struct lm_stmt *stmt)
{
    bool remote_rmw = stmt->kind == LM_RCAS || stmt->kind == LM_RFAA;
    if (remote_rmw && here(edit))
        stmt->kind = LM_GET;
    else if (stmt->kind == LM_RCAS && here(edit))
        stmt->kind = LM_RFAA;
    else if ((stmt->kind == LM_CAS || stmt->kind == LM_FAA || stmt->kind == LM_XCHG) && here(edit))
        stmt->kind = LM_LOAD;
    else if (stmt->kind == LM_CAS && here(edit))
        stmt->kind = LM_FAA;
    else if (stmt->kind == LM_PUT && stmt->local && here(edit)) {
        stmt->local = NULL;
        stmt->v = ARENA_NEW(edit->test->arena, struct lm_expr);
        *stmt->v = (struct lm_expr){.kind = LM_INT, .value = 1};
    } else if (stmt->wid != LM_NO_WID && stmt->kind != LM_WAIT && stmt->kind != LM_SVWAIT && here(edit))
        stmt->wid = LM_NO_WID;
    else if ((stmt->kind == LM_BCAST || stmt->kind == LM_GFENCE) && (stmt->nodes & (stmt->nodes - 1)) &&
             here(edit))
        stmt->nodes &= stmt->nodes - 1;
    if (stmt->kind != LM_DO)
        simplify_expr(edit, stmt->e, stmt->kind == LM_IF ? 0 : 1);
    simplify_expr(edit, stmt->v, 1);
    simplify_expr(edit, stmt->v, 0);
}

static void simplify_block(struct edit *edit, struct lm_stmt *stmt)
{
    for (; stmt && !edit->done; stmt = stmt->next) {
        simplify_stmt(edit, stmt);
        simplify_block(edit, stmt->body);
        simplify_block(edit, stmt->other);
    }
}

static void zero_initial_values(struct edit *edit)
{
    for (unsigned i = 0; i < edit->test->n_decls; i++)
        if (edit->test->decls[i]->init && here(edit))
            edit->test->decls[i]->init = 0;
}

/* Makes edit number `number`; false if there are fewer. */
static bool make_edit(struct lm_test *test, unsigned number)
{
    struct edit edit = {.test = test, .countdown = number};
    drop_threads(&edit);
    for (unsigned t = 0; t < test->n_threads; t++)
        edit_block(&edit, &test->threads[t].body, true);
    drop_locking(&edit);
    for (unsigned t = 0; t < test->n_threads; t++)
        edit_block(&edit, &test->threads[t].body, false);
    if (!edit.done)
        drop_decls(&edit);
    if (!edit.done)
        merge_nodes(&edit);
    for (unsigned t = 0; t < test->n_threads; t++)
        simplify_block(&edit, test->threads[t].body);
    zero_initial_values(&edit);
    return edit.done;
}

struct lm_test *shrink_test(struct arena *arena, struct lm_test *test,
                            bool (*keeps)(void *, const struct lm_test *), void *context)
{
    for (unsigned number = 0;;) {
        struct arena *scratch = arena_new();
        struct lm_test *candidate = reparse_test(scratch, test, false);
        bool more = candidate && make_edit(candidate, number);
        if (more)
            candidate = reparse_test(scratch, candidate, true);
        bool taken = more && candidate && keeps(context, candidate);
        if (taken)
            test = reparse_test(arena, candidate, false);
        arena_free(scratch);
        if (!more)
            return test;
        number = taken ? 0 : number + 1;
    }
}
