/* See world.h. What the library takes from malloc is here too. */
#include "verify/world.h"

#include "base/arena.h"
#include "job/node.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BLOCKS_SIZE = 256 << 10, WORD = sizeof(uint64_t), STRIDE = 8 /* words compared at once */ };

static _Thread_local struct world *entered;

struct world *world_enter(struct world *world)
{
    struct world *before = entered;
    entered = world;
    return before;
}

static void set_up_node(struct world *world, unsigned n)
{
    struct rem_node *node = &world->nodes[n];
    node->self = n;
    node->nodes = world->shape->n_nodes;
    node->threads = world->control->threads;
    node->control = world->control;
    node->memory = world->heaps;
    node->heap_size = world->shape->heap;
    node->home = world->heaps + n * world->shape->heap;
    node->descriptor = -1;
    node->processors = 1;
    heap_init(&node->heap, node->heap_size, node_reserved(node));
    world->jobs[n].node = node;
}

void world_new(struct world *world, const struct world_shape *shape, unsigned self)
{
    size_t control = (sizeof(struct control) + 4095) & ~(size_t)4095;
    *world = (struct world){.shape = shape, .self = self, .blocks_size = BLOCKS_SIZE};
    world->size = control + BLOCKS_SIZE + shape->n_nodes * shape->heap;
    world->memory = mmap(NULL, world->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (world->memory == MAP_FAILED)
        out_of_memory();
    world->control = (struct control *)(void *)world->memory;
    world->blocks = world->memory + control;
    world->heaps = world->blocks + BLOCKS_SIZE;
    unsigned most = 0, on[64] = {0};
    for (unsigned t = 0; t < shape->n_threads; t++)
        most = ++on[shape->thread_node[t]] > most ? on[shape->thread_node[t]] : most;
    world->control->magic = CONTROL_MAGIC;
    world->control->nodes = shape->n_nodes;
    world->control->threads = most;
    world->control->heap = shape->heap;
    struct world *before = world_enter(world);
    world->nodes = world_alloc(world, shape->n_nodes * sizeof *world->nodes);
    world->jobs = world_alloc(world, shape->n_nodes * sizeof *world->jobs);
    world->threads = world_alloc(world, shape->n_threads * sizeof *world->threads);
    for (unsigned n = 0; n < shape->n_nodes; n++)
        set_up_node(world, n);
    world_enter(before);
}

void world_free(struct world *world)
{
    if (world->memory)
        munmap(world->memory, world->size);
    free(world->image);
}

void *world_alloc(struct world *world, size_t size)
{
    size_t rounded = (size + LINE - 1) & ~(size_t)(LINE - 1);
    if (rounded < size || rounded > world->blocks_size - world->blocks_used)
        return NULL;
    void *block = world->blocks + world->blocks_used;
    world->blocks_used += rounded;
    return block;
}

/* --- the sealed world --- */

static char *own_heap(const struct world *world)
{
    return world->heaps + world->shape->thread_node[world->self] * world->shape->heap;
}

void world_seal(struct world *world)
{
    const struct rem_node *node = &world->nodes[world->shape->thread_node[world->self]];
    world->heap_used = node->heap.top;
    world->image = xmalloc(world->blocks_used + world->heap_used);
    memcpy(world->image, world->blocks, world->blocks_used);
    memcpy(world->image + world->blocks_used, own_heap(world), world->heap_used);
}

static unsigned compare(const char *now, const char *image, size_t size, uint32_t base, uint32_t *offsets,
                        uint64_t *values, unsigned n, unsigned most)
{
    for (size_t at = 0; at < size; at += STRIDE * WORD) {
        if (memcmp(now + at, image + at, STRIDE * WORD) == 0)
            continue;
        for (size_t word = at; word < at + STRIDE * WORD; word += WORD) {
            uint64_t value, before;
            memcpy(&value, now + word, WORD);
            memcpy(&before, image + word, WORD);
            if (value == before)
                continue;
            if (n < most) {
                offsets[n] = base + (uint32_t)word;
                values[n] = value;
            }
            n++;
        }
    }
    return n;
}

unsigned world_changes(const struct world *world, uint32_t *offsets, uint64_t *values, unsigned most)
{
    unsigned n = compare(world->blocks, world->image, world->blocks_used, 0, offsets, values, 0, most);
    return compare(own_heap(world), world->image + world->blocks_used, world->heap_used,
                   (uint32_t)world->blocks_used, offsets, values, n, most);
}

void *world_address(const struct world *world, size_t offset)
{
    return offset < world->blocks_used ? world->blocks + offset
                                       : own_heap(world) + (offset - world->blocks_used);
}

void world_restore(struct world *world, const struct changes *changes)
{
    char *heap = own_heap(world);
    memcpy(world->blocks, world->image, world->blocks_used);
    memcpy(heap, world->image + world->blocks_used, world->heap_used);
    for (unsigned i = 0; i < changes->n; i++)
        memcpy(world_address(world, changes->offsets[i]), &changes->values[i], WORD);
}

uint64_t world_word(const struct world *world, const struct changes *changes, const void *word)
{
    uintptr_t in_heap = (uintptr_t)word - (uintptr_t)own_heap(world);
    size_t offset = in_heap < world->heap_used ? world->blocks_used + in_heap
                                               : (size_t)((uintptr_t)word - (uintptr_t)world->blocks);
    if (offset >= world->blocks_used + world->heap_used)
        return 0; /* of an object that could not be initialised */
    uint64_t value;
    memcpy(&value, world->image + offset, WORD);
    for (unsigned i = 0; i < changes->n; i++)
        if (changes->offsets[i] == offset)
            value = changes->values[i];
    return value;
}

uint64_t world_initial(const struct world *world, unsigned node, size_t offset)
{
    uint64_t value;
    if (node == world->shape->thread_node[world->self])
        memcpy(&value, world->image + world->blocks_used + offset, WORD);
    else
        memcpy(&value, world->heaps + node * world->shape->heap + offset, WORD);
    return value;
}

/* --- what the library takes from malloc and the clock --- */

void *model_malloc(size_t size);
void *model_calloc(size_t count, size_t size);
void *model_realloc(void *old, size_t size);
void *model_aligned_alloc(size_t alignment, size_t size);
void model_free(void *block);

void *model_malloc(size_t size)
{
    return world_alloc(entered, size);
}

void *model_calloc(size_t count, size_t size)
{
    return world_alloc(entered, count * size); /* fresh memory is zero, and none is used twice */
}

/* The old block's size is not known, but what lies behind it is the world's too. */
void *model_realloc(void *old, size_t size)
{
    void *block = world_alloc(entered, size);
    if (block && old)
        memmove(block, old, size);
    return block;
}

void *model_aligned_alloc(size_t alignment, size_t size)
{
    return alignment <= LINE ? world_alloc(entered, size) : NULL;
}

void model_free(void *block)
{
    (void)block;
}

/* Time stands still: deadlines pass only if they already have. */
int model_clock_gettime(clockid_t clock, struct timespec *time);

int model_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    entered->timed = true;
    *time = (struct timespec){.tv_nsec = 1};
    return 0;
}
