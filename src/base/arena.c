/* Region allocation (see arena.h): a chain of blocks, each twice as large as the one before up to 1 MiB. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

struct block {
    struct block *older;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
    struct block *newest;
    size_t next_size;
};

_Noreturn void out_of_memory(void)
{
    static const char message[] = "remora: out of memory\n";
    ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
    (void)written;
    _exit(3);
}

void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *xrealloc(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

struct arena *arena_new(void)
{
    struct arena *arena = xcalloc(1, sizeof *arena);
    arena->next_size = FIRST_BLOCK;
    return arena;
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    for (struct block *block = arena->newest, *older; block; block = older) {
        older = block->older;
        free(block);
    }
    free(arena);
}

static struct block *add_block(struct arena *arena, size_t at_least)
{
    size_t size = arena->next_size > at_least ? arena->next_size : at_least;
    struct block *block = xmalloc(sizeof *block + size);
    block->older = arena->newest;
    block->used = 0;
    block->size = size;
    arena->newest = block;
    if (arena->next_size < LARGEST_BLOCK)
        arena->next_size *= 2;
    return block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        out_of_memory();
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *block = arena->newest;
    if (!block || block->size - block->used < rounded)
        block = add_block(arena, rounded);
    void *memory = block->data + block->used;
    block->used += rounded;
    return memset(memory, 0, rounded);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}
