/* See client.h. Every declaration becomes an object of the library, with a handle for each node; locations are
 * blocks of symmetric memory. */
#include "verify/client.h"

#include "base/arena.h"
#include "job/node.h"
#include "search/ir.h"
#include "verify/word_names.h"

#include <remora/remora.h>
#include <string.h>

#ifndef CLIENT_FLAT
#define CLIENT_FLAT false
#endif

enum { SV_WORK = 20, NO_WORK = REM_WORK_IDS - 1, SC_VALUE = 2 /* its place in struct rem_sc_cell */ };

union object {
    uint64_t *word;
    rem_sv sv;
    rem_wlock wlock;
    rem_slock slock;
    rem_nlock nlock;
    rem_sc sc;
    rem_object object;
};

struct frame {
    union object objects[1]; /* [declaration][node] */
};

static union object *object_of(const struct client *client, const struct world *world,
                               const struct lm_decl *decl, unsigned node)
{
    return &((struct frame *)world->frame)->objects[decl->index * client->test->nodes + node];
}

/* --- setting up --- */

static uint64_t *sc_value(const struct client *client, const union object *object)
{
    return client->sc_as == SC_AS_OBJECT ? (uint64_t *)(void *)object->object.data
                                         : (uint64_t *)(void *)object->sc.cells + SC_VALUE;
}

static int set_up_object(const struct client *client, rem_job *job, const struct lm_decl *decl, unsigned node,
                         union object *object)
{
    int home = (int)decl->node, error;
    void *word;
    switch (decl->kind) {
    case LM_LOC:
        error = rem_alloc(job, sizeof(uint64_t), &word);
        object->word = word;
        if (!error && node == decl->node)
            *object->word = decl->init;
        return error;
    case LM_SHARED:
        error = rem_sv_init(job, &object->sv);
        if (!error)
            *object->sv.word = decl->init;
        return error;
    case LM_WLOCK:
        return rem_wlock_init(job, &object->wlock, home);
    case LM_SLOCK:
        return rem_slock_init(job, &object->slock, home);
    case LM_NLOCK:
        return rem_nlock_init(job, &object->nlock, home);
    default:
        error = client->sc_as == SC_AS_OBJECT ? rem_object_init(job, &object->object, sizeof(uint64_t), home)
                                              : rem_sc_init(job, &object->sc, 1, home);
        if (!error && node == decl->node)
            *sc_value(client, object) = decl->init;
        return error;
    }
}

static void set_up(void *context, struct world *world)
{
    struct client *client = context;
    const struct lm_test *test = client->test;
    size_t size = sizeof(struct frame) + test->n_decls * test->nodes * sizeof(union object);
    for (unsigned t = 0; t < test->n_threads; t++)
        client->set_up_failed |= rem_attach(&world->jobs[test->threads[t].node], &world->threads[t]) != 0;
    world->frame = world_alloc(world, size);
    for (unsigned n = 0; n < test->nodes; n++)
        for (unsigned i = 0; i < test->n_decls; i++)
            client->set_up_failed |= set_up_object(client, &world->jobs[n], test->decls[i], n,
                                                   object_of(client, world, test->decls[i], n)) != 0;
}

/* --- statements --- */

struct actor {
    const struct client *client;
    struct world *world;
    rem_thread *thread;
    unsigned node;
    uint64_t *regs;
};

static union object *own(const struct actor *a, const struct lm_decl *decl)
{
    return object_of(a->client, a->world, decl, a->node);
}

static uint64_t value(const struct actor *a, const struct lm_expr *e)
{
    return ir_evaluate(e, a->regs);
}

static void check(const struct lm_stmt *s, int error)
{
    if (error)
        c_program_fail(&(struct c_failure){.message = rem_strerror(error), .file = "", .line = s->pos.line});
}

static void assign(const struct actor *a, const struct lm_stmt *s, uint64_t result)
{
    if (s->reg != LM_NO_REG)
        a->regs[s->reg] = result;
}

static void run_cpu(const struct actor *a, const struct lm_stmt *s)
{
    uint64_t result = 0, *word = own(a, s->decl)->word;
    if (s->decl->kind == LM_SHARED) {
        rem_sv *sv = &own(a, s->decl)->sv;
        check(s, s->kind == LM_LOAD ? rem_sv_read(a->thread, sv, &result)
                                    : rem_sv_write(a->thread, sv, value(a, s->e)));
        if (s->kind == LM_LOAD)
            assign(a, s, result);
        return;
    }
    switch (s->kind) {
    case LM_LOAD:
        assign(a, s, rem_load(a->thread, word));
        break;
    case LM_STORE:
        rem_store(a->thread, word, value(a, s->e));
        break;
    case LM_CAS:
        assign(a, s, rem_cas(a->thread, word, value(a, s->e), value(a, s->v)));
        break;
    case LM_FAA:
        assign(a, s, rem_faa(a->thread, word, value(a, s->v)));
        break;
    default:
        assign(a, s, rem_xchg(a->thread, word, value(a, s->v)));
        break;
    }
}

static void run_remote(const struct actor *a, const struct lm_stmt *s)
{
    rem_thread *thread = a->thread;
    int node = (int)s->decl->node;
    unsigned work = s->wid == LM_NO_WID ? NO_WORK : s->wid;
    uint64_t *remote = own(a, s->decl)->word, *local = s->local ? own(a, s->local)->word : NULL;
    switch (s->kind) {
    case LM_PUT:
        check(s, local ? rem_put(thread, node, remote, local, sizeof *local, work)
                       : rem_put_value(thread, node, remote, value(a, s->v), work));
        break;
    case LM_GET:
        check(s, rem_get(thread, local, node, remote, sizeof *local, work));
        break;
    case LM_RCAS:
        check(s, rem_rcas(thread, local, node, remote, value(a, s->e), value(a, s->v), work));
        break;
    default:
        check(s, rem_rfaa(thread, local, node, remote, value(a, s->v), work));
        break;
    }
}

static void run_lock(const struct actor *a, const struct lm_stmt *s)
{
    union object *o = own(a, s->decl);
    bool acquire = s->kind == LM_ACQUIRE;
    switch (s->decl->kind) {
    case LM_WLOCK:
        check(s, acquire ? rem_wlock_acquire(a->thread, &o->wlock) : rem_wlock_release(a->thread, &o->wlock));
        break;
    case LM_SLOCK:
        check(s, acquire ? rem_slock_acquire(a->thread, &o->slock) : rem_slock_release(a->thread, &o->slock));
        break;
    default:
        check(s, acquire ? rem_nlock_acquire(a->thread, &o->nlock) : rem_nlock_release(a->thread, &o->nlock));
        break;
    }
}

struct access {
    enum lm_stmt_kind kind;
    uint64_t e, v, old;
};

static int access_word(void *copy, void *argument)
{
    uint64_t *word = copy;
    struct access *access = argument;
    access->old = *word;
    if (access->kind == LM_SC_WRITE)
        *word = access->v;
    else if (access->kind == LM_SC_FAA)
        *word += access->v;
    else if (access->kind == LM_SC_CAS && *word == access->e)
        *word = access->v;
    return 0;
}

static void run_sc(const struct actor *a, const struct lm_stmt *s)
{
    union object *o = own(a, s->decl);
    struct access access = {s->kind, s->e ? value(a, s->e) : 0, s->v ? value(a, s->v) : 0, 0};
    if (a->client->sc_as == SC_AS_OBJECT)
        check(s, rem_object_call_parts(a->thread, &o->object, access_word, &access,
                                       &(struct rem_part){0, sizeof(uint64_t)}, 1));
    else if (s->kind == LM_SC_READ)
        check(s, rem_sc_read(a->thread, &o->sc, 0, &access.old));
    else if (s->kind == LM_SC_WRITE)
        check(s, rem_sc_write(a->thread, &o->sc, 0, access.v));
    else if (s->kind == LM_SC_CAS)
        check(s, rem_sc_cas(a->thread, &o->sc, 0, &access.old, access.e, access.v));
    else
        check(s, rem_sc_faa(a->thread, &o->sc, 0, &access.old, access.v));
    if (s->kind != LM_SC_WRITE)
        assign(a, s, access.old);
}

static void await(const struct actor *a, const struct lm_stmt *s)
{
    const uint64_t *word = s->decl->kind == LM_SHARED ? own(a, s->decl)->sv.word : own(a, s->decl)->word;
    const struct rem_node *node = &a->world->nodes[a->node];
    struct op op = {.kind = OP_AWAIT,
                    .cmp = (uint8_t)(s->cmp - LM_EQ),
                    .loc = (uint16_t)c_program_location(a->client->program, a->node,
                                                        (size_t)((const char *)word - node->home)),
                    .local = PROG_NO_LOC,
                    .v = value(a, s->e)};
    c_program_ask(&op);
}

static void run_block(const struct actor *a, const struct lm_stmt *s);

static void run_statement(const struct actor *a, const struct lm_stmt *s)
{
    switch (s->kind) {
    case LM_ASSIGN:
        assign(a, s, value(a, s->e));
        break;
    case LM_LOAD:
    case LM_STORE:
    case LM_CAS:
    case LM_FAA:
    case LM_XCHG:
        run_cpu(a, s);
        break;
    case LM_MFENCE:
        rem_mfence(a->thread);
        break;
    case LM_PUT:
    case LM_GET:
    case LM_RCAS:
    case LM_RFAA:
        run_remote(a, s);
        break;
    case LM_RFENCE:
        check(s, rem_rfence(a->thread, (int)s->node));
        break;
    case LM_WAIT:
        check(s, rem_wait(a->thread, s->wid));
        break;
    case LM_SVWAIT:
        check(s, rem_wait(a->thread, SV_WORK + s->wid));
        break;
    case LM_BCAST:
        check(s, rem_sv_broadcast(a->thread, &own(a, s->decl)->sv, s->nodes, SV_WORK + s->wid));
        break;
    case LM_GFENCE:
        check(s, rem_gfence(a->thread, s->all_nodes ? REM_ALL_NODES : s->nodes));
        break;
    case LM_ACQUIRE:
    case LM_RELEASE:
        run_lock(a, s);
        break;
    case LM_IF:
        run_block(a, value(a, s->e) ? s->body : s->other);
        break;
    case LM_ASSUME:
        if (!value(a, s->e))
            c_program_ask(&(struct op){.kind = OP_DROP, .loc = PROG_NO_LOC, .local = PROG_NO_LOC});
        break;
    case LM_AWAIT:
        await(a, s);
        break;
    case LM_REPEAT:
        for (uint64_t i = 0; i < s->count; i++)
            run_block(a, s->body);
        break;
    default:
        run_sc(a, s);
        break;
    }
}

static void run_block(const struct actor *a, const struct lm_stmt *s)
{
    for (; s; s = s->next)
        run_statement(a, s);
}

static void run(void *context, struct world *world, unsigned t, uint64_t *regs)
{
    const struct client *client = context;
    const struct lm_thread *thread = &client->test->threads[t];
    struct actor actor = {
        .client = client, .world = world, .thread = &world->threads[t], .node = thread->node, .regs = regs};
    for (unsigned r = 0; thread->reg_init && r < thread->n_regs; r++)
        regs[r] = thread->reg_init[r];
    unsigned number = 0;
    for (const struct lm_stmt *s = thread->body; s; s = s->next) {
        c_program_statement(number++);
        run_statement(&actor, s);
    }
}

/* --- the program --- */

static const char *unsupported(const struct lm_stmt *s)
{
    const char *why = NULL;
    for (; s && !why; s = s->next) {
        if (s->kind == LM_DO || s->kind == LM_POLL)
            return "a poll or a do-until loop in the client";
        why = unsupported(s->body);
        if (!why)
            why = unsupported(s->other);
    }
    return why;
}

static unsigned location_of(struct client *client, const struct lm_atom *atom)
{
    const struct lm_decl *decl = atom->decl;
    const struct world *world = c_program_world(client->program, 0);
    unsigned node = decl->kind == LM_SHARED ? atom->node : decl->node;
    const union object *object = object_of(client, world, decl, node);
    const uint64_t *word = decl->kind == LM_LOC      ? object->word
                           : decl->kind == LM_SHARED ? object->sv.word
                                                     : sc_value(client, object);
    return c_program_word(client->program, node, word);
}

static void find_observables(struct arena *arena, struct client *client)
{
    struct lm_atom *atoms;
    client->n_observables = observed_atoms(arena, client->test, true, &atoms);
    client->observables = ARENA_ARRAY(arena, struct observable, client->n_observables);
    for (unsigned i = 0; i < client->n_observables; i++)
        client->observables[i] = atoms[i].is_reg
                                     ? (struct observable){true, atoms[i].thread, atoms[i].reg}
                                     : (struct observable){false, 0, location_of(client, &atoms[i])};
}

const char *client_new(struct arena *arena, struct client *client, const struct lm_test *test,
                       const struct client_options *options)
{
    *client = (struct client){.test = test, .sc_as = options->sc_as};
    struct c_code code = {.shape = {.n_nodes = test->nodes, .n_threads = test->n_threads, .heap = 64 << 10},
                          .flat = CLIENT_FLAT,
                          .rerun = options->rerun,
                          .setup = set_up,
                          .body = run,
                          .context = client};
    for (unsigned t = 0; t < test->n_threads; t++) {
        const char *why = unsupported(test->threads[t].body);
        if (why)
            return why;
        code.shape.thread_node[t] = (unsigned char)test->threads[t].node;
        code.n_regs[t] = (uint16_t)test->threads[t].n_regs;
    }
    client->program = c_program_new(arena, &code, &client->program);
    if (client->set_up_failed)
        return "an object could not be initialised";
    if (c_program_fault(client->program))
        return c_program_fault(client->program);
    find_observables(arena, client);
    return NULL;
}

/* --- names --- */

static enum object_kind kind_of(const struct client *client, const struct lm_decl *decl)
{
    switch (decl->kind) {
    case LM_SHARED:
        return OBJECT_SV;
    case LM_WLOCK:
        return OBJECT_WLOCK;
    case LM_SLOCK:
        return OBJECT_SLOCK;
    case LM_NLOCK:
        return OBJECT_NLOCK;
    default:
        return client->sc_as == SC_AS_OBJECT ? OBJECT_OBJECT : OBJECT_SC;
    }
}

const char *client_location_name(struct arena *arena, const struct client *client, unsigned loc)
{
    unsigned node;
    size_t offset;
    c_program_place(client->program, loc, &node, &offset);
    const struct world *world = c_program_world(client->program, 0);
    const uint64_t *word = (const uint64_t *)(const void *)(world->nodes[node].home + offset);
    const char *name = reserved_word_name(arena, world, node, offset);
    for (unsigned i = 0; i < client->test->n_decls && !name; i++) {
        const struct lm_decl *decl = client->test->decls[i];
        const union object *object = object_of(client, world, decl, node);
        if (decl->kind != LM_LOC)
            name = object_word_name(arena, world, kind_of(client, decl), object, decl->name, node, word);
        else if (word == object->word)
            name = node == decl->node ? decl->name : arena_printf(arena, "%s@%u", decl->name, node);
    }
    return name ? name : arena_printf(arena, "word %zu of node %u", offset / sizeof *word, node);
}

bool client_is_result(const struct client *client, unsigned loc)
{
    unsigned node;
    size_t offset;
    c_program_place(client->program, loc, &node, &offset);
    return is_result_word(c_program_world(client->program, 0), node, offset);
}

enum place_word client_place_word(const struct client *client, unsigned loc)
{
    const struct world *world = c_program_world(client->program, 0);
    unsigned node;
    size_t offset;
    c_program_place(client->program, loc, &node, &offset);
    const uint64_t *word = (const uint64_t *)(const void *)(world->nodes[node].home + offset);
    enum place_word place = NO_PLACE;
    for (unsigned i = 0; i < client->test->n_decls && place == NO_PLACE; i++) {
        const struct lm_decl *decl = client->test->decls[i];
        if (decl->kind != LM_LOC)
            place =
                object_place_word(world, kind_of(client, decl), object_of(client, world, decl, node), word);
    }
    return place;
}

const char *client_held(const struct client *client, unsigned thread, uint32_t point, unsigned number,
                        uint64_t *ticket)
{
    const struct world *world = c_program_world(client->program, thread);
    for (unsigned i = 0; i < client->test->n_decls; i++) {
        const struct lm_decl *decl = client->test->decls[i];
        if (decl->kind != LM_WLOCK && decl->kind != LM_SLOCK && decl->kind != LM_NLOCK)
            continue;
        const union object *object = object_of(client, world, decl, client->test->threads[thread].node);
        const uint64_t *word = object_held(world, kind_of(client, decl), object);
        uint64_t held = word ? c_program_word_at(client->program, thread, point, word) : 0;
        if (held && number-- == 0) {
            *ticket = held - 1;
            return decl->name;
        }
    }
    return NULL;
}

const struct lm_stmt *client_statement(const struct client *client, unsigned thread, unsigned statement)
{
    const struct lm_stmt *s = client->test->threads[thread].body;
    while (s && statement--)
        s = s->next;
    return s;
}
