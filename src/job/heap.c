/* The symmetric heap's book-keeping: first fit over the blocks in order of address. Deterministic, since the
 * nodes must agree without talking to each other. */
#include "job/node.h"

#include <stdlib.h>
#include <string.h>

int heap_init(struct heap *heap, size_t size, size_t reserved)
{
    if (reserved >= size)
        return REM_ENOMEM;
    heap->capacity = 16;
    heap->blocks = calloc(heap->capacity, sizeof *heap->blocks);
    if (!heap->blocks)
        return REM_ENOMEM;
    heap->blocks[0] = (struct block){0, reserved, true};
    heap->blocks[1] = (struct block){reserved, size - reserved, false};
    heap->count = 2;
    atomic_init(&heap->top, reserved);
    return 0;
}

void heap_free(struct heap *heap)
{
    free(heap->blocks);
}

static bool grow(struct heap *heap)
{
    if (heap->count < heap->capacity)
        return true;
    struct block *more = realloc(heap->blocks, 2 * heap->capacity * sizeof *more);
    if (!more)
        return false;
    heap->blocks = more;
    heap->capacity *= 2;
    return true;
}

static void move_blocks(struct heap *heap, size_t to, size_t from)
{
    memmove(&heap->blocks[to], &heap->blocks[from], (heap->count - from) * sizeof *heap->blocks);
    heap->count = heap->count + to - from;
}

int heap_take(struct heap *heap, size_t size, size_t *offset)
{
    if (size > SIZE_MAX - LINE || !grow(heap))
        return REM_ENOMEM;
    size = (size + LINE - 1) & ~(size_t)(LINE - 1);
    size_t i = 0;
    while (i < heap->count && (heap->blocks[i].used || heap->blocks[i].size < size))
        i++;
    if (i == heap->count)
        return REM_ENOMEM;
    struct block *block = &heap->blocks[i];
    if (block->size > size) {
        move_blocks(heap, i + 1, i);
        block[1] = (struct block){block->offset + size, block->size - size, false};
        block->size = size;
    }
    block->used = true;
    *offset = block->offset;
    if (atomic_load_explicit(&heap->top, memory_order_relaxed) < *offset + size)
        atomic_store_explicit(&heap->top, *offset + size, memory_order_relaxed);
    return 0;
}

/* Joins block i with its successor if both are free. */
static void join(struct heap *heap, size_t i)
{
    if (i + 1 >= heap->count || heap->blocks[i].used || heap->blocks[i + 1].used)
        return;
    heap->blocks[i].size += heap->blocks[i + 1].size;
    move_blocks(heap, i + 1, i + 2);
}

int heap_give(struct heap *heap, size_t offset, size_t *size)
{
    for (size_t i = 1; i < heap->count; i++) {
        if (heap->blocks[i].offset != offset || !heap->blocks[i].used)
            continue;
        *size = heap->blocks[i].size;
        heap->blocks[i].used = false;
        join(heap, i);
        join(heap, i - 1);
        return 0;
    }
    return REM_EINVAL;
}
