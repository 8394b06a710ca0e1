/* What the node's server does for others, and a thread for itself towards its own node: the remote half of an
 * operation. (Section 2 of the specification, rules 4, 6 and 9 to 13, over x86-TSO.)
 *
 * Operations of a queue pair come here in the order of its pipe, and each is executed whole before the next, so of
 * what rules 3, 6, 9 and 12 demand one thing is left: a read follows earlier writes to the same node. On x86 a load
 * may overtake a store, so every put ends with a locked instruction. Atomics are locked instructions: atomic against
 * everything, the CPU's included; the order of those towards a node is rao. */
#include "fabric/ofi_intern.h"
#include "fabric/words.h"

#include <string.h>

void ofi_execute(char *heap, const struct message_item *item, const unsigned char *operand,
                 unsigned char *result)
{
    char *target = heap + item->offset;
    uint64_t *word = (uint64_t *)(void *)target, value[2] = {0};
    size_t shift = item->offset % 8;
    switch ((enum fabric_kind)item->kind) {
    case FABRIC_PUT:
        words_copy(target, operand + shift, item->size);
        __asm__ volatile("lock orl $0, (%%rsp)" ::: "memory", "cc");
        break;
    case FABRIC_PUT_VALUE:
        memcpy(value, operand, sizeof *value);
        __atomic_store_n(word, value[0], __ATOMIC_SEQ_CST);
        break;
    case FABRIC_GET:
        words_copy(result + shift, target, item->size);
        break;
    case FABRIC_RCAS:
        memcpy(value, operand, sizeof value);
        __atomic_compare_exchange_n(word, &value[0], value[1], false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        memcpy(result, &value[0], sizeof *value);
        break;
    case FABRIC_RFAA:
        memcpy(value, operand, sizeof *value);
        value[0] = __atomic_fetch_add(word, value[0], __ATOMIC_SEQ_CST);
        memcpy(result, &value[0], sizeof *value);
        break;
    case FABRIC_RFENCE:
        break;
    }
}
