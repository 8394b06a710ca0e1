/* The live part of the stack is all there is of a paused coroutine (base/context.h). What lies below is cleared before it runs on: uninitialised bytes of later frames are
 * then the same whatever ran before, and equal states have equal images. */
#include "verify/coroutine.h"

#include "base/arena.h"
#include "base/context.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { GUARD = 4096, CLEARED = 4096 };

void coroutine_new(struct coroutine *coroutine, size_t stack_size)
{
    stack_size = (stack_size + GUARD - 1) & ~(size_t)(GUARD - 1);
    coroutine->size = stack_size + GUARD;
    coroutine->memory =
        mmap(NULL, coroutine->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (coroutine->memory == MAP_FAILED || mprotect(coroutine->memory, GUARD, PROT_NONE) != 0)
        out_of_memory();
    coroutine->top = coroutine->memory + coroutine->size;
}

void coroutine_free(struct coroutine *coroutine)
{
    if (coroutine->memory)
        munmap(coroutine->memory, coroutine->size);
}

static void clear_below(struct coroutine *coroutine)
{
    char *low = coroutine->memory + GUARD, *pointer = coroutine->pointer;
    size_t room = (size_t)(pointer - low);
    size_t cleared = room < CLEARED ? room : CLEARED;
    memset(pointer - cleared, 0, cleared);
}

void coroutine_resume(struct coroutine *coroutine)
{
    clear_below(coroutine);
    context_switch(&coroutine->caller, coroutine->pointer);
}

void coroutine_pause(struct coroutine *coroutine)
{
    context_switch(&coroutine->pointer, coroutine->caller);
}

void coroutine_start(struct coroutine *coroutine, void (*body)(void *), void *argument)
{
    coroutine->pointer = context_new(coroutine->top, body, argument);
    coroutine_resume(coroutine);
}

void coroutine_save(const struct coroutine *coroutine, void *image)
{
    memcpy(image, coroutine->pointer, coroutine_live(coroutine));
}

void coroutine_restore(struct coroutine *coroutine, const void *image, size_t size)
{
    coroutine->pointer = coroutine->top - size;
    memcpy(coroutine->pointer, image, size);
}

unsigned coroutine_backtrace(const struct coroutine *coroutine, const void *image, size_t size,
                             void **addresses, unsigned most)
{
    const uintptr_t *words = image;
    uintptr_t low = (uintptr_t)coroutine->top - size, high = (uintptr_t)coroutine->top;
    unsigned n = 0;
    if (size < (CONTEXT_REGISTERS + 1) * sizeof(uintptr_t) || most == 0)
        return 0;
    addresses[n++] = (void *)words[CONTEXT_REGISTERS];
    uintptr_t frame = words[CONTEXT_FRAME_POINTER];
    while (n < most && frame >= low && frame <= high - 2 * sizeof(uintptr_t) && frame % 8 == 0) {
        const uintptr_t *at = words + (frame - low) / sizeof(uintptr_t);
        if (at[1] == 0)
            break;
        addresses[n++] = (void *)at[1];
        if (at[0] <= frame)
            break;
        frame = at[0];
    }
    return n;
}
