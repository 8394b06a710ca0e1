/* From herd's x86 table to the raw form of a native RDMA_TSO test with one node (remora-litmus(5), X86
 * TESTS). Every access is to a whole location, whatever the instruction's size; sizes matter only to
 * immediates, initial values and register arithmetic, which are cut to them. Initial registers become
 * assignments at the start of their thread. */
#include "litmus/x86.h"

#include "base/arena.h"
#include "litmus/x86_names.h"

#include <string.h>
#include <strings.h>

struct translation;
struct place;

struct mnemonic {
    const char *name;
    unsigned operands;
    void (*translate)(struct translation *, const struct place *, const struct place *);
    enum { NO_LOCK, MAY_LOCK, MUST_LOCK } memory; /* a memory destination and the LOCK prefix */
};

struct translation {
    struct source *source;
    struct x86_names names;
    struct raw_thread *raw; /* the thread that is being added to */
    unsigned thread;
    struct raw_stmt **last; /* of each thread */
    struct lm_pos pos;      /* of the instruction */
};

/* An operand, once it is known what its name means. */
struct place {
    enum { REGISTER, MEMORY, IMMEDIATE } kind;
    const char *name; /* in the native form */
    uint64_t value;
    unsigned width;
    struct lm_pos pos;
};

#define NEW(t, type) ARENA_NEW((t)->source->arena, type)

static struct raw_word word(const struct translation *t, const char *text)
{
    return (struct raw_word){.text = text, .pos = t->pos};
}

static struct raw_expr *integer(struct translation *t, uint64_t value)
{
    struct raw_expr *expr = NEW(t, struct raw_expr);
    *expr = (struct raw_expr){.kind = RAW_INT, .value = value, .pos = t->pos};
    return expr;
}

static struct raw_expr *name(struct translation *t, const char *text)
{
    struct raw_expr *expr = NEW(t, struct raw_expr);
    *expr = (struct raw_expr){.kind = RAW_NAME, .name = text, .pos = t->pos};
    return expr;
}

static struct raw_expr *binary(struct translation *t, enum lm_op op, struct raw_expr *a, struct raw_expr *b)
{
    struct raw_expr *expr = NEW(t, struct raw_expr);
    *expr = (struct raw_expr){.kind = RAW_BINARY, .op = op, .a = a, .b = b, .pos = t->pos};
    return expr;
}

static struct raw_expr *value(struct translation *t, const struct place *place)
{
    return place->kind == IMMEDIATE ? integer(t, place->value) : name(t, place->name);
}

static struct raw_stmt *add_stmt(struct translation *t, enum raw_stmt_kind kind, const char *target)
{
    struct raw_stmt *stmt = NEW(t, struct raw_stmt), **last = &t->last[t->thread];
    stmt->kind = kind;
    stmt->pos = t->pos;
    if (target)
        stmt->target = word(t, target);
    if (*last)
        (*last)->next = stmt;
    else
        t->raw->body = stmt;
    *last = stmt;
    return stmt;
}

static void assign(struct translation *t, const char *target, struct raw_expr *expr)
{
    add_stmt(t, RAW_ASSIGN, target)->expr = expr;
}

/* target = operation(location, a, b), with as many values as are not NULL. */
static void call(struct translation *t, const char *target, const char *operation, const char *location,
                 struct raw_expr *a, struct raw_expr *b)
{
    struct raw_stmt *stmt = add_stmt(t, RAW_CALL, target);
    struct raw_expr *exprs[] = {location ? name(t, location) : NULL, a, b};
    struct raw_arg **end = &stmt->args;
    stmt->callee = word(t, operation);
    for (int i = 0; i < 3; i++) {
        if (!exprs[i])
            continue;
        *end = NEW(t, struct raw_arg);
        **end = (struct raw_arg){.expr = exprs[i], .pos = t->pos};
        end = &(*end)->next;
    }
}

/* A register that no test can have: the word is none that the scanner reads. */
static const char *temporary(struct translation *t)
{
    struct x86_register *reg = x86_find_register(&t->names, t->thread, "% tmp", t->pos);
    return reg ? reg->shown : "_tmp";
}

static void translate_mov(struct translation *t, const struct place *to, const struct place *from)
{
    unsigned width = to->width < from->width ? to->width : from->width;
    if (from->kind == IMMEDIATE)
        assign(t, to->name, integer(t, x86_truncate(from->value, width)));
    else
        assign(t, to->name, name(t, from->name));
}

/* reg = reg + change or reg - change, cut to the register's width */
static void change_register(struct translation *t, const struct place *to, enum lm_op op,
                            struct raw_expr *change)
{
    struct raw_expr *sum = binary(t, op, name(t, to->name), change);
    if (to->width < 64)
        sum = binary(t, LM_AND, sum, integer(t, x86_truncate(UINT64_MAX, to->width)));
    assign(t, to->name, sum);
}

static void translate_add(struct translation *t, const struct place *to, const struct place *from)
{
    if (to->kind == MEMORY) {
        call(t, NULL, "faa", to->name, value(t, from), NULL);
        return;
    }
    const char *change = from->name;
    if (from->kind == MEMORY) {
        change = temporary(t);
        assign(t, change, name(t, from->name));
    }
    change_register(t, to, LM_ADD, from->kind == IMMEDIATE ? integer(t, from->value) : name(t, change));
}

static void translate_inc(struct translation *t, const struct place *to, const struct place *unused)
{
    (void)unused;
    if (to->kind == MEMORY)
        call(t, NULL, "faa", to->name, integer(t, 1), NULL);
    else
        change_register(t, to, LM_ADD, integer(t, 1));
}

static void translate_dec(struct translation *t, const struct place *to, const struct place *unused)
{
    (void)unused;
    if (to->kind == MEMORY)
        call(t, NULL, "faa", to->name, integer(t, UINT64_MAX), NULL);
    else
        change_register(t, to, LM_SUB, integer(t, 1));
}

static void translate_xchg(struct translation *t, const struct place *memory, const struct place *reg)
{
    if (memory->kind == MEMORY) {
        call(t, reg->name, "xchg", memory->name, name(t, reg->name), NULL);
        return;
    }
    const char *held = temporary(t);
    assign(t, held, name(t, memory->name));
    assign(t, memory->name, name(t, reg->name));
    assign(t, reg->name, name(t, held));
}

static void translate_xadd(struct translation *t, const struct place *memory, const struct place *reg)
{
    call(t, reg->name, "faa", memory->name, name(t, reg->name), NULL);
}

/* The accumulator gets the old value: if the exchange happens, that is what it held. */
static void translate_cmpxchg(struct translation *t, const struct place *memory, const struct place *reg)
{
    struct x86_register *accumulator =
        x86_find_register(&t->names, t->thread, t->names.is_64 ? "rax" : "EAX", t->pos);
    if (accumulator->address)
        source_error(t->source, t->pos, NULL, "`%s` holds an address, it can't be compared",
                     accumulator->shown);
    call(t, accumulator->shown, "cas", memory->name, name(t, accumulator->shown), name(t, reg->name));
}

static void translate_mfence(struct translation *t, const struct place *unused,
                             const struct place *unused_too)
{
    (void)unused;
    (void)unused_too;
    call(t, NULL, "mfence", NULL, NULL, NULL);
}

static const struct mnemonic mnemonics[] = {
    {"mov", 2, translate_mov, NO_LOCK},           {"add", 2, translate_add, MUST_LOCK},
    {"inc", 1, translate_inc, MUST_LOCK},         {"dec", 1, translate_dec, MUST_LOCK},
    {"xchg", 2, translate_xchg, MAY_LOCK},        {"xadd", 2, translate_xadd, MUST_LOCK},
    {"cmpxchg", 2, translate_cmpxchg, MUST_LOCK}, {"mfence", 0, translate_mfence, NO_LOCK},
};

/* The instruction of that name, with or without a suffix for its size. */
static const struct mnemonic *find_mnemonic(const char *text, unsigned *width)
{
    static const struct {
        char suffix;
        unsigned width;
    } sizes[] = {{'b', 8}, {'w', 16}, {'l', 32}, {'q', 64}};
    for (size_t i = 0; i < sizeof mnemonics / sizeof *mnemonics; i++) {
        size_t n = strlen(mnemonics[i].name);
        if (strncasecmp(text, mnemonics[i].name, n))
            continue;
        *width = 64;
        if (!text[n])
            return &mnemonics[i];
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes && mnemonics[i].operands && !text[n + 1]; s++) {
            *width = sizes[s].width;
            if ((text[n] | 0x20) == sizes[s].suffix)
                return &mnemonics[i];
        }
    }
    return NULL;
}

static bool resolve_register(struct translation *t, const struct x86_operand *operand, struct place *place)
{
    const struct x86_register *reg = x86_find_register(&t->names, t->thread, operand->name, operand->pos);
    if (!reg)
        return false;
    place->kind = REGISTER;
    place->name = reg->shown;
    x86_is_register(&t->names, operand->name, &place->width);
    if (reg->address)
        source_error(t->source, operand->pos, "an address can only be used as in (%rsi)",
                     "`%s` holds the address of `%s`, which is not a value", operand->name, reg->address);
    return !reg->address;
}

/* (%rsi): only addresses that the initial state puts there */
static bool resolve_indirect(struct translation *t, const struct x86_operand *operand, struct place *place)
{
    const struct x86_register *reg = x86_find_register(&t->names, t->thread, operand->name, operand->pos);
    if (!reg)
        return false;
    if (!reg->address || operand->value) {
        const char *hint = arena_printf(t->source->arena, "the initial state can put one there: %u:%s=x;",
                                        t->thread, reg->shown);
        source_error(t->source, operand->pos, reg->address ? NULL : hint,
                     reg->address ? "an offset to the address in `%s` is not supported"
                                  : "`%s` does not hold the address of a location",
                     operand->name);
        return false;
    }
    place->kind = MEMORY;
    place->name = x86_location_name(&t->names, reg->address);
    place->width = x86_location_width(&t->names, reg->address);
    return true;
}

static bool resolve_operand(struct translation *t, const struct x86_operand *operand, struct place *place)
{
    unsigned width;
    *place = (struct place){.pos = operand->pos, .width = 64};
    switch (operand->kind) {
    case X86_IMMEDIATE:
        place->kind = IMMEDIATE;
        place->value = operand->value;
        return true;
    case X86_REGISTER:
    case X86_NAME:
        return resolve_register(t, operand, place);
    case X86_INDIRECT:
        return resolve_indirect(t, operand, place);
    default:
        if (x86_is_register(&t->names, operand->name, &width))
            return resolve_indirect(t, operand, place);
        place->kind = MEMORY;
        place->name = x86_location_name(&t->names, operand->name);
        place->width = x86_location_width(&t->names, operand->name);
        return true;
    }
}

/* Destination first. Exchanges and the like are told apart by what their operands are: the memory operand
 * comes first. */
static void order_operands(const struct translation *t, const struct mnemonic *m, struct place places[2])
{
    bool either_order =
        m->translate == translate_xchg || m->translate == translate_xadd || m->translate == translate_cmpxchg;
    bool swap = m->operands == 2 && (either_order ? places[1].kind == MEMORY : t->names.is_64);
    if (!swap)
        return;
    struct place first = places[0];
    places[0] = places[1];
    places[1] = first;
}

/* Does the instruction take such operands? The first is the destination. */
static bool check_operands(struct translation *t, const struct x86_instr *instr, const struct mnemonic *m,
                           const struct place places[2])
{
    const char *text = instr->mnemonic.text;
    bool memory = m->operands && places[0].kind == MEMORY;
    const char *problem = NULL, *hint = NULL;
    if (m->operands == 2 && places[0].kind == MEMORY && places[1].kind == MEMORY)
        problem = "%s with two memory operands is not supported";
    else if (m->operands && places[0].kind == IMMEDIATE)
        problem = "%s to an immediate makes no sense";
    else if (m->translate != translate_mov && m->translate != translate_add && m->operands == 2 &&
             places[1].kind == IMMEDIATE)
        problem = "%s needs a register";
    else if ((m->translate == translate_xadd || m->translate == translate_cmpxchg) && !memory)
        problem = "%s without a memory operand is not supported";
    else if (instr->lock && (!memory || m->memory == NO_LOCK))
        problem = "LOCK %s is not an instruction: LOCK needs a read-modify-write of memory";
    else if (!instr->lock && memory && m->memory == MUST_LOCK) {
        problem = "%s of memory without LOCK is not supported";
        hint = arena_printf(t->source->arena, "LOCK %s", text);
    }
    if (!problem)
        return true;
    source_error(t->source, instr->mnemonic.pos, hint, "%s", arena_printf(t->source->arena, problem, text));
    return false;
}

static void translate_instr(struct translation *t, const struct x86_instr *instr)
{
    const char *text = instr->mnemonic.text;
    unsigned width;
    struct place places[2] = {{.width = 64}, {.width = 64}};
    t->pos = instr->mnemonic.pos;
    if (instr->label) {
        source_error(t->source, t->pos, NULL, "label %s is not supported: there are no jumps", text);
        return;
    }
    const struct mnemonic *m = find_mnemonic(text, &width);
    if (!m) {
        source_error(t->source, t->pos, NULL, "instruction %s is not supported", text);
        return;
    }
    if (instr->n_operands != m->operands) {
        source_error(t->source, t->pos, NULL, "%s takes %u operand%s, not %u", text, m->operands,
                     m->operands == 1 ? "" : "s", instr->n_operands);
        return;
    }
    for (unsigned i = 0; i < m->operands; i++) {
        if (!resolve_operand(t, &instr->operands[i], &places[i]))
            return;
        places[i].width = places[i].width < width ? places[i].width : width;
    }
    order_operands(t, m, places);
    if (check_operands(t, instr, m, places))
        m->translate(t, &places[0], &places[1]);
}

static void translate_rows(struct translation *t, const struct x86_test *test, struct raw_thread *threads)
{
    for (const struct x86_row *row = test->rows; row; row = row->next) {
        t->thread = 0;
        t->raw = threads;
        for (const struct x86_cell *cell = row->cells; cell; cell = cell->next) {
            if (cell->instr && !t->raw) {
                source_error(t->source, cell->pos, NULL, "a row has more columns than there are threads");
                return;
            }
            if (cell->instr)
                translate_instr(t, cell->instr);
            t->thread++;
            t->raw = t->raw ? t->raw->next : NULL;
        }
    }
}

static struct raw_thread *translate_threads(struct translation *t, const struct x86_test *test)
{
    struct raw_thread *first = NULL, **end = &first;
    for (const struct x86_proc *proc = test->procs; proc; proc = proc->next) {
        *end = NEW(t, struct raw_thread);
        (*end)->name = proc->name;
        (*end)->node.pos = proc->name.pos;
        end = &(*end)->next;
    }
    return first;
}

static struct raw_thread *nth_thread(struct raw_thread *threads, uint64_t n)
{
    while (threads && n--)
        threads = threads->next;
    return threads;
}

static void init_register(struct translation *t, const struct x86_init *init, struct raw_thread *threads)
{
    const struct raw_atom *place = init->place;
    t->raw = nth_thread(threads, place->thread.value);
    if (!t->raw) {
        source_error(t->source, place->thread.pos, NULL, "there is no thread %llu",
                     (unsigned long long)place->thread.value);
        return;
    }
    t->thread = (unsigned)place->thread.value;
    t->pos = place->name.pos;
    struct x86_register *reg = x86_find_register(&t->names, t->thread, place->name.text, place->name.pos);
    unsigned width;
    if (!reg)
        return;
    x86_is_register(&t->names, place->name.text, &width);
    if (init->address)
        reg->address = init->address;
    else if (init->value)
        assign(t, reg->shown, integer(t, x86_truncate(init->value, width)));
}

/* Locations in the order in which they were numbered; those that the initial state leaves out hold 0. */
static struct raw_decl *translate_locations(struct translation *t, const struct x86_test *test)
{
    struct names *locations = &t->names.locations;
    struct raw_decl **decls = ARENA_ARRAY(t->source->arena, struct raw_decl *, locations->n);
    for (unsigned i = 0; i < locations->n; i++) {
        decls[i] = NEW(t, struct raw_decl);
        decls[i]->kind = LM_LOC;
        decls[i]->name.text = t->names.shown.list[i];
    }
    for (const struct x86_init *init = test->inits; init; init = init->next) {
        if (init->place->has_thread)
            continue;
        unsigned number = names_find(locations, init->place->name.text);
        if (decls[number]->name.pos.line)
            source_error(t->source, init->place->name.pos, NULL, "`%s` is initialised twice",
                         init->place->name.text);
        if (init->address)
            source_error(t->source, init->place->name.pos, NULL,
                         "a location that holds an address is not supported");
        decls[number]->name.pos = init->place->name.pos;
        decls[number]->init = x86_truncate(init->value, t->names.location_width[number]);
    }
    for (unsigned i = 1; i < locations->n; i++)
        decls[i - 1]->next = decls[i];
    return locations->n ? decls[0] : NULL;
}

/* Gives an atom of the condition its native name; the width of what it names. */
static unsigned rename_atom(struct translation *t, struct raw_atom *atom)
{
    unsigned width = 64;
    if (!atom->has_thread) {
        const char *shown = x86_location_name(&t->names, atom->name.text);
        width = x86_location_width(&t->names, atom->name.text);
        atom->name.text = shown ? shown : atom->name.text;
        return width;
    }
    if (atom->thread.value >= t->names.n_threads)
        return width; /* refused when the native form is resolved */
    unsigned thread = (unsigned)atom->thread.value;
    const struct x86_register *reg = x86_find_register(&t->names, thread, atom->name.text, atom->name.pos);
    x86_is_register(&t->names, atom->name.text, &width);
    if (reg && reg->address)
        source_error(t->source, atom->name.pos, NULL, "`%s` holds an address, which is not a value",
                     atom->name.text);
    if (reg)
        atom->name.text = reg->shown;
    return width;
}

static void rename_condition(struct translation *t, struct raw_cond *cond)
{
    for (; cond; cond = cond->next) {
        if (cond->kind == LM_C_EQ)
            cond->value = x86_truncate(cond->value, rename_atom(t, cond->atom));
        rename_condition(t, cond->parts);
    }
}

bool x86_translate(struct source *source, struct x86_test *test, struct raw_test *raw)
{
    struct translation t = {.source = source, .names = {.source = source, .is_64 = test->is_64}};
    if (!x86_collect_names(&t.names, test))
        return false;
    t.last = ARENA_ARRAY(source->arena, struct raw_stmt *, t.names.n_threads);
    raw->arch.text = "RDMA_TSO";
    raw->name = test->name;
    raw->docs = test->docs;
    raw->has_nodes = true;
    raw->nodes.value = 1;
    raw->threads = translate_threads(&t, test);
    raw->decls = translate_locations(&t, test);
    for (const struct x86_init *init = test->inits; init; init = init->next)
        if (init->place->has_thread)
            init_register(&t, init, raw->threads);
    translate_rows(&t, test, raw->threads);
    for (struct raw_atom *atom = test->locations; atom; atom = atom->next)
        rename_atom(&t, atom);
    rename_condition(&t, test->cond);
    raw->locations = test->locations;
    raw->quantifier = test->quantifier;
    raw->cond = test->cond;
    return source->n_errors == 0;
}
