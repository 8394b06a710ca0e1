/* See test_names.h. remora/model.h has the setup of a test say what its objects and blocks of memory are called. */
#include "verify/test_names.h"

#include "base/arena.h"
#include "job/node.h"
#include "tower/thread.h"
#include "verify/c_program.h"
#include "verify/word_names.h"

#include <remora/model.h>
#include <string.h>

static struct model_named *add(enum rem_model_kind kind, const char *name)
{
    struct model_frame *frame = c_program_running()->frame;
    if (frame->n_named == MODEL_MOST_NAMES)
        return NULL;
    struct model_named *named = &frame->named[frame->n_named++];
    *named = (struct model_named){.kind = (unsigned char)kind, .name = name, .node = frame->node};
    return named;
}

/* --- called by the tests --- */

void *rem_model_name(enum rem_model_kind kind, const void *object, const char *expression)
{
    struct model_named *named = add(kind, expression);
    if (named)
        named->object = object;
    return (void *)(uintptr_t)object;
}

void **rem_model_name_memory(void **pointer, size_t size, const char *expression)
{
    struct model_named *named = add(REM_MODEL_MEMORY, expression);
    if (named) {
        named->object = pointer;
        named->size = size;
    }
    return pointer;
}

int rem_model_words(rem_job *job, uint64_t **words, size_t count, const char *name)
{
    struct model_frame *frame = c_program_running()->frame;
    void *memory;
    if (model_rem_alloc(job, count * sizeof **words, &memory) != 0) {
        frame->failed = true;
        return 0;
    }
    *words = memory;
    struct model_named *named = add(REM_MODEL_WORDS, name);
    if (named) {
        named->object = *words;
        named->size = count * sizeof **words;
    }
    return 1;
}

/* --- names --- */

/* "(void **)&frame->lock" is called lock. */
static const char *short_name(const char *expression)
{
    const char *name = expression;
    for (const char *at = expression; *at; at++)
        if (*at == ')' || *at == '&' || *at == '.' || *at == ' ' ||
            (*at == '>' && at > expression && at[-1] == '-'))
            name = at + 1;
    return *name ? name : expression;
}

static const char *memory_word(struct arena *arena, const char *name, unsigned node, const void *memory,
                               size_t size, const uint64_t *word)
{
    if (!memory || (uintptr_t)word - (uintptr_t)memory >= size)
        return NULL;
    size_t at = (size_t)(word - (const uint64_t *)memory);
    return size <= sizeof *word ? arena_printf(arena, "%s@%u", name, node)
                                : arena_printf(arena, "%s[%zu]@%u", name, at, node);
}

static bool is_object(const struct model_named *named)
{
    return named->kind != REM_MODEL_WORDS && named->kind != REM_MODEL_MEMORY;
}

static const unsigned char kinds[] = {
    [REM_MODEL_SV] = OBJECT_SV,       [REM_MODEL_WLOCK] = OBJECT_WLOCK, [REM_MODEL_SLOCK] = OBJECT_SLOCK,
    [REM_MODEL_NLOCK] = OBJECT_NLOCK, [REM_MODEL_SC] = OBJECT_SC,       [REM_MODEL_OBJECT] = OBJECT_OBJECT};

static const char *named_word(struct arena *arena, const struct world *world, const struct model_named *named,
                              const uint64_t *word)
{
    const char *name = short_name(named->name);
    if (named->kind == REM_MODEL_WORDS)
        return memory_word(arena, named->name, named->node, named->object, named->size, word);
    if (named->kind == REM_MODEL_MEMORY)
        return memory_word(arena, name, named->node, *(void *const *)named->object, named->size, word);
    return object_word_name(arena, world, (enum object_kind)kinds[named->kind], named->object, name,
                            named->node, word);
}

const char *model_location_name(struct arena *arena, const void *context, unsigned loc)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    const struct world *world = c_program_world(program, 0);
    const struct model_frame *frame = world->frame;
    unsigned node;
    size_t offset;
    c_program_place(program, loc, &node, &offset);
    const uint64_t *word = (const uint64_t *)(const void *)(world->nodes[node].home + offset);
    const char *name = reserved_word_name(arena, world, node, offset);
    for (unsigned i = 0; i < frame->n_named && !name; i++)
        if (frame->named[i].node == node)
            name = named_word(arena, world, &frame->named[i], word);
    return name ? name : arena_printf(arena, "word %zu of node %u", offset / sizeof *word, node);
}

bool model_is_result(const void *context, unsigned loc)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    unsigned node;
    size_t offset;
    c_program_place(program, loc, &node, &offset);
    return is_result_word(c_program_world(program, 0), node, offset);
}

enum place_word model_place_word(const void *context, unsigned loc)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    const struct world *world = c_program_world(program, 0);
    const struct model_frame *frame = world->frame;
    unsigned node;
    size_t offset;
    c_program_place(program, loc, &node, &offset);
    const uint64_t *word = (const uint64_t *)(const void *)(world->nodes[node].home + offset);
    enum place_word place = NO_PLACE;
    for (unsigned i = 0; i < frame->n_named && place == NO_PLACE; i++) {
        const struct model_named *named = &frame->named[i];
        if (named->node == node && is_object(named))
            place = object_place_word(world, (enum object_kind)kinds[named->kind], named->object, word);
    }
    return place;
}

const char *model_held(const void *context, unsigned thread, uint32_t point, unsigned number,
                       uint64_t *ticket)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    const struct world *world = c_program_world(program, thread);
    const struct model_frame *frame = world->frame;
    for (unsigned i = 0; i < frame->n_named; i++) {
        const struct model_named *named = &frame->named[i];
        if (named->node != world->shape->thread_node[thread] || !is_object(named))
            continue;
        const uint64_t *word = object_held(world, (enum object_kind)kinds[named->kind], named->object);
        uint64_t held = word ? c_program_word_at(program, thread, point, word) : 0;
        if (held && number-- == 0) {
            *ticket = held - 1;
            return short_name(named->name);
        }
    }
    return NULL;
}

/* The library notes, for each node and work id, the number of the last operation. */
int model_work_id(const void *context, unsigned thread, uint32_t before, uint32_t after, unsigned node)
{
    struct c_program *program = (struct c_program *)(uintptr_t)context;
    const struct rem_thread_state *state = c_program_world(program, thread)->threads[thread].state;
    for (unsigned work = 0; work < REM_WORK_IDS; work++)
        if (c_program_word_at(program, thread, before, &state->last[node][work]) !=
            c_program_word_at(program, thread, after, &state->last[node][work]))
            return (int)work;
    return -1;
}
