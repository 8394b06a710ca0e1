/* Stacks of C code that run one after another on one pthread. x86-64 only, like the library. */
#ifndef REMORA_BASE_CONTEXT_H
#define REMORA_BASE_CONTEXT_H

/* Of a stack that is paused: words of saved registers at its top, the frame pointer's place among them; then the return
 * address. */
enum { CONTEXT_REGISTERS = 6, CONTEXT_FRAME_POINTER = 5 };

/* Pauses the running code, whose stack pointer goes to *save, and continues what was paused with the stack pointer
 * `load`. */
void context_switch(void **save, void *load);

/* The stack pointer of code that is paused right before body(argument), which must never return. top: the stack's end, a
 * multiple of 16. */
void *context_new(void *top, void (*body)(void *), void *argument);

#endif
