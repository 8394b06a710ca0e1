/* Statements (remora-litmus(5), THREADS): a call is looked up in one table of operations, its
 * arguments are checked against the table's signature and put into the fields of the statement that the
 * signature names. */
#include "litmus/resolve.h"

#include "base/arena.h"

#include <string.h>

/* A signature has one letter for each argument:
 *   L  location of the own node, for the CPU       S  shared variable    K  lock     C  sc location
 *   l  location of the own node, NIC writes it     R  location of any node
 *   p  source of a put: location of the own node, or a value
 *   e  value (field e)    v  value (field v)       n  node               N  set of nodes
 *   w  work id            b  work id of sv
 * `required` is how many must be given; work ids, and the set of gfence, may be left out. */
struct operation {
    const char *name;
    enum lm_stmt_kind kind;
    const char *signature;
    unsigned required;
    bool result;
    enum { ANY, TSO_ONLY, WAIT_ONLY, LIBRARY } where;
    const char *usage;
};

static const struct operation operations[] = {
    {"cas", LM_CAS, "Lev", 3, true, ANY, "r = cas(x, expected, new)"},
    {"faa", LM_FAA, "Lv", 2, true, ANY, "r = faa(x, increment)"},
    {"xchg", LM_XCHG, "Lv", 2, true, ANY, "r = xchg(x, value)"},
    {"mfence", LM_MFENCE, "", 0, false, ANY, "mfence()"},
    {"put", LM_PUT, "Rpw", 2, false, ANY, "put(remote, local or value, work id)"},
    {"get", LM_GET, "lRw", 2, false, ANY, "get(local, remote, work id)"},
    {"rcas", LM_RCAS, "lRevw", 4, false, ANY, "rcas(local, remote, expected, new, work id)"},
    {"rfaa", LM_RFAA, "lRvw", 3, false, ANY, "rfaa(local, remote, increment, work id)"},
    {"rfence", LM_RFENCE, "n", 1, false, ANY, "rfence(node)"},
    {"poll", LM_POLL, "n", 1, false, TSO_ONLY, "poll(node)"},
    {"wait", LM_WAIT, "w", 1, false, WAIT_ONLY, "wait(work id)"},
    {"sv_wait", LM_SVWAIT, "b", 1, false, LIBRARY, "sv_wait(work id)"},
    {"bcast", LM_BCAST, "SNb", 2, false, LIBRARY, "bcast(s, {nodes}, work id)"},
    {"gfence", LM_GFENCE, "N", 0, false, LIBRARY, "gfence({nodes}) or gfence()"},
    {"acquire", LM_ACQUIRE, "K", 1, false, LIBRARY, "acquire(lock)"},
    {"release", LM_RELEASE, "K", 1, false, LIBRARY, "release(lock)"},
    {"sc_read", LM_SC_READ, "C", 1, true, LIBRARY, "r = sc_read(v)"},
    {"sc_write", LM_SC_WRITE, "Cv", 2, false, LIBRARY, "sc_write(v, value)"},
    {"sc_cas", LM_SC_CAS, "Cev", 3, true, LIBRARY, "r = sc_cas(v, expected, new)"},
    {"sc_faa", LM_SC_FAA, "Cv", 2, true, LIBRARY, "r = sc_faa(v, increment)"},
};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };

static bool is_lock(enum lm_decl_kind kind)
{
    return kind == LM_WLOCK || kind == LM_SLOCK || kind == LM_NLOCK;
}

static unsigned own_node(const struct resolver *r)
{
    return r->test->threads[r->thread].node;
}

static bool is_remote(const struct resolver *r, const struct lm_decl *decl)
{
    return decl->kind == LM_LOC && decl->node != own_node(r);
}

static unsigned register_number(struct resolver *r, const char *name)
{
    return names_add(&r->threads[r->thread].regs, r->test->arena, name);
}

/* What to write to reach a declared name from a place where only values can stand. */
static const char *value_hint(struct resolver *r, const struct lm_decl *decl)
{
    if (decl->kind == LM_SC)
        return RESOLVE_PRINTF(r, "read it into a register first: r = sc_read(%s);", decl->name);
    if (is_lock(decl->kind))
        return RESOLVE_PRINTF(r, "acquire(%s) and release(%s) are what a lock is for", decl->name,
                              decl->name);
    if (is_remote(r, decl))
        return RESOLVE_PRINTF(r, "it is on another node: get it into a local location, and load that");
    return RESOLVE_PRINTF(r, "load it into a register first: r = %s;", decl->name);
}

static struct lm_expr *resolve_expr(struct resolver *r, const struct raw_expr *raw)
{
    struct lm_expr *expr = ARENA_NEW(r->test->arena, struct lm_expr);
    static const enum lm_expr_kind kinds[] = {
        [RAW_INT] = LM_INT, [RAW_NAME] = LM_REG, [RAW_UNARY] = LM_UNARY, [RAW_BINARY] = LM_BINARY};
    expr->kind = kinds[raw->kind];
    expr->op = raw->op;
    expr->value = raw->value;
    expr->pos = raw->pos;
    if (raw->kind == RAW_NAME) {
        const struct lm_decl *decl = resolve_find(r, raw->name);
        if (decl)
            source_error(r->source, raw->pos, value_hint(r, decl), "`%s` is %s, a value is expected",
                         raw->name, resolve_kind_name(decl->kind));
        else
            expr->reg = register_number(r, raw->name);
    }
    if (raw->a)
        expr->a = resolve_expr(r, raw->a);
    if (raw->b)
        expr->b = resolve_expr(r, raw->b);
    return expr;
}

/* The declaration that an argument names, if it is of the wanted kind; else an error. */
static struct lm_decl *named(struct resolver *r, const struct raw_arg *arg, const char *operation,
                             const char *wanted)
{
    if (!arg->expr || arg->expr->kind != RAW_NAME) {
        source_error(r->source, arg->pos, NULL, "%s needs %s here", operation, wanted);
        return NULL;
    }
    struct lm_decl *decl = resolve_find(r, arg->expr->name);
    if (!decl)
        source_error(r->source, arg->pos,
                     resolve_hint(r, arg->expr->name, "names are declared in the initial state"),
                     "`%s` is not declared, %s needs %s here", arg->expr->name, operation, wanted);
    return decl;
}

static void refuse_remote(struct resolver *r, const struct lm_decl *decl, struct lm_pos pos, const char *hint)
{
    source_error(r->source, pos, hint, "`%s` is on node %u, but P%u runs on node %u", decl->name, decl->node,
                 r->thread, own_node(r));
}

static struct lm_decl *location_arg(struct resolver *r, const struct raw_arg *arg, const struct operation *op,
                                    char letter)
{
    struct lm_decl *decl = named(r, arg, op->name, letter == 'R' ? "a location" : "a local location");
    if (!decl)
        return NULL;
    if (decl->kind != LM_LOC) {
        source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage),
                     "`%s` is %s, %s needs a location here", decl->name, resolve_kind_name(decl->kind),
                     op->name);
        return NULL;
    }
    if (letter == 'R' || !is_remote(r, decl))
        return decl;
    refuse_remote(r, decl, arg->pos,
                  letter == 'l' ? RESOLVE_PRINTF(r, "%s writes its result to the own node", op->name)
                                : "the CPU reaches its own node only: there are rcas and rfaa");
    return NULL;
}

static struct lm_decl *library_arg(struct resolver *r, const struct raw_arg *arg, const struct operation *op,
                                   char letter)
{
    const char *wanted = letter == 'S' ? "a shared variable" : letter == 'K' ? "a lock" : "an sc location";
    struct lm_decl *decl = named(r, arg, op->name, wanted);
    if (!decl)
        return NULL;
    bool right = letter == 'S'   ? decl->kind == LM_SHARED
                 : letter == 'K' ? is_lock(decl->kind)
                                 : decl->kind == LM_SC;
    if (!right)
        source_error(r->source, arg->pos, NULL, "`%s` is %s, %s needs %s", decl->name,
                     resolve_kind_name(decl->kind), op->name, wanted);
    return right ? decl : NULL;
}

static void put_source(struct resolver *r, const struct raw_arg *arg, struct lm_stmt *stmt)
{
    if (!arg->expr) {
        source_error(r->source, arg->pos, NULL, "put needs a local location or a value here");
        return;
    }
    struct lm_decl *decl = arg->expr->kind == RAW_NAME ? resolve_find(r, arg->expr->name) : NULL;
    if (!decl || decl->kind != LM_LOC) {
        stmt->v = resolve_expr(r, arg->expr);
        return;
    }
    stmt->local = decl;
    if (is_remote(r, decl))
        refuse_remote(r, decl, arg->pos, "a put sends from a location of the own node, or a value");
}

static bool node_arg(struct resolver *r, const struct raw_arg *arg, const struct operation *op,
                     unsigned *node)
{
    if (!arg->expr || arg->expr->kind != RAW_INT) {
        source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage), "%s needs the number of a node",
                     op->name);
        return false;
    }
    struct raw_integer integer = {.value = arg->expr->value, .pos = arg->pos};
    return resolve_node(r, &integer, node);
}

static void nodes_arg(struct resolver *r, const struct raw_arg *arg, const struct operation *op,
                      struct lm_stmt *stmt)
{
    if (arg->expr) {
        source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage),
                     "%s needs a set of nodes here, such as {0, 2}", op->name);
        return;
    }
    for (const struct raw_integers *item = arg->set; item; item = item->next) {
        unsigned node;
        if (!resolve_node(r, &item->integer, &node))
            continue;
        if (stmt->nodes >> node & 1)
            source_error(r->source, item->integer.pos, NULL, "node %u is in the set twice", node);
        stmt->nodes |= UINT64_C(1) << node;
    }
}

static void work_id(struct resolver *r, const struct raw_arg *arg, const struct operation *op,
                    struct names *ids, struct lm_stmt *stmt)
{
    if (r->test->arch == LM_RDMA_TSO) {
        source_error(r->source, arg->pos, "leave it out, and poll(node), or make it an RDMA_WAIT test",
                     "%s has no work id in RDMA_TSO", op->name);
        return;
    }
    if (!arg->expr || arg->expr->kind != RAW_NAME) {
        source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage),
                     "the work id of %s must be a name", op->name);
        return;
    }
    const struct lm_decl *decl = resolve_find(r, arg->expr->name);
    if (decl) {
        source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage),
                     "`%s` is %s, %s needs a work id here", decl->name, resolve_kind_name(decl->kind),
                     op->name);
        return;
    }
    stmt->wid = names_add(ids, r->test->arena, arg->expr->name);
}

static void resolve_arg(struct resolver *r, const struct operation *op, char letter,
                        const struct raw_arg *arg, struct lm_stmt *stmt)
{
    struct thread_names *names = &r->threads[r->thread];
    switch (letter) {
    case 'L':
    case 'R':
        stmt->decl = location_arg(r, arg, op, letter);
        break;
    case 'l':
        stmt->local = location_arg(r, arg, op, letter);
        break;
    case 'S':
    case 'K':
    case 'C':
        stmt->decl = library_arg(r, arg, op, letter);
        break;
    case 'p':
        put_source(r, arg, stmt);
        break;
    case 'n':
        node_arg(r, arg, op, &stmt->node);
        break;
    case 'N':
        nodes_arg(r, arg, op, stmt);
        break;
    case 'w':
    case 'b':
        work_id(r, arg, op, letter == 'w' ? &names->wids : &names->svwids, stmt);
        break;
    default:
        if (arg->expr)
            *(letter == 'e' ? &stmt->e : &stmt->v) = resolve_expr(r, arg->expr);
        else
            source_error(r->source, arg->pos, RESOLVE_PRINTF(r, "%s", op->usage), "%s needs a value here",
                         op->name);
    }
}

static const struct operation *find_operation(struct resolver *r, const struct raw_word *callee)
{
    for (size_t i = 0; i < N_OPERATIONS; i++)
        if (!strcmp(operations[i].name, callee->text))
            return &operations[i];
    struct guess guess = guess_start(callee->text);
    for (size_t i = 0; i < N_OPERATIONS; i++)
        guess_consider(&guess, operations[i].name);
    source_error(r->source, callee->pos, guess_hint(&guess, r->source->arena), "there is no operation `%s`",
                 callee->text);
    return NULL;
}

static bool check_arch(struct resolver *r, const struct raw_stmt *raw, const struct operation *op)
{
    bool tso = r->test->arch == LM_RDMA_TSO;
    if (op->where == ANY || (op->where == TSO_ONLY) == tso)
        return true;
    const char *hint =
        tso ? (op->where == LIBRARY ? "the libraries need RDMA_WAIT in the first line"
                                    : "RDMA_TSO has poll(node); wait needs RDMA_WAIT in the first line")
            : "RDMA_WAIT has wait(work id)";
    source_error(r->source, raw->callee.pos, hint, "%s in an %s test", op->name,
                 tso ? "RDMA_TSO" : "RDMA_WAIT");
    return false;
}

static bool check_arity(struct resolver *r, const struct raw_stmt *raw, const struct operation *op)
{
    size_t given = 0, most = strlen(op->signature);
    for (const struct raw_arg *arg = raw->args; arg; arg = arg->next)
        given++;
    if (given >= op->required && given <= most)
        return true;
    const char *range = op->required < most ? RESOLVE_PRINTF(r, "%u or %zu", op->required, most)
                                            : RESOLVE_PRINTF(r, "%zu", most);
    source_error(r->source, raw->callee.pos, RESOLVE_PRINTF(r, "%s", op->usage),
                 "%s takes %s argument%s, not %zu", op->name, range, most == 1 ? "" : "s", given);
    return false;
}

static void resolve_target(struct resolver *r, const struct raw_stmt *raw, const struct operation *op,
                           struct lm_stmt *stmt)
{
    if (!raw->target.text)
        return;
    const struct lm_decl *decl = resolve_find(r, raw->target.text);
    if (!op->result)
        source_error(r->source, raw->target.pos, RESOLVE_PRINTF(r, "%s", op->usage), "%s has no result",
                     op->name);
    else if (decl)
        source_error(r->source, raw->target.pos, "take the result into a register, and store that",
                     "`%s` is %s, the result of %s goes to a register", decl->name,
                     resolve_kind_name(decl->kind), op->name);
    else
        stmt->reg = register_number(r, raw->target.text);
}

static void resolve_call(struct resolver *r, const struct raw_stmt *raw, struct lm_stmt *stmt)
{
    const struct operation *op = find_operation(r, &raw->callee);
    if (!op || !check_arch(r, raw, op) || !check_arity(r, raw, op))
        return;
    stmt->kind = op->kind;
    r->test->has_libraries |= op->where == LIBRARY;
    resolve_target(r, raw, op, stmt);
    const char *letter = op->signature;
    for (const struct raw_arg *arg = raw->args; arg; arg = arg->next)
        resolve_arg(r, op, *letter++, arg, stmt);
    stmt->all_nodes = op->kind == LM_GFENCE && !raw->args;
}

/* x = e, for a declared x */
static void resolve_store(struct resolver *r, const struct raw_stmt *raw, struct lm_decl *decl,
                          struct lm_stmt *stmt)
{
    stmt->kind = LM_STORE;
    stmt->decl = decl;
    if (is_remote(r, decl))
        refuse_remote(r, decl, raw->target.pos,
                      RESOLVE_PRINTF(r, "the CPU stores to its own node only; put(%s, …) writes to another",
                                     decl->name));
    else if (decl->kind == LM_SC)
        source_error(r->source, raw->target.pos, RESOLVE_PRINTF(r, "sc_write(%s, …)", decl->name),
                     "`%s` is an sc location, it cannot be stored to", decl->name);
    else if (decl->kind == LM_SHARED)
        r->test->has_libraries = true;
    else if (decl->kind != LM_LOC)
        source_error(r->source, raw->target.pos, value_hint(r, decl), "`%s` is %s, it cannot be stored to",
                     decl->name, resolve_kind_name(decl->kind));
    stmt->e = resolve_expr(r, raw->expr);
}

/* r = x, for a declared x */
static void resolve_load(struct resolver *r, const struct raw_stmt *raw, struct lm_decl *decl,
                         struct lm_stmt *stmt)
{
    stmt->kind = LM_LOAD;
    stmt->decl = decl;
    if (is_remote(r, decl))
        refuse_remote(r, decl, raw->expr->pos,
                      RESOLVE_PRINTF(r, "the CPU loads from its own node only; get(…, %s) reads from another",
                                     decl->name));
    else if (decl->kind == LM_SHARED)
        r->test->has_libraries = true;
    else if (decl->kind != LM_LOC)
        source_error(r->source, raw->expr->pos, value_hint(r, decl), "`%s` is %s, it cannot be loaded",
                     decl->name, resolve_kind_name(decl->kind));
}

static void resolve_assign(struct resolver *r, const struct raw_stmt *raw, struct lm_stmt *stmt)
{
    struct lm_decl *target = resolve_find(r, raw->target.text);
    if (target) {
        resolve_store(r, raw, target, stmt);
        return;
    }
    struct lm_decl *source = raw->expr->kind == RAW_NAME ? resolve_find(r, raw->expr->name) : NULL;
    if (source) {
        resolve_load(r, raw, source, stmt);
    } else {
        stmt->kind = LM_ASSIGN;
        stmt->e = resolve_expr(r, raw->expr);
    }
    stmt->reg = register_number(r, raw->target.text);
}

static bool is_declared(struct resolver *r, const struct raw_expr *raw)
{
    return raw->kind == RAW_NAME && resolve_find(r, raw->name);
}

/* x == e as it is, e == x turned round */
static void resolve_await(struct resolver *r, const struct raw_stmt *raw, struct lm_stmt *stmt)
{
    static const enum lm_op mirrored[] = {
        [LM_EQ] = LM_EQ, [LM_NE] = LM_NE, [LM_LT] = LM_GT, [LM_LE] = LM_GE, [LM_GT] = LM_LT, [LM_GE] = LM_LE};
    const struct raw_expr *place = raw->expr, *value = NULL;
    stmt->kind = LM_AWAIT;
    if (raw->expr->kind == RAW_BINARY && raw->expr->op >= LM_EQ && raw->expr->op <= LM_GE) {
        bool turned = !is_declared(r, raw->expr->a) && is_declared(r, raw->expr->b);
        stmt->cmp = turned ? mirrored[raw->expr->op] : raw->expr->op;
        place = turned ? raw->expr->b : raw->expr->a;
        value = turned ? raw->expr->a : raw->expr->b;
    }
    if (!value || !is_declared(r, place)) {
        bool misspelt = place->kind == RAW_NAME && !is_declared(r, place);
        const char *hint = misspelt ? resolve_hint(r, place->name, NULL) : NULL;
        source_error(r->source, raw->expr->pos,
                     hint ? hint : "await(x == 1); for registers there is assume(…)",
                     "await compares one location with a value");
        return;
    }
    stmt->decl = resolve_find(r, place->name);
    if (stmt->decl->kind != LM_LOC)
        source_error(r->source, place->pos,
                     stmt->decl->kind == LM_SHARED ? "do { r = s; } until (r == …); waits for a copy" : NULL,
                     "`%s` is %s, await needs a location", stmt->decl->name,
                     resolve_kind_name(stmt->decl->kind));
    else if (is_remote(r, stmt->decl))
        refuse_remote(r, stmt->decl, place->pos, "get it in a do { … } until (…) loop");
    stmt->e = resolve_expr(r, value);
}

static struct lm_stmt *resolve_stmt(struct resolver *r, const struct raw_stmt *raw)
{
    struct lm_stmt *stmt = ARENA_NEW(r->test->arena, struct lm_stmt);
    stmt->pos = raw->pos;
    stmt->reg = LM_NO_REG;
    stmt->wid = LM_NO_WID;
    switch (raw->kind) {
    case RAW_ASSIGN:
        resolve_assign(r, raw, stmt);
        return stmt;
    case RAW_CALL:
        resolve_call(r, raw, stmt);
        return stmt;
    case RAW_AWAIT:
        resolve_await(r, raw, stmt);
        return stmt;
    case RAW_IF:
        stmt->kind = LM_IF;
        break;
    case RAW_ASSUME:
        stmt->kind = LM_ASSUME;
        break;
    case RAW_DO:
        stmt->kind = LM_DO;
        break;
    case RAW_REPEAT:
        stmt->kind = LM_REPEAT;
        stmt->count = raw->count.value;
        if (stmt->count == 0)
            source_error(r->source, raw->count.pos, NULL, "repeat (0) does nothing");
        break;
    }
    /* A do's body comes before its condition in the source, so it also numbers its registers first. */
    if (raw->expr && raw->kind != RAW_DO)
        stmt->e = resolve_expr(r, raw->expr);
    stmt->body = resolve_block(r, raw->body);
    stmt->other = resolve_block(r, raw->other);
    if (raw->kind == RAW_DO)
        stmt->e = resolve_expr(r, raw->expr);
    return stmt;
}

struct lm_stmt *resolve_block(struct resolver *r, const struct raw_stmt *raw)
{
    struct lm_stmt *first = NULL, **end = &first;
    for (; raw; raw = raw->next) {
        *end = resolve_stmt(r, raw);
        end = &(*end)->next;
    }
    return first;
}
