/* Bytes that others may access at the same time. Atomic accesses, so that the compiler neither splits nor merges nor
 * invents any. */
#include "fabric/words.h"

#include <stdint.h>

static void copy_bytes(unsigned char *to, const unsigned char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

void words_copy(void *to, const void *from, size_t size)
{
    unsigned char *target = to;
    const unsigned char *source = from;
    if (((uintptr_t)to - (uintptr_t)from) % sizeof(uint64_t) == 0) {
        size_t lead = (size_t)(-(uintptr_t)to % sizeof(uint64_t));
        lead = lead < size ? lead : size;
        copy_bytes(target, source, lead);
        target += lead;
        source += lead;
        size -= lead;
        for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t)) {
            uint64_t word = __atomic_load_n((const uint64_t *)(const void *)source, __ATOMIC_ACQUIRE);
            __atomic_store_n((uint64_t *)(void *)target, word, __ATOMIC_RELEASE);
            target += sizeof word;
            source += sizeof word;
        }
    }
    copy_bytes(target, source, size);
}
