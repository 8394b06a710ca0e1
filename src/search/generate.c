/* Random litmus tests (generate.h). A thread's statements are drawn one by one from those that make sense
 * where they stand: a poll where something is left to poll, a wait for a work id that something carries, a
 * lock that is held only once. What makes no sense is drawn now and then too, as far as the language allows
 * it. Values are few and small, so that they collide. */
#include "search/generate.h"

#include "base/arena.h"
#include "litmus/litmus.h"
#include "base/random.h"

#include <string.h>

enum { MAX_REGS = 32, WIDS = 2, MAX_LOCS = 3, LARGEST_VALUE = 2 };

struct writer {
    struct arena *arena;
    const struct generate_options *options;
    uint64_t random;
    struct lm_test *test;
    struct lm_decl *sv, *lock, *sc; /* the library objects of this test, or NULL */
    /* the thread at work: */
    unsigned t;
    struct lm_decl *scratch; /* its private location, for results of remote operations */
    struct lm_stmt **tail;
    unsigned unpolled[LM_MAX_NODES];
    bool wid_used[WIDS], svwid_used[WIDS];
    bool in_lock;
};

static unsigned below(struct writer *w, unsigned n)
{
    return random_below(&w->random, n);
}

static bool percent(struct writer *w, unsigned p)
{
    return random_percent(&w->random, p);
}

static struct lm_decl *declare(struct writer *w, enum lm_decl_kind kind, const char *name, unsigned node,
                               uint64_t init)
{
    struct lm_decl *decl = ARENA_NEW(w->arena, struct lm_decl);
    *decl =
        (struct lm_decl){.kind = kind, .name = name, .index = w->test->n_decls, .node = node, .init = init};
    w->test->decls[w->test->n_decls++] = decl;
    return decl;
}

static struct lm_stmt *append(struct writer *w, enum lm_stmt_kind kind)
{
    struct lm_stmt *stmt = ARENA_NEW(w->arena, struct lm_stmt);
    *stmt = (struct lm_stmt){.kind = kind, .reg = LM_NO_REG, .wid = LM_NO_WID};
    *w->tail = stmt;
    w->tail = &stmt->next;
    return stmt;
}

static struct lm_thread *thread(const struct writer *w)
{
    return &w->test->threads[w->t];
}

static struct lm_expr *constant(struct writer *w, uint64_t value)
{
    struct lm_expr *e = ARENA_NEW(w->arena, struct lm_expr);
    *e = (struct lm_expr){.kind = LM_INT, .value = value};
    return e;
}

static struct lm_expr *some_register(struct writer *w)
{
    struct lm_expr *e = ARENA_NEW(w->arena, struct lm_expr);
    *e = (struct lm_expr){.kind = LM_REG, .reg = below(w, thread(w)->n_regs)};
    return e;
}

/* A value to write or to add: mostly a constant, sometimes what was read before. */
static struct lm_expr *some_value(struct writer *w)
{
    if (thread(w)->n_regs && percent(w, 15))
        return some_register(w);
    return constant(w, 1 + below(w, LARGEST_VALUE));
}

static struct lm_expr *expected_value(struct writer *w)
{
    return constant(w, below(w, LARGEST_VALUE + 1));
}

static uint32_t fresh_register(struct writer *w)
{
    struct lm_thread *thread_ = thread(w);
    if (thread_->n_regs == MAX_REGS)
        return below(w, MAX_REGS);
    thread_->regs[thread_->n_regs] = arena_printf(w->arena, "r%u", thread_->n_regs);
    return thread_->n_regs++;
}

/* A location of the kind LM_LOC, of the own node or of any; NULL if there is none. */
static struct lm_decl *some_location(struct writer *w, bool own_node)
{
    struct lm_decl *candidates[MAX_LOCS];
    unsigned n = 0;
    for (unsigned i = 0; i < w->test->n_decls && n < MAX_LOCS; i++) {
        struct lm_decl *decl = w->test->decls[i];
        if (decl->kind == LM_LOC && strlen(decl->name) == 1 && (!own_node || decl->node == thread(w)->node))
            candidates[n++] = decl;
    }
    return n ? candidates[below(w, n)] : NULL;
}

/* Where a remote operation reads or writes locally: a shared location of the node, or the thread's own one.
 */
static struct lm_decl *local_location(struct writer *w)
{
    struct lm_decl *decl = some_location(w, true);
    if (decl && percent(w, 60))
        return decl;
    if (!w->scratch)
        w->scratch = declare(w, LM_LOC, arena_printf(w->arena, "p%u", w->t), thread(w)->node, 0);
    return w->scratch;
}

static void add_wid(struct writer *w, struct lm_stmt *stmt)
{
    if (w->options->arch == LM_RDMA_TSO || percent(w, 25))
        return;
    stmt->wid = below(w, WIDS);
    w->wid_used[stmt->wid] = true;
}

static void remote_operation(struct writer *w)
{
    static const enum lm_stmt_kind kinds[] = {LM_PUT, LM_PUT, LM_PUT, LM_GET, LM_GET, LM_RCAS, LM_RFAA};
    struct lm_stmt *stmt = append(w, kinds[below(w, sizeof kinds / sizeof *kinds)]);
    stmt->decl = some_location(w, false);
    if (stmt->kind != LM_PUT || percent(w, 40))
        stmt->local = local_location(w);
    else
        stmt->v = some_value(w);
    if (stmt->kind == LM_RCAS || stmt->kind == LM_RFAA)
        stmt->v = some_value(w);
    if (stmt->kind == LM_RCAS)
        stmt->e = expected_value(w);
    w->unpolled[stmt->decl->node]++;
    add_wid(w, stmt);
}

static void cpu_operation(struct writer *w)
{
    static const enum lm_stmt_kind kinds[] = {LM_LOAD,  LM_LOAD, LM_LOAD, LM_STORE, LM_STORE,
                                              LM_STORE, LM_CAS,  LM_FAA,  LM_XCHG,  LM_MFENCE};
    enum lm_stmt_kind kind = kinds[below(w, sizeof kinds / sizeof *kinds)];
    struct lm_decl *decl = NULL;
    if (kind != LM_MFENCE && !(w->scratch && percent(w, 30)))
        decl = some_location(w, true);
    if (kind != LM_MFENCE && !decl)
        decl = local_location(w);
    struct lm_expr *v = some_value(w), *e = expected_value(w); /* before the result has a register */
    struct lm_stmt *stmt = append(w, kind);
    stmt->decl = decl;
    if (kind != LM_STORE && kind != LM_MFENCE)
        stmt->reg = fresh_register(w);
    if (kind != LM_LOAD && kind != LM_MFENCE)
        *(kind == LM_STORE ? &stmt->e : &stmt->v) = v;
    if (kind == LM_CAS)
        stmt->e = e;
}

/* poll, wait and remote fence: what orders or waits for remote operations. */
static void synchronise(struct writer *w)
{
    unsigned node = below(w, w->test->nodes);
    if (percent(w, 35)) {
        append(w, LM_RFENCE)->node = node;
        return;
    }
    if (w->options->arch == LM_RDMA_WAIT) {
        unsigned wid = below(w, WIDS);
        if (w->wid_used[wid] || percent(w, 3))
            append(w, LM_WAIT)->wid = wid;
        return;
    }
    for (unsigned i = 0; i < w->test->nodes && !w->unpolled[node]; i++)
        node = (node + 1) % w->test->nodes;
    if (w->unpolled[node] || percent(w, 3)) {
        append(w, LM_POLL)->node = node;
        w->unpolled[node] -= w->unpolled[node] > 0;
    }
}

static void blocking_operation(struct writer *w)
{
    struct lm_decl *decl = some_location(w, true);
    if (!decl)
        return;
    struct lm_stmt *stmt = append(w, percent(w, 70) ? LM_AWAIT : LM_DO);
    if (stmt->kind == LM_AWAIT) {
        stmt->decl = decl;
        stmt->cmp = percent(w, 50) ? LM_EQ : LM_GE;
        stmt->e = constant(w, 1);
        return;
    }
    struct lm_stmt **outer = w->tail;
    w->tail = &stmt->body;
    struct lm_stmt *load = append(w, LM_LOAD);
    w->tail = outer;
    load->decl = decl;
    load->reg = fresh_register(w);
    stmt->e = ARENA_NEW(w->arena, struct lm_expr);
    *stmt->e = (struct lm_expr){
        .kind = LM_BINARY, .op = LM_GE, .a = ARENA_NEW(w->arena, struct lm_expr), .b = constant(w, 1)};
    *stmt->e->a = (struct lm_expr){.kind = LM_REG, .reg = load->reg};
}

static void sv_operation(struct writer *w)
{
    unsigned which = below(w, 8);
    unsigned all = (1u << w->test->nodes) - 1;
    struct lm_stmt *stmt;
    struct lm_expr *value = some_value(w);
    if (which < 2) {
        stmt = append(w, LM_STORE);
        stmt->e = value;
        stmt->decl = w->sv;
    } else if (which < 4) {
        stmt = append(w, LM_LOAD);
        stmt->decl = w->sv;
        stmt->reg = fresh_register(w);
    } else if (which < 6) {
        stmt = append(w, LM_BCAST);
        stmt->decl = w->sv;
        stmt->nodes = 1 + below(w, all);
        stmt->wid = below(w, WIDS);
        w->svwid_used[stmt->wid] = true;
    } else if (which == 6) {
        unsigned wid = below(w, WIDS);
        if (w->svwid_used[wid])
            append(w, LM_SVWAIT)->wid = wid;
    } else {
        stmt = append(w, LM_GFENCE);
        stmt->nodes = 1 + below(w, all);
    }
}

static void sc_operation(struct writer *w)
{
    static const enum lm_stmt_kind kinds[] = {LM_SC_READ,  LM_SC_READ, LM_SC_WRITE,
                                              LM_SC_WRITE, LM_SC_CAS,  LM_SC_FAA};
    struct lm_expr *v = some_value(w), *e = expected_value(w);
    struct lm_stmt *stmt = append(w, kinds[below(w, sizeof kinds / sizeof *kinds)]);
    stmt->decl = w->sc;
    if (stmt->kind != LM_SC_WRITE)
        stmt->reg = fresh_register(w);
    if (stmt->kind != LM_SC_READ)
        stmt->v = v;
    if (stmt->kind == LM_SC_CAS)
        stmt->e = e;
}

static void plain_operation(struct writer *w)
{
    unsigned dice = below(w, 100);
    if (dice < 40)
        remote_operation(w);
    else if (dice < 78)
        cpu_operation(w);
    else if (dice < 97)
        synchronise(w);
    else
        blocking_operation(w);
}

static void critical_section(struct writer *w)
{
    append(w, LM_ACQUIRE)->decl = w->lock;
    w->in_lock = true;
    for (unsigned n = 1 + below(w, 2); n; n--)
        percent(w, 50) ? remote_operation(w) : cpu_operation(w);
    w->in_lock = false;
    append(w, LM_RELEASE)->decl = w->lock;
}

static void library_operation(struct writer *w)
{
    struct lm_decl *objects[3];
    unsigned n = 0;
    if (w->sv)
        objects[n++] = w->sv;
    if (w->lock)
        objects[n++] = w->lock;
    if (w->sc)
        objects[n++] = w->sc;
    struct lm_decl *object = objects[below(w, n)];
    if (object == w->sv)
        sv_operation(w);
    else if (object == w->lock)
        critical_section(w);
    else
        sc_operation(w);
}

static void conditional(struct writer *w)
{
    struct lm_expr *test = ARENA_NEW(w->arena, struct lm_expr);
    *test = (struct lm_expr){.kind = LM_BINARY,
                             .op = percent(w, 50) ? LM_EQ : LM_NE,
                             .a = some_register(w),
                             .b = expected_value(w)};
    struct lm_stmt *stmt = append(w, LM_IF);
    stmt->e = test;
    unsigned unpolled[LM_MAX_NODES];
    memcpy(unpolled, w->unpolled, sizeof unpolled);
    struct lm_stmt **outer = w->tail;
    w->tail = &stmt->body;
    percent(w, 50) ? remote_operation(w) : cpu_operation(w);
    if (percent(w, 30)) {
        w->tail = &stmt->other;
        percent(w, 50) ? remote_operation(w) : cpu_operation(w);
    }
    w->tail = outer;
    memcpy(w->unpolled, unpolled, sizeof unpolled); /* not sure to have happened */
}

static void write_thread(struct writer *w)
{
    w->scratch = NULL;
    w->tail = &thread(w)->body;
    memset(w->unpolled, 0, sizeof w->unpolled);
    memset(w->wid_used, 0, sizeof w->wid_used);
    memset(w->svwid_used, 0, sizeof w->svwid_used);
    bool has_objects = w->sv || w->lock || w->sc;
    unsigned ops = 2 + below(w, w->options->ops - 1);
    while (ops--) {
        if (has_objects && percent(w, 40))
            library_operation(w);
        else if (thread(w)->n_regs && percent(w, 8))
            conditional(w);
        else
            plain_operation(w);
    }
    if (!thread(w)->body)
        append(w, LM_MFENCE);
}

static void declare_objects(struct writer *w)
{
    static const char *const names[MAX_LOCS] = {"x", "y", "z"};
    static const enum lm_decl_kind locks[] = {LM_WLOCK, LM_SLOCK, LM_NLOCK};
    unsigned n = 1 + below(w, MAX_LOCS);
    for (unsigned i = 0; i < n; i++)
        declare(w, LM_LOC, names[i], below(w, w->test->nodes), percent(w, 15));
    if (!w->options->libraries || w->options->arch != LM_RDMA_WAIT)
        return;
    unsigned which = below(w, 4);
    if (which == 0 || which == 3)
        w->sv = declare(w, LM_SHARED, "s", 0, 0);
    if (which == 1 || (which == 3 && percent(w, 50)))
        w->lock = declare(w, locks[below(w, 3)], "l", below(w, w->test->nodes), 0);
    if (which == 2)
        w->sc = declare(w, LM_SC, "v", below(w, w->test->nodes), 0);
}

static void start_threads(struct writer *w)
{
    struct lm_test *test = w->test;
    test->threads = ARENA_ARRAY(w->arena, struct lm_thread, test->n_threads);
    for (unsigned t = 0; t < test->n_threads; t++) {
        struct lm_thread *thread_ = &test->threads[t];
        /* mostly where a shared location is, so that the processor has something to do too */
        thread_->node = percent(w, 75) ? some_location(w, false)->node : below(w, test->nodes);
        thread_->regs = ARENA_ARRAY(w->arena, const char *, MAX_REGS);
        thread_->reg_init = ARENA_ARRAY(w->arena, uint64_t, MAX_REGS);
        thread_->n_wids = thread_->n_svwids = WIDS;
        thread_->wids = ARENA_ARRAY(w->arena, const char *, WIDS);
        thread_->svwids = ARENA_ARRAY(w->arena, const char *, WIDS);
        thread_->wids[0] = thread_->svwids[0] = "d";
        thread_->wids[1] = thread_->svwids[1] = "e";
    }
}

struct lm_test *generate_test(struct arena *arena, const struct generate_options *options, uint64_t seed)
{
    struct lm_test *test = ARENA_NEW(arena, struct lm_test);
    struct writer w = {.arena = arena, .options = options, .random = seed, .test = test};
    test->arena = arena;
    test->file = test->name = arena_printf(arena, "fuzz-%016llx", (unsigned long long)seed);
    test->arch = options->arch;
    test->n_threads = 2 + below(&w, options->threads - 1);
    test->nodes = 1 + below(&w, options->nodes);
    test->decls = ARENA_ARRAY(arena, struct lm_decl *, 16 + LM_MAX_THREADS);
    test->cond = ARENA_NEW(arena, struct lm_cond);
    test->cond->kind = LM_C_TRUE;
    declare_objects(&w);
    start_threads(&w);
    for (w.t = 0; w.t < test->n_threads; w.t++)
        write_thread(&w);
    test->has_libraries = w.sv || w.lock || w.sc;
    return reparse_test(arena, test, true);
}
