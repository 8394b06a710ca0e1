/* See cpu.h. Accesses to memory that is no node's heap are the thread's own; of those only locked instructions
 * matter, as the fences that they are. */
#include "verify/cpu.h"

#include "fabric/model.h"
#include "job/node.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) };

/* The word's place, if it is in some node's heap. */
static bool find(const void *word, unsigned size, struct op *op)
{
    struct model_thread *model = model_self();
    const struct rem_node *node = model->node;
    uintptr_t at = (uintptr_t)word - (uintptr_t)node->memory;
    if (at >= node->nodes * node->heap_size)
        return false;
    if (size != WORD || at % WORD != 0) {
        model->fault(model, "an access to a part of a word");
        abort();
    }
    op->loc = model->locate(model, (unsigned)(at / node->heap_size), at % node->heap_size);
    op->local = PROG_NO_LOC;
    return true;
}

static uint64_t ask(const struct op *op)
{
    return model_self()->ask(model_self(), op);
}

static void fence(void)
{
    ask(&(struct op){.kind = OP_MFENCE, .loc = PROG_NO_LOC, .local = PROG_NO_LOC});
}

uint64_t cpu_load(const volatile void *word, unsigned size)
{
    struct op op = {.kind = OP_LOAD};
    const void *plain = (const void *)(uintptr_t)word;
    if (find(plain, size, &op))
        return ask(&op);
    uint64_t value = 0;
    memcpy(&value, plain, size);
    return value;
}

void cpu_store(void *word, unsigned size, uint64_t value)
{
    struct op op = {.kind = OP_STORE, .v = value};
    if (find(word, size, &op))
        ask(&op);
    else
        memcpy(word, &value, size);
}

static uint64_t own_locked(void *word, unsigned size, uint64_t value)
{
    uint64_t old = 0;
    memcpy(&old, word, size);
    memcpy(word, &value, size);
    fence();
    return old;
}

uint64_t cpu_exchange(void *word, unsigned size, uint64_t value)
{
    struct op op = {.kind = OP_XCHG, .v = value};
    return find(word, size, &op) ? ask(&op) : own_locked(word, size, value);
}

uint64_t cpu_fetch_add(void *word, unsigned size, uint64_t add)
{
    struct op op = {.kind = OP_FAA, .v = add};
    if (find(word, size, &op))
        return ask(&op);
    uint64_t old = 0;
    memcpy(&old, word, size);
    return own_locked(word, size, old + add);
}

bool cpu_compare_exchange(void *word, unsigned size, uint64_t *expected, uint64_t desired)
{
    struct op op = {.kind = OP_CAS, .e = *expected, .v = desired};
    uint64_t old = 0;
    if (find(word, size, &op)) {
        old = ask(&op);
    } else {
        memcpy(&old, word, size);
        own_locked(word, size, old == *expected ? desired : old);
    }
    bool swapped = old == *expected;
    *expected = old;
    return swapped;
}
