/* From the syntax tree of a litmus test to a program for the engines, at the client level (library calls are
 * operations) or at the level of RDMA-TSO (library calls stand expanded into the implementations of sections
 * 5 to 8: see expand.c). */
#include "search/compile.h"

#include "base/arena.h"
#include "litmus/litmus.h"

#include <stdlib.h>
#include <string.h>

struct ir *emit(struct compiler *c, enum ir_kind kind)
{
    struct ir_thread *thread = &c->ir->threads[c->t];
    if (thread->n_code == thread->capacity) {
        uint32_t capacity = thread->capacity ? 2 * thread->capacity : 32;
        struct ir *code = ARENA_ARRAY(c->arena, struct ir, capacity);
        if (thread->n_code)
            memcpy(code, thread->code, thread->n_code * sizeof *code);
        thread->code = code;
        thread->capacity = capacity;
    }
    struct ir *ir = &thread->code[thread->n_code++];
    ir->kind = kind;
    ir->dst = LM_NO_REG;
    ir->op.loc = ir->op.local = PROG_NO_LOC;
    ir->op.where = c->where;
    return ir;
}

struct ir *emit_op(struct compiler *c, enum op_kind kind, unsigned loc)
{
    struct ir *ir = emit(c, IR_OP);
    ir->op.kind = (uint8_t)kind;
    ir->op.loc = (uint16_t)loc;
    if (loc != PROG_NO_LOC)
        ir->op.node = (uint8_t)c->locs[loc].node;
    return ir;
}

uint32_t emitted(const struct compiler *c)
{
    return c->ir->threads[c->t].n_code;
}

struct ir *instruction(struct compiler *c, uint32_t at)
{
    return &c->ir->threads[c->t].code[at];
}

uint16_t add_location(struct compiler *c, const char *name, unsigned node, unsigned owner, uint64_t init)
{
    if (c->n_locs == PROG_MAX_LOCS) {
        c->why = "more than 1,024 locations, those of library implementations included";
        return 0;
    }
    c->locs[c->n_locs] = (struct prog_loc){name, (uint16_t)node, (uint16_t)owner, init, LOC_PLAIN};
    return (uint16_t)c->n_locs++;
}

static uint16_t loc_of(const struct compiler *c, const struct lm_decl *decl)
{
    unsigned first = c->first_loc[decl->index];
    return (uint16_t)(decl->kind == LM_SHARED ? first + c->ir->base.thread_node[c->t] : first);
}

static uint8_t wid_of(struct compiler *c, uint32_t wid, bool sv)
{
    if (wid == LM_NO_WID)
        return PROG_NO_WID;
    const struct lm_thread *thread = &c->test->threads[c->t];
    uint32_t id = 1 + wid + (sv && c->level == LEVEL_TSO ? thread->n_wids : 0);
    if (id > PROG_MAX_WIDS - PRIVATE_WIDS)
        c->why = "more than 250 work ids in one thread";
    return (uint8_t)id;
}

static uint32_t new_where(struct compiler *c, const struct lm_stmt *stmt, const char *part)
{
    struct ir_program *ir = c->ir;
    if (ir->n_wheres == ir->where_capacity) {
        uint32_t capacity = ir->where_capacity ? 2 * ir->where_capacity : 64;
        struct ir_where *wheres = ARENA_ARRAY(c->arena, struct ir_where, capacity);
        if (ir->n_wheres)
            memcpy(wheres, ir->wheres, ir->n_wheres * sizeof *wheres);
        ir->wheres = wheres;
        ir->where_capacity = capacity;
    }
    ir->wheres[ir->n_wheres] = (struct ir_where){stmt, c->t, part};
    return ir->n_wheres++;
}

void part_of(struct compiler *c, const char *part)
{
    c->where = new_where(c, c->stmt, part);
}

static void compile_cpu(struct compiler *c, const struct lm_stmt *s)
{
    static const enum op_kind kinds[] = {[LM_LOAD] = OP_LOAD,
                                         [LM_STORE] = OP_STORE,
                                         [LM_CAS] = OP_CAS,
                                         [LM_FAA] = OP_FAA,
                                         [LM_XCHG] = OP_XCHG};
    enum op_kind kind = kinds[s->kind];
    if (s->decl->kind == LM_SHARED && c->level == LEVEL_CLIENT)
        kind = s->kind == LM_LOAD ? OP_SV_READ : OP_SV_WRITE;
    struct ir *ir = emit_op(c, kind, loc_of(c, s->decl));
    ir->dst = s->reg;
    ir->e = s->kind == LM_CAS ? s->e : NULL;
    ir->v = s->kind == LM_STORE ? s->e : s->v;
    if (c->level == LEVEL_CLIENT)
        ir->op.object = (uint16_t)s->decl->index;
}

static void compile_remote(struct compiler *c, const struct lm_stmt *s)
{
    static const enum op_kind kinds[] = {
        [LM_PUT] = OP_PUT, [LM_GET] = OP_GET, [LM_RCAS] = OP_RCAS, [LM_RFAA] = OP_RFAA};
    struct ir *ir = emit_op(c, kinds[s->kind], loc_of(c, s->decl));
    if (s->local)
        ir->op.local = loc_of(c, s->local);
    ir->op.wid = wid_of(c, s->wid, false);
    ir->e = s->kind == LM_RCAS ? s->e : NULL;
    ir->v = s->v;
}

static void compile_await(struct compiler *c, const struct lm_stmt *s)
{
    struct ir *ir = emit_op(c, OP_AWAIT, loc_of(c, s->decl));
    ir->op.cmp = (uint8_t)(s->cmp - LM_EQ);
    ir->v = s->e;
}

static void compile_block(struct compiler *c, const struct lm_stmt *s);

static void compile_if(struct compiler *c, const struct lm_stmt *s)
{
    uint32_t branch = emitted(c);
    emit(c, IR_BRANCH)->e = s->e;
    compile_block(c, s->body);
    uint32_t leave = emitted(c);
    if (s->other)
        emit(c, IR_GOTO);
    instruction(c, branch)->target = emitted(c);
    if (s->other) {
        compile_block(c, s->other);
        instruction(c, leave)->target = emitted(c);
    }
}

static void compile_do(struct compiler *c, const struct lm_stmt *s)
{
    emit(c, IR_SPIN)->op.kind = OP_SPIN_BEGIN;
    uint32_t where = c->where;
    compile_block(c, s->body);
    c->where = where;
    struct ir *ir = emit(c, IR_UNTIL);
    ir->op.kind = OP_SPIN_FAIL;
    ir->e = s->e;
}

/* Operations of libraries at the client level, where they stay what they are. */
static void compile_call(struct compiler *c, const struct lm_stmt *s)
{
    static const enum op_kind kinds[] = {
        [LM_SVWAIT] = OP_SV_WAIT,    [LM_BCAST] = OP_SV_BCAST,  [LM_GFENCE] = OP_GFENCE,
        [LM_ACQUIRE] = OP_ACQUIRE,   [LM_RELEASE] = OP_RELEASE, [LM_SC_READ] = OP_SC_READ,
        [LM_SC_WRITE] = OP_SC_WRITE, [LM_SC_CAS] = OP_SC_CAS,   [LM_SC_FAA] = OP_SC_FAA};
    bool lock = s->kind == LM_ACQUIRE || s->kind == LM_RELEASE;
    struct ir *ir = emit_op(c, kinds[s->kind], s->decl && !lock ? loc_of(c, s->decl) : PROG_NO_LOC);
    ir->dst = s->reg;
    ir->e = s->e;
    ir->v = s->v;
    if (s->decl)
        ir->op.object = lock ? c->lock_index[s->decl->index] : (uint16_t)s->decl->index;
    ir->op.nodes = s->kind == LM_GFENCE && s->all_nodes ? c->all_nodes : s->nodes;
    ir->op.wid = s->kind == LM_SVWAIT || s->kind == LM_BCAST ? wid_of(c, s->wid, true) : PROG_NO_WID;
}

static void compile_library(struct compiler *c, const struct lm_stmt *s)
{
    if (c->level == LEVEL_CLIENT) {
        compile_call(c, s);
        return;
    }
    uint8_t wid = s->kind == LM_SVWAIT || s->kind == LM_BCAST ? wid_of(c, s->wid, true) : PROG_NO_WID;
    uint64_t nodes = s->kind == LM_GFENCE && s->all_nodes ? c->all_nodes : s->nodes;
    expand_call(c, s, wid, nodes);
}

static void compile_stmt(struct compiler *c, const struct lm_stmt *s)
{
    struct ir *ir;
    switch (s->kind) {
    case LM_ASSIGN:
        ir = emit(c, IR_SET);
        ir->dst = s->reg;
        ir->e = s->e;
        break;
    case LM_LOAD:
    case LM_STORE:
    case LM_CAS:
    case LM_FAA:
    case LM_XCHG:
        compile_cpu(c, s);
        break;
    case LM_MFENCE:
        emit_op(c, OP_MFENCE, PROG_NO_LOC);
        break;
    case LM_PUT:
    case LM_GET:
    case LM_RCAS:
    case LM_RFAA:
        compile_remote(c, s);
        break;
    case LM_RFENCE:
    case LM_POLL:
        emit_op(c, s->kind == LM_POLL ? OP_POLL : OP_RFENCE, PROG_NO_LOC)->op.node = (uint8_t)s->node;
        break;
    case LM_WAIT:
        emit_op(c, OP_WAIT, PROG_NO_LOC)->op.wid = wid_of(c, s->wid, false);
        break;
    case LM_IF:
        compile_if(c, s);
        break;
    case LM_ASSUME:
        ir = emit(c, IR_ASSUME);
        ir->op.kind = OP_DROP;
        ir->e = s->e;
        break;
    case LM_AWAIT:
        compile_await(c, s);
        break;
    case LM_DO:
        compile_do(c, s);
        break;
    case LM_REPEAT:
        for (uint64_t i = 0; i < s->count; i++)
            compile_block(c, s->body);
        break;
    default:
        compile_library(c, s);
        break;
    }
}

static void compile_block(struct compiler *c, const struct lm_stmt *s)
{
    for (; s && !c->why; s = s->next) {
        c->stmt = s;
        c->where = new_where(c, s, NULL);
        compile_stmt(c, s);
    }
}

static void compile_thread(struct compiler *c, unsigned t)
{
    const struct lm_thread *thread = &c->test->threads[t];
    c->t = t;
    c->stmt = NULL;
    c->where = new_where(c, NULL, NULL);
    c->n_regs = thread->n_regs;
    for (unsigned r = 0; thread->reg_init && r < thread->n_regs; r++)
        if (thread->reg_init[r]) {
            struct lm_expr *value = ARENA_NEW(c->arena, struct lm_expr);
            value->kind = LM_INT;
            value->value = thread->reg_init[r];
            struct ir *ir = emit(c, IR_SET);
            ir->dst = r;
            ir->e = value;
        }
    compile_block(c, thread->body);
    emit(c, IR_END)->op.kind = OP_END;
    c->ir->base.n_regs[t] = (uint16_t)c->n_regs;
}

static void declare(struct compiler *c, const struct lm_decl *decl)
{
    c->first_loc[decl->index] = c->n_locs;
    switch (decl->kind) {
    case LM_LOC:
    case LM_SC:
        c->locs[add_location(c, decl->name, decl->node, UINT16_MAX, decl->init)].kind =
            decl->kind == LM_SC ? LOC_SC : LOC_PLAIN;
        break;
    case LM_SHARED:
        for (unsigned n = 0; n < c->test->nodes; n++)
            c->locs[add_location(c, arena_printf(c->arena, "%s@%u", decl->name, n), n, UINT16_MAX,
                                 decl->init)]
                .kind = LOC_SHARED;
        break;
    default:
        c->lock_index[decl->index] = (uint16_t)c->ir->base.n_locks;
        c->locks[c->ir->base.n_locks++] = (struct prog_lock){decl->name,
                                                             decl->kind == LM_WLOCK   ? LOCK_WEAK
                                                             : decl->kind == LM_SLOCK ? LOCK_STRONG
                                                                                      : LOCK_NODE,
                                                             (uint8_t)decl->node};
        break;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct named_atom *x = a, *y = b;
    if (x->atom.is_reg != y->atom.is_reg)
        return x->atom.is_reg ? -1 : 1;
    if (x->atom.is_reg && x->atom.thread != y->atom.thread)
        return x->atom.thread < y->atom.thread ? -1 : 1;
    int order = strverscmp(x->name, y->name);
    return order ? order : (x->atom.node > y->atom.node) - (x->atom.node < y->atom.node);
}

static void collect(const struct lm_test *test, struct atom_list *list, const struct lm_atom *atom)
{
    if (list->n == list->capacity) {
        unsigned capacity = list->capacity ? 2 * list->capacity : 16;
        struct named_atom *atoms = ARENA_ARRAY(list->arena, struct named_atom, capacity);
        if (list->n)
            memcpy(atoms, list->atoms, list->n * sizeof *atoms);
        list->atoms = atoms;
        list->capacity = capacity;
    }
    struct named_atom *entry = &list->atoms[list->n++];
    entry->atom = *atom;
    if (!atom->is_reg && atom->decl->kind != LM_SHARED)
        entry->atom.node = 0;
    entry->name = atom->is_reg ? test->threads[atom->thread].regs[atom->reg] : atom->decl->name;
}

static void collect_cond(const struct lm_test *test, struct atom_list *list, const struct lm_cond *cond)
{
    if (!cond)
        return;
    if (cond->kind == LM_C_EQ)
        collect(test, list, &cond->atom);
    collect_cond(test, list, cond->a);
    collect_cond(test, list, cond->b);
}

static void collect_all(const struct lm_test *test, struct atom_list *list)
{
    for (unsigned t = 0; t < test->n_threads; t++)
        for (unsigned r = 0; r < test->threads[t].n_regs; r++)
            collect(test, list, &(struct lm_atom){.is_reg = true, .thread = t, .reg = r});
    for (unsigned i = 0; i < test->n_decls; i++) {
        struct lm_decl *decl = test->decls[i];
        unsigned copies = decl->kind == LM_SHARED ? test->nodes : decl->kind == LM_LOC || decl->kind == LM_SC;
        for (unsigned n = 0; n < copies; n++)
            collect(test, list, &(struct lm_atom){.decl = decl, .node = n});
    }
}

unsigned observed_atoms(struct arena *arena, const struct lm_test *test, bool all_state,
                        struct lm_atom **atoms)
{
    struct atom_list list = {.arena = arena};
    for (unsigned i = 0; i < test->n_locations; i++)
        collect(test, &list, &test->locations[i]);
    collect_cond(test, &list, test->cond);
    if (all_state)
        collect_all(test, &list);
    if (list.n)
        qsort(list.atoms, list.n, sizeof *list.atoms, by_name);
    *atoms = ARENA_ARRAY(arena, struct lm_atom, list.n);
    unsigned n = 0;
    for (unsigned i = 0; i < list.n; i++)
        if (i == 0 || by_name(&list.atoms[i - 1], &list.atoms[i]) != 0)
            (*atoms)[n++] = list.atoms[i].atom;
    return n;
}

static void find_observables(struct compiler *c, bool all_state, struct compiled *out)
{
    struct lm_atom *atoms;
    out->n_observables = observed_atoms(c->arena, c->test, all_state, &atoms);
    out->observables = ARENA_ARRAY(c->arena, struct observable, out->n_observables);
    for (unsigned i = 0; i < out->n_observables; i++) {
        const struct lm_atom *atom = &atoms[i];
        struct observable *o = &out->observables[i];
        if (atom->is_reg)
            *o = (struct observable){true, atom->thread, atom->reg};
        else
            *o = (struct observable){
                false, 0, c->first_loc[atom->decl->index] + (atom->decl->kind == LM_SHARED ? atom->node : 0)};
    }
}

struct compiled compile_test(struct arena *arena, const struct lm_test *test, enum level level,
                             bool all_state)
{
    struct compiled out = {0};
    struct ir_program *ir = ARENA_NEW(arena, struct ir_program);
    struct compiler *c = ARENA_NEW(arena, struct compiler);
    *c = (struct compiler){.arena = arena, .test = test, .level = level, .ir = ir};
    c->locs = ARENA_ARRAY(arena, struct prog_loc, PROG_MAX_LOCS);
    c->locks = ARENA_ARRAY(arena, struct prog_lock, test->n_decls);
    c->first_loc = ARENA_ARRAY(arena, unsigned, test->n_decls);
    c->lock_index = ARENA_ARRAY(arena, uint16_t, test->n_decls);
    c->all_nodes = test->nodes == 64 ? UINT64_MAX : (UINT64_C(1) << test->nodes) - 1;
    ir->arena = arena;
    ir->test = test;
    ir->threads = ARENA_ARRAY(arena, struct ir_thread, test->n_threads);
    ir->base.ops = &ir_ops;
    ir->base.tso = test->arch == LM_RDMA_TSO;
    ir->base.n_threads = test->n_threads;
    ir->base.n_nodes = test->nodes;
    for (unsigned t = 0; t < test->n_threads; t++)
        ir->base.thread_node[t] = (uint8_t)test->threads[t].node;
    for (unsigned i = 0; i < test->n_decls && !c->why; i++)
        declare(c, test->decls[i]);
    if (level == LEVEL_TSO && !c->why)
        expand_declare(c);
    for (unsigned t = 0; t < test->n_threads && !c->why; t++)
        compile_thread(c, t);
    out.why = c->why;
    if (c->why)
        return out;
    ir->base.locs = c->locs;
    ir->base.n_locs = c->n_locs;
    ir->base.locks = c->locks;
    ir->base.loc_words = (c->n_locs + 63) / 64;
    find_observables(c, all_state, &out);
    ir_analyse(ir, out.observables, out.n_observables);
    ir_classify(ir, out.observables, out.n_observables);
    out.program = &ir->base;
    return out;
}
