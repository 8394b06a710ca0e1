/* See word_names.h. */
#include "verify/word_names.h"

#include "base/arena.h"
#include "job/node.h"
#include "tower/ticket.h"

#include <remora/remora.h>
#include <stddef.h>

enum { WORDS_IN_LINE = LINE / sizeof(uint64_t) };

/* The thread that has this place among those of its node: "P1". */
static const char *thread_name(struct arena *arena, const struct world *world, unsigned node, unsigned slot)
{
    for (unsigned t = 0, on_node = 0; t < world->shape->n_threads; t++)
        if (world->shape->thread_node[t] == node && on_node++ == slot)
            return arena_printf(arena, "P%u", t);
    return "no thread";
}

static bool within(const uint64_t *word, const void *start, size_t size)
{
    return (uintptr_t)word - (uintptr_t)start < size;
}

static const char *ticket_word(struct arena *arena, const struct world *world,
                               const struct rem_ticket_lock *lock, const char *name, unsigned node,
                               const uint64_t *word)
{
    static const char *const places[][2] = {
        {"ticket of ", ""}, {"copy of ", ".serving"}, {"copy of a mark of ", ""}, {"record of holding ", ""}};
    unsigned threads = world->nodes[0].threads;
    if (word == &lock->words[TICKET_NEXT])
        return arena_printf(arena, "%s.next", name);
    if (word == &lock->words[TICKET_SERVING])
        return arena_printf(arena, "%s.serving", name);
    if (within(word, lock->words, (TICKET_RECORD + (size_t)lock->record) * sizeof *word))
        return arena_printf(arena, "%s.record[%zu]", name, (size_t)(word - lock->words) - TICKET_RECORD);
    if (!within(word, lock->places, threads * sizeof *lock->places))
        return NULL;
    unsigned at = (unsigned)(word - (const uint64_t *)(const void *)lock->places);
    unsigned field = at % WORDS_IN_LINE;
    const char *const *place = field < 4 ? places[field] : (const char *const[]){"place at ", ""};
    return arena_printf(arena, "%s's %s%s%s", thread_name(arena, world, node, at / WORDS_IN_LINE), place[0],
                        name, place[1]);
}

static const char *released_word(struct arena *arena, const struct world *world, const rem_wlock *lock,
                                 const char *name, unsigned node, const uint64_t *word)
{
    unsigned threads = world->nodes[0].threads;
    if (!within(word, lock->released, world->shape->n_nodes * threads * sizeof *word))
        return ticket_word(arena, world, &lock->tickets, name, node, word);
    unsigned at = (unsigned)(word - lock->released);
    return arena_printf(arena, "%s.rel[%s]@%u", name, thread_name(arena, world, at / threads, at % threads),
                        node);
}

static const char *cell_word(struct arena *arena, const rem_sc *sc, const char *name, const uint64_t *word)
{
    static const char *const fields[] = {".next", ".serving", ""};
    if (!within(word, sc->cells, sc->count * LINE))
        return NULL;
    size_t at = (size_t)(word - (const uint64_t *)(const void *)sc->cells), cell = at / WORDS_IN_LINE;
    const char *field = at % WORDS_IN_LINE < 3 ? fields[at % WORDS_IN_LINE] : ".rest";
    return sc->count == 1 ? arena_printf(arena, "%s%s", name, field)
                          : arena_printf(arena, "%s[%zu]%s", name, cell, field);
}

static const char *data_word(struct arena *arena, const struct world *world, const rem_object *object,
                             const char *name, unsigned node, const uint64_t *word)
{
    const uint64_t *data = (const uint64_t *)(const void *)object->data;
    if (within(word, data, object->size))
        return object->size == sizeof *word ? name
                                            : arena_printf(arena, "%s[%zu]", name, (size_t)(word - data));
    size_t copy = 2 * object->size;
    if (within(word, object->copies, world->nodes[0].threads * copy))
        return arena_printf(
            arena, "%s's copy of %s",
            thread_name(arena, world, node,
                        (unsigned)((const unsigned char *)word - object->copies) / (unsigned)copy),
            name);
    return ticket_word(arena, world, &object->lock.tickets, name, node, word);
}

static const struct rem_ticket_lock *tickets_of(enum object_kind kind, const void *object)
{
    switch (kind) {
    case OBJECT_WLOCK:
        return &((const rem_wlock *)object)->tickets;
    case OBJECT_SLOCK:
        return &((const rem_slock *)object)->weak.tickets;
    case OBJECT_NLOCK:
        return &((const rem_nlock *)object)->tickets;
    case OBJECT_OBJECT:
        return &((const rem_object *)object)->lock.tickets;
    default:
        return NULL;
    }
}

enum place_word object_place_word(const struct world *world, enum object_kind kind, const void *object,
                                  const uint64_t *word)
{
    const struct rem_ticket_lock *lock = tickets_of(kind, object);
    if (!lock || !within(word, lock->places, world->nodes[0].threads * sizeof *lock->places))
        return NO_PLACE;
    size_t at = (size_t)((uintptr_t)word - (uintptr_t)lock->places) % sizeof *lock->places;
    return at == offsetof(struct rem_ticket, ticket) ? PLACE_TICKET : PLACE_OTHER;
}

const uint64_t *object_held(const struct world *world, enum object_kind kind, const void *object)
{
    const struct rem_ticket_lock *lock = kind == OBJECT_OBJECT ? NULL : tickets_of(kind, object);
    return lock ? &lock->places[world->threads[world->self].slot].held : NULL;
}

const char *object_word_name(struct arena *arena, const struct world *world, enum object_kind kind,
                             const void *object, const char *name, unsigned node, const uint64_t *word)
{
    switch (kind) {
    case OBJECT_SV:
        return word == ((const rem_sv *)object)->word ? arena_printf(arena, "%s@%u", name, node) : NULL;
    case OBJECT_WLOCK:
        return released_word(arena, world, object, name, node, word);
    case OBJECT_SLOCK:
        return released_word(arena, world, &((const rem_slock *)object)->weak, name, node, word);
    case OBJECT_NLOCK:
        return ticket_word(arena, world, &((const rem_nlock *)object)->tickets, name, node, word);
    case OBJECT_SC:
        return cell_word(arena, object, name, word);
    default:
        return data_word(arena, world, object, name, node, word);
    }
}

const char *reserved_word_name(struct arena *arena, const struct world *world, unsigned node, size_t offset)
{
    if (offset >= node_reserved(&world->nodes[node]))
        return NULL;
    if (offset < RESERVED_PRIVATE)
        return arena_printf(arena, "the fence's dummy word on node %u", node);
    return arena_printf(arena, "the library's own word of %s",
                        thread_name(arena, world, node, (unsigned)((offset - RESERVED_PRIVATE) / LINE)));
}

bool is_result_word(const struct world *world, unsigned node, size_t offset)
{
    return offset >= RESERVED_PRIVATE && offset < node_reserved(&world->nodes[node]);
}
