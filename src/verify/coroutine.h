/* Coroutines whose stacks can be saved and put back: C code runs until it asks for an operation, and may be
 * continued from there again and again, each time with another answer. x86-64 only, like the library. */
#ifndef REMORA_VERIFY_COROUTINE_H
#define REMORA_VERIFY_COROUTINE_H

#include <stddef.h>

struct coroutine {
    char *memory; /* a guard page, then the stack */
    size_t size;
    char *top;
    void *pointer; /* the stack pointer while it is not running */
    void *caller;  /* that of the caller while it is */
};

void coroutine_new(struct coroutine *, size_t stack_size);
void coroutine_free(struct coroutine *);

/* A fresh run of body(argument), which must never return, up to its first pause. */
void coroutine_start(struct coroutine *, void (*body)(void *), void *argument);
/* In the coroutine: back to the caller. */
void coroutine_pause(struct coroutine *);
/* Goes on after the pause. */
void coroutine_resume(struct coroutine *);

/* The live part of a paused coroutine's stack, its registers included. */
static inline size_t coroutine_live(const struct coroutine *coroutine)
{
    return (size_t)(coroutine->top - (char *)coroutine->pointer);
}
void coroutine_save(const struct coroutine *, void *image);
/* Makes it paused where the image of `size` bytes was taken. */
void coroutine_restore(struct coroutine *, const void *image, size_t size);

/* The return addresses in the image, innermost first; needs frame pointers. Returns how many. */
unsigned coroutine_backtrace(const struct coroutine *, const void *image, size_t size, void **addresses,
                             unsigned most);

#endif
