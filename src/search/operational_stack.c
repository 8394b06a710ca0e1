/* See operational_stack.h. A frame is a header, the state, the steps, and the frame's length, all in
 * multiples of 8 bytes. */
#include "search/operational_stack.h"

#include "base/arena.h"

#include <stdlib.h>

struct header {
    uint32_t n_steps, state_size;
};

static size_t frame_bytes(size_t state_size, size_t n_steps)
{
    return sizeof(struct header) + state_size + n_steps * sizeof(struct step) + sizeof(uint64_t);
}

_Static_assert(sizeof(struct step) % 2 == 0 && sizeof(struct header) == 8, "frames are packed by hand");

void stack_free(struct stack *stack)
{
    free(stack->bytes);
}

static void reserve(struct stack *stack, size_t more)
{
    if (stack->bottom == stack->top)
        stack->bottom = stack->top = 0;
    if (stack->top + more <= stack->capacity)
        return;
    if (stack->bottom > stack->capacity / 2) {
        memmove(stack->bytes, stack->bytes + stack->bottom, stack->top - stack->bottom);
        stack->top -= stack->bottom;
        stack->bottom = 0;
    }
    while (stack->top + more > stack->capacity)
        stack->capacity = stack->capacity ? 2 * stack->capacity : 4096;
    stack->bytes = xrealloc(stack->bytes, stack->capacity);
}

void stack_push(struct stack *stack, const uint8_t *state, size_t size, const struct step *steps,
                unsigned n_steps)
{
    size_t bytes = (frame_bytes(size, n_steps) + 7) & ~(size_t)7;
    reserve(stack, bytes);
    uint8_t *at = stack->bytes + stack->top;
    struct header header = {.n_steps = n_steps, .state_size = (uint32_t)size};
    memcpy(at, &header, sizeof header);
    memcpy(at + sizeof header, state, size);
    if (n_steps)
        memcpy(at + sizeof header + size, steps, n_steps * sizeof *steps);
    uint64_t length = bytes;
    memcpy(at + bytes - sizeof length, &length, sizeof length);
    stack->top += bytes;
}

bool stack_pop(struct stack *stack, struct frame *frame)
{
    if (stack_empty(stack))
        return false;
    uint64_t length;
    memcpy(&length, stack->bytes + stack->top - sizeof length, sizeof length);
    stack->top -= length;
    uint8_t *at = stack->bytes + stack->top;
    struct header header;
    memcpy(&header, at, sizeof header);
    frame->n_steps = header.n_steps;
    frame->state_size = header.state_size;
    frame->state = at + sizeof header;
    frame->steps = (struct step *)(void *)(at + sizeof header + header.state_size);
    return true;
}

void stack_give(struct stack *stack, struct stack *to)
{
    size_t middle = stack->bottom + (stack->top - stack->bottom) / 2, end = stack->bottom;
    do {
        struct header header;
        memcpy(&header, stack->bytes + end, sizeof header);
        end += (frame_bytes(header.state_size, header.n_steps) + 7) & ~(size_t)7;
    } while (end < middle);
    reserve(to, end - stack->bottom);
    memcpy(to->bytes + to->top, stack->bytes + stack->bottom, end - stack->bottom);
    to->top += end - stack->bottom;
    stack->bottom = end;
}
