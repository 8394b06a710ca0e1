/* See context.h. The switch pushes the callee-saved registers, so that the live part of the stack is all there is of paused
 * code. */
#include "base/context.h"

#include <stdint.h>

__asm__(".text\n"
        ".globl context_switch\n"
        ".hidden context_switch\n"
        ".type context_switch, @function\n"
        "context_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size context_switch, . - context_switch\n"
        ".local context_entry\n"
        ".type context_entry, @function\n"
        "context_entry:\n"
        "    movq %r13, %rdi\n"
        "    call *%r12\n"
        "    ud2\n"
        ".size context_entry, . - context_entry\n");

extern void context_entry(void);

void *context_new(void *top, void (*body)(void *), void *argument)
{
    /* Entered by ret, the entry must see a stack pointer that is a multiple of 16; a zero return address ends
     * backtraces. */
    uintptr_t *slot = (uintptr_t *)top - 2;
    slot[0] = slot[1] = 0;
    *--slot = (uintptr_t)context_entry;
    *--slot = 0; /* rbp */
    *--slot = 0; /* rbx */
    *--slot = (uintptr_t)body;
    *--slot = (uintptr_t)argument;
    *--slot = 0; /* r14 */
    *--slot = 0; /* r15 */
    return slot;
}
