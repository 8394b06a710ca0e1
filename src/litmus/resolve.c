/* Names to meanings: the initial state and the threads of a native test (remora-litmus(5), INITIAL STATE).
 * Statements and the condition are in resolve_stmt.c and resolve_cond.c. Goes on after an error, so that one
 * run shows them all. */
#include "litmus/resolve.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

struct lm_decl *resolve_find(struct resolver *r, const char *name)
{
    unsigned found = names_find(&r->decls, name);
    return found == NAMES_NONE ? NULL : r->test->decls[found];
}

const char *resolve_hint(struct resolver *r, const char *name, const char *otherwise)
{
    if (!source_has_room(r->source, LM_ERROR))
        return NULL;
    struct guess guess = guess_start(name);
    for (unsigned i = 0; i < r->decls.n; i++)
        guess_consider(&guess, r->decls.list[i]);
    const char *hint = guess_hint(&guess, r->source->arena);
    return hint ? hint : otherwise;
}

const char *resolve_kind_name(enum lm_decl_kind kind)
{
    static const char *const names[] = {
        [LM_LOC] = "a location", [LM_SHARED] = "a shared variable", [LM_WLOCK] = "a wlock",
        [LM_SLOCK] = "an slock", [LM_NLOCK] = "an nlock",           [LM_SC] = "an sc location",
    };
    return names[kind];
}

bool resolve_node(struct resolver *r, const struct raw_integer *integer, unsigned *node)
{
    if (integer->value >= LM_MAX_NODES) {
        source_error(r->source, integer->pos, NULL, "node %llu is out of range: nodes are numbered 0 to %d",
                     (unsigned long long)integer->value, LM_MAX_NODES - 1);
        return false;
    }
    unsigned value = (unsigned)integer->value;
    if (r->raw->has_nodes && value >= r->test->nodes) {
        const char *hint = RESOLVE_PRINTF(r, "the initial state says `nodes %u;`", r->test->nodes);
        source_error(r->source, integer->pos, hint, "node %u is out of range: there %s %u node%s", value,
                     r->test->nodes == 1 ? "is" : "are", r->test->nodes, r->test->nodes == 1 ? "" : "s");
        return false;
    }
    if (value >= r->test->nodes)
        r->test->nodes = value + 1;
    *node = value;
    return true;
}

static bool resolve_header(struct resolver *r)
{
    struct lm_test *test = r->test;
    test->name = r->raw->name.text;
    test->arch = strcmp(r->raw->arch.text, "RDMA_TSO") ? LM_RDMA_WAIT : LM_RDMA_TSO;
    for (const struct raw_docs *doc = r->raw->docs; doc; doc = doc->next)
        test->n_docs++;
    test->docs = ARENA_ARRAY(test->arena, const char *, test->n_docs);
    unsigned n = 0;
    for (const struct raw_docs *doc = r->raw->docs; doc; doc = doc->next)
        test->docs[n++] = doc->text;
    if (!r->raw->has_nodes)
        return true;
    if (r->raw->nodes.value == 0 || r->raw->nodes.value > LM_MAX_NODES) {
        source_error(r->source, r->raw->nodes.pos, NULL, "a test has 1 to %d nodes", LM_MAX_NODES);
        return false;
    }
    test->nodes = (unsigned)r->raw->nodes.value;
    return true;
}

static void resolve_decl(struct resolver *r, const struct raw_decl *raw)
{
    struct lm_decl *earlier = resolve_find(r, raw->name.text);
    if (earlier) {
        const char *hint = RESOLVE_PRINTF(r, "first declared in line %u", earlier->pos.line);
        source_error(r->source, raw->name.pos, hint, "`%s` is declared twice", raw->name.text);
        return;
    }
    if (raw->kind != LM_LOC && r->test->arch == LM_RDMA_TSO)
        source_error(r->source, raw->name.pos, "the libraries need RDMA_WAIT in the first line",
                     "%s in an RDMA_TSO test", resolve_kind_name(raw->kind));
    struct lm_decl *decl = ARENA_NEW(r->test->arena, struct lm_decl);
    decl->kind = raw->kind;
    decl->name = raw->name.text;
    decl->pos = raw->name.pos;
    decl->init = raw->init;
    if (raw->kind != LM_SHARED)
        resolve_node(r, &raw->node, &decl->node);
    decl->index = names_add(&r->decls, r->test->arena, decl->name);
    r->test->decls[r->test->n_decls++] = decl;
}

static bool resolve_decls(struct resolver *r)
{
    size_t count = 0;
    for (const struct raw_decl *raw = r->raw->decls; raw; raw = raw->next)
        count++;
    if (count > RAW_MAX_DECLS)
        source_error(r->source, r->raw->decls->name.pos, NULL, "more than %d names are declared",
                     RAW_MAX_DECLS);
    if (count > RAW_MAX_DECLS)
        return false;
    r->test->decls = ARENA_ARRAY(r->test->arena, struct lm_decl *, count);
    for (const struct raw_decl *raw = r->raw->decls; raw; raw = raw->next)
        resolve_decl(r, raw);
    return true;
}

/* Thread heads come before any statement: a condition or a message may speak of a later thread. */
static bool resolve_heads(struct resolver *r)
{
    unsigned count = 0;
    for (const struct raw_thread *raw = r->raw->threads; raw; raw = raw->next, count++) {
        if (count == LM_MAX_THREADS) {
            source_error(r->source, raw->name.pos, NULL, "a test has at most %d threads", LM_MAX_THREADS);
            return false;
        }
        const char *expected = RESOLVE_PRINTF(r, "P%u", count);
        if (strcmp(raw->name.text, expected)) {
            source_error(r->source, raw->name.pos, "threads are numbered P0, P1, P2 and so on, in this order",
                         "thread `%s` where P%u is expected", raw->name.text, count);
            return false;
        }
    }
    r->test->threads = ARENA_ARRAY(r->test->arena, struct lm_thread, count);
    r->threads = ARENA_ARRAY(r->test->arena, struct thread_names, count);
    r->test->n_threads = count;
    struct lm_thread *thread = r->test->threads;
    for (const struct raw_thread *raw = r->raw->threads; raw; raw = raw->next, thread++) {
        thread->pos = raw->name.pos;
        resolve_node(r, &raw->node, &thread->node);
    }
    return true;
}

static void resolve_bodies(struct resolver *r)
{
    r->thread = 0;
    for (const struct raw_thread *raw = r->raw->threads; raw; raw = raw->next, r->thread++)
        r->test->threads[r->thread].body = resolve_block(r, raw->body);
}

/* Registers and work ids are numbered while statements and condition are read; here the threads get the
 * tables. */
static void hand_over_names(struct resolver *r)
{
    for (unsigned t = 0; t < r->test->n_threads; t++) {
        struct lm_thread *thread = &r->test->threads[t];
        const struct thread_names *names = &r->threads[t];
        thread->regs = names->regs.list;
        thread->n_regs = names->regs.n;
        thread->reg_init = ARENA_ARRAY(r->test->arena, uint64_t, thread->n_regs);
        thread->wids = names->wids.list;
        thread->n_wids = names->wids.n;
        thread->svwids = names->svwids.list;
        thread->n_svwids = names->svwids.n;
    }
}

/* gfence() means all nodes, whose number is known only at the end. */
static void fill_all_nodes(struct lm_stmt *block, uint64_t all)
{
    for (struct lm_stmt *s = block; s; s = s->next) {
        if (s->all_nodes)
            s->nodes = all;
        fill_all_nodes(s->body, all);
        fill_all_nodes(s->other, all);
    }
}

struct lm_test *native_resolve(struct source *source, const struct raw_test *raw)
{
    struct lm_test *test = ARENA_NEW(source->arena, struct lm_test);
    struct resolver r = {.source = source, .raw = raw, .test = test};
    test->arena = source->arena;
    test->file = source->file;
    test->syntax = LM_NATIVE;
    if (!resolve_header(&r) || !resolve_decls(&r) || !resolve_heads(&r))
        return NULL;
    resolve_bodies(&r);
    resolve_condition(&r);
    hand_over_names(&r);
    uint64_t all = test->nodes >= 64 ? UINT64_MAX : (UINT64_C(1) << test->nodes) - 1;
    for (unsigned t = 0; t < test->n_threads; t++)
        fill_all_nodes(test->threads[t].body, all);
    return source->n_errors ? NULL : test;
}
