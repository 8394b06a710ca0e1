/* The states that a worker has still to expand: a stack of packed frames, each a state with the steps to be
 * taken from it. Frames come off the top, or off the bottom to be given to another worker. */
#ifndef REMORA_SEARCH_OPERATIONAL_STACK_H
#define REMORA_SEARCH_OPERATIONAL_STACK_H

#include "model/machine.h"

struct stack {
    uint8_t *bytes;
    size_t bottom, top, capacity;
};

struct frame {
    uint32_t n_steps, state_size;
    uint8_t *state;
    struct step *steps;
};

void stack_free(struct stack *);
void stack_push(struct stack *, const uint8_t *state, size_t size, const struct step *steps,
                unsigned n_steps);
/* The frame stays where it is until the next push. False if there is none. */
bool stack_pop(struct stack *, struct frame *);
/* Moves about half of the frames, the older ones, to the other stack. */
void stack_give(struct stack *, struct stack *to);

static inline bool stack_empty(const struct stack *stack)
{
    return stack->bottom == stack->top;
}

#endif
