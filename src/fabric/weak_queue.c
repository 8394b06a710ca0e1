/* See weak_queue.h. (Section 2 of the specification, rules 1 to 13.) */
#include "fabric/weak_queue.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

#define KIND(kind) (1u << (kind))

/* The kinds of older entries that stop a rule. */
enum {
    KINDS_PUT = KIND(WEAK_PUT) | KIND(WEAK_PUT_VALUE),
    KINDS_RMW = KIND(WEAK_RCAS) | KIND(WEAK_RFAA),
    STOPS_FETCH = KINDS_PUT | KIND(WEAK_FENCE), /* rule 2 */
    STOPS_OTHERS =
        KINDS_PUT | KIND(WEAK_PUTV) | KINDS_RMW | KIND(WEAK_AW) | KIND(WEAK_FENCE), /* 3, 6, 9 to 12 */
    STOPS_ANY = 0xffff /* 1, 5, 7: at the head of the pipe */
};

/* Of entries of that kind. */
static inline unsigned stops(unsigned kind)
{
    static const uint16_t usual[] = {
        [WEAK_PUT] = STOPS_FETCH,   [WEAK_PUT_VALUE] = STOPS_FETCH, [WEAK_PUTV] = STOPS_OTHERS,
        [WEAK_ACK] = STOPS_ANY,     [WEAK_GET] = STOPS_OTHERS,      [WEAK_RCAS] = STOPS_OTHERS,
        [WEAK_RFAA] = STOPS_OTHERS, [WEAK_AW] = STOPS_OTHERS,       [WEAK_LW] = STOPS_ANY,
        [WEAK_FENCE] = STOPS_ANY};
    return usual[kind] & ~WEAK_MUTANT_DROPS(kind);
}

/* Nothing behind entries of these kinds can move. */
static inline bool stops_all(unsigned older)
{
    return (older & STOPS_FETCH) && !WEAK_MUTANT_ANY;
}

/* --- memory --- */

static bool is_word(const void *address, uint32_t size)
{
    return size == WORD && (uintptr_t)address % WORD == 0;
}

static void read_bytes(unsigned char *to, const unsigned char *from, uint32_t size)
{
    uint32_t i = 0;
    if (((uintptr_t)to | (uintptr_t)from) % WORD == 0)
        for (; size - i >= WORD; i += WORD)
            *(uint64_t *)(void *)(to + i) =
                __atomic_load_n((const uint64_t *)(const void *)(from + i), __ATOMIC_SEQ_CST);
    for (; i < size; i++)
        to[i] = __atomic_load_n(from + i, __ATOMIC_SEQ_CST);
}

static bool write_bytes(unsigned char *to, const unsigned char *from, uint32_t size)
{
    uint32_t i = 0;
    bool changed = false;
    if (((uintptr_t)to | (uintptr_t)from) % WORD == 0)
        for (; size - i >= WORD; i += WORD) {
            uint64_t word = *(const uint64_t *)(const void *)(from + i);
            changed |= __atomic_exchange_n((uint64_t *)(void *)(to + i), word, __ATOMIC_SEQ_CST) != word;
        }
    for (; i < size; i++)
        changed |= __atomic_exchange_n(to + i, from[i], __ATOMIC_SEQ_CST) != from[i];
    return changed;
}

void weak_read(union weak_value *value, const void *from, uint32_t size)
{
    if (is_word(from, size))
        value->word = __atomic_load_n((const uint64_t *)from, __ATOMIC_SEQ_CST);
    else
        read_bytes(size > WORD ? value->bytes : (unsigned char *)value, from, size);
}

bool weak_write(void *to, union weak_value value, uint32_t size)
{
    if (is_word(to, size))
        return __atomic_exchange_n((uint64_t *)to, value.word, __ATOMIC_SEQ_CST) != value.word;
    return write_bytes(to, size > WORD ? value.bytes : (const unsigned char *)&value, size);
}

/* The pieces of a large operation have memory of their own, which goes with what they carry. */
static void release(const struct weak_entry *entry, union weak_value value)
{
    if (entry->size > WORD)
        free(value.bytes);
}

/* --- what is enabled --- */

static void add(struct weak_queue *queue, enum weak_class class, unsigned at)
{
    queue->steps[queue->n_steps++] = (struct weak_step){(uint8_t) class, (uint8_t)at};
}

static bool ignores_wbr(const struct weak_entry *entry)
{
    return entry->kind == WEAK_RFAA ? WEAK_MUTANT(M11_IGNORES_WBR)
                                    : WEAK_MUTANT(M9_IGNORES_WBR) || WEAK_MUTANT(M10_IGNORES_WBR);
}

static bool ignores_atomic(const struct weak_entry *entry)
{
    return entry->kind == WEAK_RFAA ? WEAK_MUTANT(M11_IGNORES_ATOMIC)
                                    : WEAK_MUTANT(M9_IGNORES_ATOMIC) || WEAK_MUTANT(M10_IGNORES_ATOMIC);
}

/* The guards, but for those that ask for the head of a buffer. */
static bool may(const struct weak_queue *queue, const struct weak_entry *entry, unsigned older)
{
    bool remote_empty = queue->remote.count == 0, local_empty = queue->local.count == 0;
    if (older & stops(entry->kind))
        return false;
    switch (entry->kind) {
    case WEAK_PUT:
    case WEAK_PUT_VALUE:
        return local_empty || WEAK_MUTANT(M2_IGNORES_WBL);
    case WEAK_PUTV:
    case WEAK_AW:
        return queue->remote.count < WEAK_RING;
    case WEAK_GET:
        return remote_empty || WEAK_MUTANT(M6_IGNORES_WBR);
    case WEAK_RCAS:
    case WEAK_RFAA:
        return (remote_empty || ignores_wbr(entry)) &&
               (!__atomic_load_n(queue->busy, __ATOMIC_SEQ_CST) || ignores_atomic(entry));
    case WEAK_LW:
        return queue->local.count < WEAK_RING;
    default:
        return true;
    }
}

static const uint8_t class_of[] = {
    [WEAK_PUT] = WEAK_FETCH,   [WEAK_PUT_VALUE] = WEAK_FETCH, [WEAK_PUTV] = WEAK_SEND,
    [WEAK_AW] = WEAK_SEND,     [WEAK_GET] = WEAK_READ,        [WEAK_RCAS] = WEAK_ATOMIC,
    [WEAK_RFAA] = WEAK_ATOMIC, [WEAK_LW] = WEAK_RETURN};

/* Fences and acknowledgements go by themselves, see weak_queue_settle. */
void weak_queue_look(struct weak_queue *queue)
{
    unsigned older = 0;
    queue->n_steps = 0;
    queue->stale = false;
    for (unsigned i = 0; i < queue->pipe.count && !stops_all(older) && queue->n_steps < WEAK_STEPS - 2; i++) {
        const struct weak_entry *entry = weak_at(&queue->pipe, i);
        if (entry->kind != WEAK_ACK && entry->kind != WEAK_FENCE && may(queue, entry, older))
            add(queue, class_of[entry->kind], i);
        older |= KIND(entry->kind);
    }
    if (queue->remote.count)
        add(queue, WEAK_LAND,
            WEAK_MUTANT(M4_NOT_OLDEST) || WEAK_MUTANT(M13_NOT_OLDEST) ? queue->remote.count - 1 : 0);
    if (queue->local.count)
        add(queue, WEAK_ARRIVE, WEAK_MUTANT(M8_NOT_OLDEST) ? queue->local.count - 1 : 0);
}

/* --- the rules --- */

/* Only of faulty machines anything but the oldest. */
static void take_out(struct weak_ring *ring, unsigned at)
{
    for (; at > 0; at--)
        *weak_at(ring, at) = *weak_at(ring, at - 1);
    ring->first++;
    ring->count--;
}

/* CN enters wbL. */
static void complete(struct weak_queue *queue, bool last)
{
    if (queue->local.count)
        weak_at(&queue->local, queue->local.count - 1)->behind += last;
    else
        queue->ready += last;
}

/* Rules 1 and 5, and 2 for values. */
void weak_queue_settle(struct weak_queue *queue)
{
    unsigned older = 0, i = 0;
    queue->stale = true;
    while (i < queue->pipe.count && !stops_all(older)) {
        struct weak_entry *entry = weak_at(&queue->pipe, i);
        if (entry->kind == WEAK_PUT_VALUE && may(queue, entry, older))
            entry->kind = WEAK_PUTV;
        if ((entry->kind == WEAK_ACK || entry->kind == WEAK_FENCE) && may(queue, entry, older)) {
            if (entry->kind == WEAK_ACK)
                complete(queue, entry->last);
            take_out(&queue->pipe, i);
            continue;
        }
        older |= KIND(entry->kind);
        i++;
    }
}

static void send(struct weak_queue *queue, struct weak_entry *entry, struct weak_effect *effect)
{
    bool atomic = entry->kind == WEAK_AW;
    if (entry->lost && !atomic) {
        effect->what |= WEAK_FAILED;
        effect->lost = entry->lost;
        release(entry, entry->value);
    } else {
        *weak_append(&queue->remote) = *entry;
    }
    if (atomic && WEAK_MUTANT(M13_FREES_EARLY))
        __atomic_store_n(queue->busy, 0, __ATOMIC_SEQ_CST);
    entry->kind = atomic ? WEAK_LW : WEAK_ACK;
}

static void read_remote(struct weak_entry *entry, struct weak_effect *effect)
{
    if (entry->lost) {
        effect->what |= WEAK_FAILED;
        effect->lost = entry->lost;
    } else {
        weak_read(&entry->result, entry->remote, entry->size);
    }
    entry->kind = WEAK_LW;
}

static void read_atomic(struct weak_queue *queue, struct weak_entry *entry, struct weak_effect *effect)
{
    uint64_t expected = entry->result.word;
    bool adds = entry->kind == WEAK_RFAA;
    if (__atomic_exchange_n(queue->busy, 1, __ATOMIC_SEQ_CST) && !ignores_atomic(entry))
        return; /* another process was faster, so this has not happened */
    read_remote(entry, effect);
    if (entry->lost || (!adds && entry->result.word != expected && !WEAK_MUTANT(M10_ALWAYS))) {
        __atomic_store_n(queue->busy, 0, __ATOMIC_SEQ_CST);
        return;
    }
    if (adds)
        entry->value.word += entry->result.word;
    entry->kind = WEAK_AW;
    effect->what |= WEAK_ATOMICS;
}

static void give_back(struct weak_queue *queue, unsigned at)
{
    struct weak_entry entry = *weak_at(&queue->pipe, at);
    entry.behind = entry.last;
    take_out(&queue->pipe, at);
    *weak_append(&queue->local) = entry;
}

static void land(struct weak_queue *queue, unsigned at, struct weak_effect *effect)
{
    struct weak_entry entry = *weak_at(&queue->remote, at);
    take_out(&queue->remote, at);
    if (weak_write(entry.remote, entry.value, entry.size))
        effect->what |= WEAK_CHANGED;
    release(&entry, entry.value);
    if (entry.kind != WEAK_AW)
        return;
    __atomic_store_n(queue->busy, 0, __ATOMIC_SEQ_CST);
    effect->what |= WEAK_ATOMICS;
}

static void arrive(struct weak_queue *queue, unsigned at, struct weak_effect *effect)
{
    struct weak_entry entry = *weak_at(&queue->local, at);
    if (at)
        weak_at(&queue->local, at - 1)->behind += entry.behind;
    else
        queue->ready += entry.behind;
    take_out(&queue->local, at);
    if (!entry.lost && weak_write(entry.local, entry.result, entry.size))
        effect->what |= WEAK_CHANGED;
    release(&entry, entry.result);
}

struct weak_effect weak_queue_step(struct weak_queue *queue, struct weak_step step)
{
    struct weak_effect effect = {0, 0};
    struct weak_entry *entry = weak_at(&queue->pipe, step.at);
    switch ((enum weak_class)step.class) {
    case WEAK_FETCH:
        weak_read(&entry->value, entry->local, entry->size);
        entry->kind = WEAK_PUTV;
        break;
    case WEAK_SEND:
        send(queue, entry, &effect);
        break;
    case WEAK_READ:
        read_remote(entry, &effect);
        break;
    case WEAK_ATOMIC:
        read_atomic(queue, entry, &effect);
        break;
    case WEAK_RETURN:
        give_back(queue, step.at);
        break;
    case WEAK_LAND:
        land(queue, step.at, &effect);
        break;
    case WEAK_ARRIVE:
        arrive(queue, step.at, &effect);
        break;
    case WEAK_CLASSES:
        break;
    }
    weak_queue_settle(queue);
    return effect;
}

bool weak_queue_overlook(struct weak_queue *queue)
{
    struct weak_entry *entry = weak_at(&queue->local, 0);
    if (queue->local.count == 0 || entry->behind == 0)
        return false;
    entry->behind--;
    return true;
}

bool weak_queue_set_up(struct weak_queue *queue)
{
    struct weak_entry *entries = calloc(3 * WEAK_RING, sizeof *entries);
    if (!entries)
        return false;
    queue->pipe.entries = entries;
    queue->remote.entries = entries + WEAK_RING;
    queue->local.entries = entries + 2 * WEAK_RING;
    return true;
}

void weak_queue_free(struct weak_queue *queue)
{
    free(queue->pipe.entries);
}
