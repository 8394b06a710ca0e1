/* Interned local states of threads (machine_intern.h): program point and live registers, with all that the
 * engine wants to know of a thread that stands there, worked out once. Where a thread gets to with which
 * result is remembered, so that the program itself is asked only once for each local state and result. */
#include "base/arena.h"
#include "model/machine_intern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <xxhash.h>

/* (number, result) → number, open addressing; replaced by a larger one when it fills up. Readers may go on
 * using an old one for a while, so those are kept. */
struct successors {
    struct successors *older;
    size_t mask, used;
    uint32_t *after;       /* written before its key */
    _Atomic uint64_t *key; /* number << 16 | result; 0 is free */
};

/* Local states by number; kept, like those, when a larger one takes over. */
struct table {
    struct table *older;
    uint32_t size;
    const struct local *local[];
};

struct locals {
    pthread_mutex_t adding;
    uint32_t count;
    struct table *tables; /* the newest one first: machine.local_table */
    size_t slots;
    uint32_t *slot; /* numbers by thread, point and registers; under the lock */
    struct successors *_Atomic successors;
    _Atomic size_t bytes;
    uint64_t regs[]; /* scratch, under the lock */
};

static void *take(struct locals *locals, size_t count, size_t size)
{
    atomic_fetch_add_explicit(&locals->bytes, count * size, memory_order_relaxed);
    return xcalloc(count, size);
}

static struct successors *successors_new(struct locals *locals, size_t slots, struct successors *older)
{
    struct successors *table = take(locals, 1, sizeof *table);
    table->older = older;
    table->mask = slots - 1;
    table->after = take(locals, slots, sizeof *table->after);
    table->key = take(locals, slots, sizeof *table->key);
    return table;
}

static void grow_table(struct machine *m, struct locals *locals)
{
    uint32_t size = locals->tables ? 2 * locals->tables->size : 64;
    struct table *table = take(locals, 1, sizeof *table + size * sizeof *table->local);
    table->older = locals->tables;
    table->size = size;
    if (table->older)
        memcpy(table->local, table->older->local, table->older->size * sizeof *table->local);
    locals->tables = table;
    atomic_store_explicit(&m->local_table, table->local, memory_order_release);
}

struct locals *locals_new(struct machine *m, unsigned most_regs)
{
    struct locals *locals = xcalloc(1, sizeof *locals + most_regs * sizeof *locals->regs);
    pthread_mutex_init(&locals->adding, NULL);
    locals->slots = 128;
    locals->slot = take(locals, locals->slots, sizeof *locals->slot);
    atomic_init(&locals->successors, successors_new(locals, 128, NULL));
    locals->count = 1; /* number 0 is none */
    grow_table(m, locals);
    return locals;
}

static const struct local *locals_get(const struct locals *locals, uint32_t number)
{
    return locals->tables->local[number];
}

void locals_free(struct locals *locals)
{
    for (uint32_t number = 1; number < locals->count; number++)
        free((void *)(uintptr_t)locals_get(locals, number));
    for (struct table *table = locals->tables, *older; table; table = older) {
        older = table->older;
        free(table);
    }
    for (struct successors *table = locals->successors, *older; table; table = older) {
        older = table->older;
        free(table->after);
        free(table->key);
        free(table);
    }
    free(locals->slot);
    pthread_mutex_destroy(&locals->adding);
    free(locals);
}

size_t locals_bytes(const struct locals *locals)
{
    return atomic_load_explicit(&locals->bytes, memory_order_relaxed);
}

/* --- describing a local state --- */

static uint64_t fold(const struct machine *m, const uint64_t *set)
{
    uint64_t mask = 0;
    for (unsigned w = 0; w < m->program->loc_words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1)
            mask |= m->loc_bit[64 * w + (unsigned)__builtin_ctzll(rest)];
    return mask;
}

static void describe_future(const struct machine *m, struct local *local)
{
    const struct future *future = m->program->ops->future(m->program, local->thread, local->point);
    local->cpu_reads = fold(m, future->cpu_reads);
    local->cpu_writes = fold(m, future->cpu_writes);
    local->nic_reads = fold(m, future->nic_reads);
    local->nic_writes = fold(m, future->nic_writes);
    local->nic_nodes = future->nic_nodes;
    local->put_nodes = future->put_nodes;
    local->rmw_nodes = future->rmw_nodes;
    for (uint64_t rest = future->rmw_nodes; rest; rest &= rest - 1)
        local->nic_writes |= m->atomic_bit[__builtin_ctzll(rest)];
}

static unsigned entry_kind_of(const struct op *op)
{
    switch (op->kind) {
    case OP_STORE:
        return E_STORE;
    case OP_PUT:
        return op->local == PROG_NO_LOC ? E_PUT_INLINE : E_PUT;
    case OP_GET:
        return E_GET;
    case OP_RCAS:
        return E_RCAS;
    case OP_RFAA:
        return E_RFAA;
    case OP_RFENCE:
        return E_FENCE;
    default:
        return 0;
    }
}

static uint8_t target_node(const struct machine *m, const struct op *op)
{
    switch (op->kind) {
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
        return m->loc_node[op->loc];
    case OP_RFENCE:
    case OP_POLL:
        return op->node < m->n_nodes ? op->node : NO_NODE;
    default:
        return NO_NODE;
    }
}

static void describe_access(const struct machine *m, struct local *local)
{
    switch (local->kind) {
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        local->writes = m->loc_bit[local->loc];
        local->reads = m->loc_bit[local->loc];
        break;
    case OP_LOAD:
        local->reads = m->loc_bit[local->loc];
        break;
    case OP_AWAIT:
        for (unsigned i = 0; i < local->n_any; i++)
            local->reads |= m->loc_bit[local->any[i]];
        break;
    default:
        break;
    }
}

/* False if a value has no number any more. */
static bool describe(struct machine *m, struct local *local, const struct op *op)
{
    int v = values_number(m->values, op->v), e = values_number(m->values, op->e);
    if (v == NO_VALUE || e == NO_VALUE)
        return false;
    local->kind = op->kind;
    local->cmp = op->cmp;
    local->wid = op->wid;
    local->loc = op->loc;
    local->v = (uint16_t)v;
    local->e = (uint16_t)e;
    local->increment = op->v;
    local->where = op->where;
    local->node = target_node(m, op);
    if (op->kind == OP_AWAIT) {
        local->n_any = op->n_any ? op->n_any : 1;
        uint16_t *any = (uint16_t *)(void *)(local->regs + m->program->n_regs[local->thread]);
        memcpy(any, op->n_any ? op->any : &op->loc, local->n_any * sizeof *any);
        local->any = any;
    }
    unsigned kind = entry_kind_of(op);
    if (kind)
        local->entry = entry_make(
            kind, kind == E_STORE || kind == E_FENCE ? 0 : op->wid, kind == E_FENCE ? op->node : op->loc,
            kind == E_STORE || kind == E_FENCE || op->local == PROG_NO_LOC ? 0 : op->local, local->v,
            local->e);
    if (op->kind != OP_DROP && op->kind != OP_SPIN_FAIL) {
        describe_access(m, local);
        describe_future(m, local);
    }
    return true;
}

/* --- the table of local states --- */

static uint64_t hash_local(unsigned thread, uint32_t point, const uint64_t *regs, unsigned n)
{
    return XXH3_64bits_withSeed(regs, n * sizeof *regs, (uint64_t)thread << 32 | point);
}

static uint32_t *find_slot(const struct machine *m, unsigned thread, uint32_t point, const uint64_t *regs)
{
    struct locals *locals = m->locals;
    unsigned n = m->program->n_regs[thread];
    size_t at = hash_local(thread, point, regs, n) & (locals->slots - 1);
    for (; locals->slot[at]; at = (at + 1) & (locals->slots - 1)) {
        const struct local *local = locals_get(locals, locals->slot[at]);
        if (local->thread == thread && local->point == point &&
            memcmp(local->regs, regs, n * sizeof *regs) == 0)
            break;
    }
    return &locals->slot[at];
}

static void grow_slots(struct machine *m)
{
    struct locals *locals = m->locals;
    free(locals->slot);
    locals->slots *= 2;
    locals->slot = take(locals, locals->slots, sizeof *locals->slot);
    for (uint32_t number = 1; number < locals->count; number++) {
        const struct local *local = locals_get(locals, number);
        *find_slot(m, local->thread, local->point, local->regs) = number;
    }
}

static uint32_t add_local(struct machine *m, unsigned thread, uint32_t point, const uint64_t *regs,
                          const struct op *op)
{
    struct locals *locals = m->locals;
    unsigned n = m->program->n_regs[thread];
    size_t tail = op->kind == OP_AWAIT ? (op->n_any + 1u) * sizeof(uint16_t) : 0;
    struct local *local = take(locals, 1, sizeof *local + n * sizeof *regs + tail);
    local->thread = (uint8_t)thread;
    local->point = point;
    if (n)
        memcpy(local->regs, regs, n * sizeof *regs);
    if (locals->count > UINT32_MAX / 4 || !describe(m, local, op)) {
        free(local);
        return LOCAL_NONE;
    }
    if (locals->count == locals->tables->size)
        grow_table(m, locals);
    locals->tables->local[locals->count] = local;
    return locals->count++;
}

/* Runs the thread up to its next operation and interns where it stands then. Under the lock. */
static uint32_t settle(struct machine *m, unsigned thread, uint32_t point, uint64_t *regs)
{
    const struct program *p = m->program;
    struct op op = {.kind = OP_END};
    prog_next(p, thread, &point, regs, &op);
    const uint64_t *live = p->ops->live(p, thread, point);
    for (unsigned r = 0; r < p->n_regs[thread]; r++)
        if (!(live[r / 64] >> (r % 64) & 1))
            regs[r] = 0;
    uint32_t *slot = find_slot(m, thread, point, regs);
    if (*slot)
        return *slot;
    uint32_t number = add_local(m, thread, point, regs, &op);
    if (number == LOCAL_NONE)
        return LOCAL_NONE;
    *slot = number;
    if (2 * (size_t)m->locals->count > m->locals->slots)
        grow_slots(m);
    return number;
}

uint32_t locals_first(struct machine *m, unsigned thread)
{
    struct locals *locals = m->locals;
    pthread_mutex_lock(&locals->adding);
    memset(locals->regs, 0, m->program->n_regs[thread] * sizeof *locals->regs);
    uint32_t number = settle(m, thread, 0, locals->regs);
    pthread_mutex_unlock(&locals->adding);
    return number;
}

/* --- successors --- */

static size_t find_successor(const struct successors *table, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & table->mask;
    uint64_t found;
    while ((found = atomic_load_explicit(&table->key[at], memory_order_acquire)) != 0 && found != key)
        at = (at + 1) & table->mask;
    return at;
}

static void put_successor(struct successors *table, uint64_t key, uint32_t after)
{
    size_t at = find_successor(table, key);
    table->after[at] = after;
    atomic_store_explicit(&table->key[at], key, memory_order_release);
    table->used++;
}

static void grow_successors(struct locals *locals)
{
    struct successors *old = locals->successors;
    struct successors *table = successors_new(locals, 2 * (old->mask + 1), old);
    for (size_t at = 0; at <= old->mask; at++)
        if (old->key[at])
            put_successor(table, old->key[at], old->after[at]);
    atomic_store_explicit(&locals->successors, table, memory_order_release);
}

static uint32_t find_out(struct machine *m, uint32_t number, unsigned result)
{
    struct locals *locals = m->locals;
    const struct local *local = locals_get(locals, number);
    uint64_t key = (uint64_t)number << 16 | result;
    pthread_mutex_lock(&locals->adding);
    struct successors *table = locals->successors;
    size_t at = find_successor(table, key);
    uint32_t after = table->key[at] ? table->after[at] : LOCAL_NONE;
    if (after == LOCAL_NONE) {
        uint32_t point = local->point;
        unsigned n = m->program->n_regs[local->thread];
        if (n)
            memcpy(locals->regs, local->regs, n * sizeof *locals->regs);
        prog_observe(m->program, local->thread, &point, locals->regs, values_get(m->values, result));
        after = settle(m, local->thread, point, locals->regs);
        if (after != LOCAL_NONE) {
            if (2 * (table->used + 1) > table->mask) {
                grow_successors(locals);
                table = locals->successors;
            }
            put_successor(table, key, after);
        }
    }
    pthread_mutex_unlock(&locals->adding);
    return after;
}

uint32_t locals_after(struct machine *m, uint32_t number, unsigned result)
{
    uint64_t key = (uint64_t)number << 16 | result;
    struct successors *table = atomic_load_explicit(&m->locals->successors, memory_order_acquire);
    size_t at = find_successor(table, key);
    if (atomic_load_explicit(&table->key[at], memory_order_acquire))
        return table->after[at];
    return find_out(m, number, result);
}
