/* See operational_parts.h. */
#include "search/operational_parts.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdlib.h>
#include <xxhash.h>

enum { CPU_MOVE, BUFFER_MOVE };

/* Parts by number. Readers may go on using an old one for a while, so those are kept. */
struct numbered {
    struct numbered *older;
    uint32_t size;
    const struct part *part[];
};

struct part_table {
    pthread_mutex_t adding;
    uint32_t count;
    struct numbered *numbered;
    size_t slots;
    uint32_t *slot; /* numbers by content; under the lock */
    _Atomic size_t bytes;
    struct moves_of_thread found; /* scratch, under the lock */
};

static void *take(struct part_table *table, size_t count, size_t size)
{
    atomic_fetch_add_explicit(&table->bytes, count * size, memory_order_relaxed);
    return xcalloc(count, size);
}

static void grow_numbered(struct parts *parts)
{
    struct part_table *table = parts->table;
    uint32_t size = table->numbered ? 2 * table->numbered->size : 64;
    struct numbered *numbered = take(table, 1, sizeof *numbered + size * sizeof *numbered->part);
    numbered->older = table->numbered;
    numbered->size = size;
    if (numbered->older)
        memcpy(numbered->part, numbered->older->part, numbered->older->size * sizeof *numbered->part);
    table->numbered = numbered;
    atomic_store_explicit(&parts->part, numbered->part, memory_order_release);
}

struct parts *parts_new(struct machine *m)
{
    struct parts *parts = xcalloc(1, sizeof *parts);
    struct part_table *table = parts->table = xcalloc(1, sizeof *table);
    parts->machine = m;
    parts->memory_at = (unsigned)(sizeof(uint64_t) + m->n_threads * sizeof(uint32_t));
    parts->compound_size = (parts->memory_at + m->n_locs * (unsigned)sizeof(uint16_t) + 7) & ~7u;
    pthread_mutex_init(&table->adding, NULL);
    table->count = 1;
    table->slots = 128;
    table->slot = take(table, table->slots, sizeof *table->slot);
    grow_numbered(parts);
    return parts;
}

static void free_part(const struct part *part)
{
    for (unsigned i = 0; i < part->n; i++)
        for (const struct transition *old = part->transitions[i], *older; old; old = older) {
            older = old->older;
            free((void *)(uintptr_t)old);
        }
    free((void *)(uintptr_t)part);
}

void parts_free(struct parts *parts)
{
    if (!parts)
        return;
    struct part_table *table = parts->table;
    for (uint32_t number = 1; number < table->count; number++)
        free_part(table->numbered->part[number]);
    for (struct numbered *numbered = table->numbered, *older; numbered; numbered = older) {
        older = numbered->older;
        free(numbered);
    }
    pthread_mutex_destroy(&table->adding);
    free(table->slot);
    free(table);
    free(parts);
}

size_t parts_bytes(const struct parts *parts)
{
    return parts ? atomic_load_explicit(&parts->table->bytes, memory_order_relaxed) : 0;
}

/* --- what a part consists of --- */

static unsigned n_ends(const struct machine *m, unsigned t)
{
    return 1 + 3u * (m->first_qp[t + 1] - m->first_qp[t]);
}

static bool is_done(const struct machine *m, const struct part *part)
{
    if (machine_local(m, part->local)->kind != OP_END)
        return false;
    for (unsigned i = 0; i < part->n_entries; i++)
        if (entry_kind(part->entries[i]) != E_CN)
            return false;
    return true;
}

/* The location on whose value the result of a move depends. */
static uint16_t read_loc(struct machine *m, const uint8_t *state, struct step step)
{
    if (step.rule == RULE_CPU) {
        uint32_t number = get_locals(m, state)[step.thread];
        const struct local *local = machine_local(m, number);
        if (local->kind == OP_SPIN_BEGIN)
            local = spin_read(m, number);
        if (!local)
            return PROG_NO_LOC;
        return local->kind == OP_MFENCE || local->kind == OP_AWAIT || local->kind == OP_POLL ||
                       local->kind == OP_WAIT
                   ? PROG_NO_LOC
                   : local->loc;
    }
    if (step.rule == RULE_FLUSH || rule_fifo(step.rule) != PIPE)
        return PROG_NO_LOC;
    entry_t entry = get_entries(m, state)[get_ends(m, state)[m->qps[step.qp].fifo] + step.at];
    switch (entry_kind(entry)) {
    case E_PUT:
        return (uint16_t)entry_local(entry);
    case E_GET:
    case E_RCAS:
    case E_RFAA:
        return (uint16_t)entry_loc(entry);
    default:
        return PROG_NO_LOC;
    }
}

/* The moves of the thread's own that a move makes part of a set to explore. */
static move_set own_follows(const struct moves_of_thread *found, unsigned i)
{
    const struct move *move = &found->move[i];
    move_set set = 0;
    for (uint64_t rest = move->reads | move->writes; rest; rest &= rest - 1)
        set |= found->writers[__builtin_ctzll(rest)];
    for (uint64_t rest = move->writes; rest; rest &= rest - 1)
        set |= found->readers[__builtin_ctzll(rest)];
    set &= ~move->apart;
    if (i == CPU_MOVE && !(move->reads & found->nic_write))
        set &= ~((move_set)1 << BUFFER_MOVE); /* its own stores are forwarded to it */
    return (set | move->needs) & ~((move_set)1 << i);
}

static void list_rows(struct move *move, unsigned n_bits)
{
    uint64_t both = move->reads | move->writes;
    unsigned n = 0;
    for (; both && n < MAX_ROWS; both &= both - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(both);
        move->rows[n++] = (uint8_t)(move->writes >> bit & 1 ? n_bits + bit : bit);
    }
    move->n_rows = both ? TOO_MANY_ROWS : (uint8_t)n;
}

static void complete_moves(struct machine *m, const uint8_t *state, struct moves_of_thread *found)
{
    for (unsigned i = 0; i < found->n; i++) {
        struct move *move = &found->move[i];
        move->own_follows = own_follows(found, i);
        list_rows(move, m->n_bits);
        move->read_loc = found->enabled >> i & 1 ? read_loc(m, state, move->step) : PROG_NO_LOC;
    }
}

static void find_await(const struct machine *m, struct part *part)
{
    const struct local *local = machine_local(m, part->local);
    part->await_loc = PROG_NO_LOC;
    if (!part->awaits || local->n_any != 1 || part->ends[0] > 0)
        return;
    part->await_loc = local->any[0];
    for (uint64_t v = 0; v < 64; v++) /* which are their own numbers */
        part->await_true |= (uint64_t)op_compare(local->cmp, v, local->increment) << v;
}

/* One block of memory holds the part and all its arrays. */
static struct part *part_new(struct parts *parts, const uint8_t *state, unsigned t)
{
    struct machine *m = parts->machine;
    struct part_table *table = parts->table;
    struct moves_of_thread *found = &table->found;
    const uint16_t *ends = buffer_of(m, state, t);
    unsigned n_e = n_ends(m, t), n_entries = (unsigned)(ends[n_e] - ends[0]);
    find_moves_of_thread(m, state, t, found);
    complete_moves(m, state, found);
    size_t at_move = sizeof(struct part), at_transitions = at_move + found->n * sizeof(struct move);
    size_t at_touching = at_transitions + found->n * sizeof(struct transition *);
    size_t at_entries = at_touching + 2 * m->n_bits * sizeof(move_set);
    size_t at_ends = at_entries + n_entries * sizeof(entry_t), at_holder = at_ends + n_e * sizeof(uint16_t);
    uint8_t *block = take(table, 1, at_holder + m->n_nodes);
    struct part *part = (struct part *)(void *)block;
    *part = (struct part){
        .local = get_locals(m, state)[t],
        .thread = m->class_of[t],
        .n = (uint8_t)found->n,
        .awaits = found->awaits,
        .crowded = found->crowded,
        .n_ends = (uint16_t)n_e,
        .n_entries = (uint16_t)n_entries,
        .enabled = found->enabled,
        .spins = found->spins,
        .rmws = found->rmws,
        .holds = found->holds,
        .move = memcpy(block + at_move, found->move, found->n * sizeof(struct move)),
        .transitions = (void *)(block + at_transitions),
        .holder = memcpy(block + at_holder, found->holder, m->n_nodes),
        .entries = memcpy(block + at_entries, get_entries(m, state) + ends[0], n_entries * sizeof(entry_t))};
    move_set *touching = (move_set *)(void *)(block + at_touching);
    for (unsigned b = 0; b < m->n_bits; b++) {
        touching[b] = found->writers[b];
        touching[m->n_bits + b] = found->writers[b] | found->readers[b];
    }
    uint16_t *relative = (uint16_t *)(void *)(block + at_ends);
    for (unsigned f = 0; f < n_e; f++)
        relative[f] = (uint16_t)(ends[f + 1] - ends[0]);
    part->touching = touching;
    part->ends = relative;
    find_await(m, part);
    part->done = is_done(m, part);
    return part;
}

/* --- finding a part by content --- */

static uint64_t hash_part(uint32_t local, const uint16_t *ends, unsigned n, unsigned base,
                          const entry_t *entries)
{
    uint64_t lengths = local;
    for (unsigned f = 0; f < n; f++)
        lengths = (lengths ^ (uint64_t)(ends[f] - base)) * UINT64_C(0x9e3779b97f4a7c15);
    return XXH3_64bits_withSeed(entries, (size_t)(ends[n - 1] - base) * sizeof *entries, lengths);
}

static bool same_part(const struct machine *m, const struct part *part, const uint8_t *state, unsigned t)
{
    const uint16_t *ends = buffer_of(m, state, t);
    if (part->local != get_locals(m, state)[t] || part->n_ends != n_ends(m, t))
        return false;
    for (unsigned f = 0; f < part->n_ends; f++)
        if (part->ends[f] != ends[f + 1] - ends[0])
            return false;
    return memcmp(part->entries, get_entries(m, state) + ends[0], part->n_entries * sizeof(entry_t)) == 0;
}

static void grow_slots(struct part_table *table)
{
    free(table->slot);
    table->slots *= 2;
    table->slot = take(table, table->slots, sizeof *table->slot);
    for (uint32_t number = 1; number < table->count; number++) {
        const struct part *part = table->numbered->part[number];
        size_t at = hash_part(part->local, part->ends, part->n_ends, 0, part->entries) & (table->slots - 1);
        while (table->slot[at])
            at = (at + 1) & (table->slots - 1);
        table->slot[at] = number;
    }
}

/* The number of thread t's part of a packed state; 0 if there is no room. Under the lock. */
static uint32_t number_of(struct parts *parts, const uint8_t *state, unsigned t)
{
    const struct machine *m = parts->machine;
    struct part_table *table = parts->table;
    const uint16_t *ends = buffer_of(m, state, t);
    size_t at =
        hash_part(get_locals(m, state)[t], ends + 1, n_ends(m, t), ends[0], get_entries(m, state) + ends[0]) &
        (table->slots - 1);
    for (; table->slot[at]; at = (at + 1) & (table->slots - 1))
        if (same_part(m, table->numbered->part[table->slot[at]], state, t))
            return table->slot[at];
    if (table->count > UINT32_MAX / 4)
        return 0;
    struct part *part = part_new(parts, state, t);
    if (table->count == table->numbered->size)
        grow_numbered(parts);
    uint32_t number = table->count++;
    table->numbered->part[number] = part;
    table->slot[at] = number;
    if (2 * (size_t)table->count > table->slots)
        grow_slots(table);
    return number;
}

/* --- compound states --- */

bool compound_from(struct parts *parts, const uint8_t *packed, uint8_t *compound)
{
    const struct machine *m = parts->machine;
    memset(compound, 0, parts->compound_size);
    memcpy(compound, packed, sizeof(uint64_t));
    memcpy(compound_memory(parts, compound), get_memory(m, packed), m->n_locs * sizeof(uint16_t));
    pthread_mutex_lock(&parts->table->adding);
    bool fits = true;
    for (unsigned t = 0; t < m->n_threads; t++)
        fits &= (compound_parts(compound)[t] = number_of(parts, packed, t)) != 0;
    pthread_mutex_unlock(&parts->table->adding);
    return fits;
}

static void unpack_shared(const struct parts *parts, const uint8_t *compound, struct packed *packed,
                          size_t entries)
{
    const struct machine *m = parts->machine;
    packed_reserve(packed, m->entries_at + entries * sizeof(entry_t));
    memset(packed->state, 0, m->entries_at);
    memcpy(packed->state, compound, sizeof(uint64_t));
    memcpy(state_memory(m, packed->state), get_compound_memory(parts, compound),
           m->n_locs * sizeof(uint16_t));
}

/* Puts the part into thread t's place; what stands before it must be there, what comes after must be empty. */
static void unpack_part(const struct machine *m, const struct part *part, unsigned t, uint8_t *state)
{
    uint16_t *ends = state_ends(m, state), *own = ends + m->buffer[t];
    unsigned base = own[0];
    state_locals(m, state)[t] = part->local;
    memcpy(state_entries(m, state) + base, part->entries, part->n_entries * sizeof(entry_t));
    for (unsigned f = 0; f < part->n_ends; f++)
        own[f + 1] = (uint16_t)(base + part->ends[f]);
    for (uint16_t *end = own + part->n_ends; end <= ends + m->n_fifos; end++)
        *end = (uint16_t)(base + part->n_entries);
}

void compound_unpack(const struct parts *parts, const uint8_t *compound, struct packed *packed)
{
    const struct machine *m = parts->machine;
    size_t entries = 0;
    for (unsigned t = 0; t < m->n_threads; t++)
        entries += part_get(parts, get_compound_parts(compound)[t])->n_entries;
    unpack_shared(parts, compound, packed, entries);
    for (unsigned t = 0; t < m->n_threads; t++)
        unpack_part(m, part_get(parts, get_compound_parts(compound)[t]), t, packed->state);
}

/* --- transitions --- */

unsigned part_load(const struct part *part, const uint16_t *memory, unsigned loc)
{
    for (unsigned i = part->ends[0]; i-- > 0;)
        if (entry_kind(part->entries[i]) == E_STORE && entry_loc(part->entries[i]) == loc)
            return entry_v(part->entries[i]);
    return memory[loc];
}

bool part_await(const struct parts *parts, const struct part *part, const uint16_t *memory, unsigned *value)
{
    const struct local *local = machine_local(parts->machine, part->local);
    for (unsigned i = 0; i < local->n_any; i++) {
        *value = part_load(part, memory, local->any[i]);
        if (op_compare(local->cmp, machine_value(parts->machine, *value), local->increment))
            return true;
    }
    return false;
}

struct step part_move_step(const struct parts *parts, const uint8_t *compound, unsigned t, unsigned move)
{
    const struct machine *m = parts->machine;
    const struct part *part = part_get(parts, get_compound_parts(compound)[t]);
    struct step step = part->move[move].step;
    step.thread = (uint8_t)t;
    if (step.qp == NO_QP)
        return step;
    const struct qp *qp = &m->qps[step.qp];
    unsigned first = part->ends[qp->fifo - m->buffer[qp->thread] - 1]; /* of the pipe */
    if (step.rule == RULE_RCAS) {
        entry_t rcas = part->entries[first + step.at];
        if (get_compound_memory(parts, compound)[entry_loc(rcas)] != entry_e(rcas))
            step.rule = RULE_RCAS_FAIL;
    }
    step.qp = (uint16_t)(step.qp - m->first_qp[qp->thread] + m->first_qp[t]);
    return step;
}

/* Which location a step writes. */
static uint16_t write_loc(const struct machine *m, const uint8_t *state, struct step step)
{
    const entry_t *entries = get_entries(m, state);
    const struct local *local = local_of(m, state, step.thread);
    switch ((enum rule)step.rule) {
    case RULE_CPU:
        return local->kind == OP_CAS || local->kind == OP_FAA || local->kind == OP_XCHG ? local->loc
                                                                                        : PROG_NO_LOC;
    case RULE_FLUSH:
        return (uint16_t)entry_loc(entries[buffer_of(m, state, step.thread)[0]]);
    case RULE_PUT_LAND:
    case RULE_ATOMIC_LAND:
        return (uint16_t)entry_loc(entries[get_ends(m, state)[m->qps[step.qp].fifo + WBR]]);
    case RULE_LOCAL_LAND:
        return (uint16_t)entry_local(entries[get_ends(m, state)[m->qps[step.qp].fifo + WBL] + step.at]);
    default:
        return PROG_NO_LOC;
    }
}

/* Asks the machine, in a state in which the other threads are absent. */
static struct transition *find_out(struct parts *parts, const uint8_t *compound, const struct part *part,
                                   unsigned t, unsigned move, unsigned value, struct packed *scratch)
{
    struct machine *m = parts->machine;
    unsigned r = part->thread;
    unpack_shared(parts, compound, scratch, part->n_entries);
    unpack_part(m, part, r, scratch->state);
    struct step step = part_move_step(parts, compound, t, move);
    step.thread = (uint8_t)r;
    step.qp = part->move[move].step.qp;
    struct transition *new = xcalloc(1, sizeof *new);
    new->value = (uint16_t)value;
    new->loc = write_loc(m, scratch->state, step);
    new->atomic = step.rule == RULE_RCAS || step.rule == RULE_RFAA ? 1
                  : step.rule == RULE_ATOMIC_LAND                  ? -1
                                                                   : 0;
    new->node = step.qp == NO_QP ? 0 : m->qps[step.qp].node;
    enum effect effect = packed_take_whole(scratch, step);
    if (new->loc != PROG_NO_LOC)
        new->wrote = get_memory(m, scratch->state)[new->loc];
    if (effect == EFFECT_OK)
        effect = packed_take_eager(scratch, r);
    new->effect = (uint8_t)effect;
    return new;
}

const struct transition *part_step(struct parts *parts, const uint8_t *compound, unsigned t, unsigned move,
                                   struct packed *scratch)
{
    const struct part *part = part_get(parts, get_compound_parts(compound)[t]);
    const uint16_t *memory = get_compound_memory(parts, compound);
    unsigned loc = part->move[move].read_loc, value = loc == PROG_NO_LOC ? 0 : memory[loc];
    if (move == 0 && part->awaits)
        part_await(parts, part, memory, &value);
    const struct transition *old = atomic_load_explicit(&part->transitions[move], memory_order_acquire);
    for (; old; old = old->older)
        if (old->value == value)
            return old;
    struct transition *new = find_out(parts, compound, part, t, move, value, scratch);
    pthread_mutex_lock(&parts->table->adding);
    if (new->effect == EFFECT_OK && !(new->after = number_of(parts, scratch->state, part->thread)))
        new->effect = EFFECT_FULL;
    new->older = part->transitions[move];
    atomic_store_explicit(&part->transitions[move], new, memory_order_release);
    atomic_fetch_add_explicit(&parts->table->bytes, sizeof *new, memory_order_relaxed);
    pthread_mutex_unlock(&parts->table->adding);
    return new;
}
