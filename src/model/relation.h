/* Strict partial orders on the events of an execution, as bit sets kept transitively closed while edges are
 * added. Rows are `words` machine words; an edge that would close a cycle is refused and changes nothing. */
#ifndef REMORA_MODEL_RELATION_H
#define REMORA_MODEL_RELATION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { REL_MAX_WORDS = 16, REL_MAX_EVENTS = REL_MAX_WORDS * 64 };

struct order {
    uint64_t *after;  /* after[e*words…]: what e is before */
    uint64_t *before; /* its inverse */
};

static inline bool bit_test(const uint64_t *set, unsigned i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *set, unsigned i)
{
    set[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bits_or(uint64_t *into, const uint64_t *from, unsigned words)
{
    for (unsigned w = 0; w < words; w++)
        into[w] |= from[w];
}

static inline bool bits_meet(const uint64_t *a, const uint64_t *b, unsigned words)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < words; w++)
        any |= a[w] & b[w];
    return any != 0;
}

static inline bool bits_within(const uint64_t *a, const uint64_t *b, unsigned words)
{
    uint64_t outside = 0;
    for (unsigned w = 0; w < words; w++)
        outside |= a[w] & ~b[w];
    return outside == 0;
}

static inline bool bits_empty(const uint64_t *a, unsigned words)
{
    uint64_t any = 0;
    for (unsigned w = 0; w < words; w++)
        any |= a[w];
    return any == 0;
}

/* for (each element i of set) — the set may change during the loop, the word being read may not grow. */
#define FOR_BITS(i, set, words)                                                                              \
    for (unsigned i##_w = 0; i##_w < (words); i##_w++)                                                       \
        for (uint64_t i##_left = (set)[i##_w], i##_once = 1; i##_once; i##_once = 0)                         \
            for (unsigned i; i##_left && (i = i##_w * 64 + (unsigned)__builtin_ctzll(i##_left), 1);          \
                 i##_left &= i##_left - 1)

static inline uint64_t *order_after(const struct order *o, unsigned e, unsigned words)
{
    return o->after + (size_t)e * words;
}

static inline uint64_t *order_before(const struct order *o, unsigned e, unsigned words)
{
    return o->before + (size_t)e * words;
}

/* Puts a before every event of `targets` (closed upwards or not). False if that would close a cycle. */
static inline bool order_add_many(const struct order *o, unsigned a, const uint64_t *targets, unsigned words)
{
    uint64_t *own = order_after(o, a, words);
    if (bits_within(targets, own, words))
        return true;
    uint64_t gained[REL_MAX_WORDS], sources[REL_MAX_WORDS];
    memcpy(gained, targets, words * sizeof *gained);
    FOR_BITS(b, targets, words)
    bits_or(gained, order_after(o, b, words), words);
    memcpy(sources, order_before(o, a, words), words * sizeof *sources);
    bit_set(sources, a);
    if (bits_meet(gained, sources, words))
        return false;
    FOR_BITS(s, sources, words)
    bits_or(order_after(o, s, words), gained, words);
    FOR_BITS(g, gained, words)
    bits_or(order_before(o, g, words), sources, words);
    return true;
}

static inline bool order_add(const struct order *o, unsigned a, unsigned b, unsigned words)
{
    if (bit_test(order_after(o, a, words), b))
        return true;
    if (a == b || bit_test(order_after(o, b, words), a))
        return false;
    uint64_t target[REL_MAX_WORDS] = {0};
    bit_set(target, b);
    return order_add_many(o, a, target, words);
}

#endif
