/* The visited set (visited.h).
 *
 * Of each state 96 bits of its 128-bit XXH3 hash are kept, in 12 bytes; 8 further bits choose the segment.
 * Two of N states are taken for one another with a probability below N^2 / 2 / 2^104: about 2.5e-14 for 10^9
 * states.
 *
 * A segment is a sorted array with gaps: an entry stands at the place that its hash, as a fraction, points
 * to, or as soon after it as there is room, and entries are in the order of their hashes. So a search for an
 * absent entry ends at the first larger one, and growing is one linear pass. A segment grows by an eighth
 * when it is 90% full, so it is 80% full right after, which with the tail is 15.2 bytes a state; segments
 * grow one at a time. (The first few hundred entries of a segment cost more.) */
#include "search/visited.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SEGMENTS = 256, FIRST_PLACES = 16 };

/* Three words rather than a struct with a uint64_t, which would take 16 bytes. key[0] is the most
 * significant; an entry is free when key[2] is 0. */
struct entry {
    uint32_t key[3];
};

struct segment {
    struct entry *entries;
    uint32_t places, count;
    pthread_mutex_t lock;
};

/* Further entries that stand behind the places, for what is pushed over the end; the last of them is always
 * free. */
static uint32_t tail(uint32_t places)
{
    return 16 + places / 64;
}

struct visited {
    bool shared;
    atomic_size_t bytes;
    struct segment segments[SEGMENTS];
};

struct visited *visited_new(bool shared)
{
    struct visited *set = xcalloc(1, sizeof *set);
    set->shared = shared;
    atomic_init(&set->bytes, sizeof *set);
    for (unsigned s = 0; shared && s < SEGMENTS; s++)
        pthread_mutex_init(&set->segments[s].lock, NULL);
    return set;
}

void visited_free(struct visited *set)
{
    for (unsigned s = 0; s < SEGMENTS; s++) {
        free(set->segments[s].entries);
        if (set->shared)
            pthread_mutex_destroy(&set->segments[s].lock);
    }
    free(set);
}

uint64_t visited_count(const struct visited *set)
{
    uint64_t count = 0;
    for (unsigned s = 0; s < SEGMENTS; s++)
        count += set->segments[s].count;
    return count;
}

size_t visited_bytes(const struct visited *set)
{
    return atomic_load_explicit(&set->bytes, memory_order_relaxed);
}

struct fingerprint visited_fingerprint(const void *state, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(state, size);
    return (struct fingerprint){.high = hash.high64, .low = hash.low64};
}

static unsigned segment_of(struct fingerprint print)
{
    return (unsigned)(print.low >> 32) % SEGMENTS;
}

static uint32_t place_of(const struct segment *segment, uint64_t high)
{
    return (uint32_t)((high >> 32) * segment->places >> 32);
}

void visited_prefetch(const struct visited *set, struct fingerprint print)
{
    const struct segment *segment = &set->segments[segment_of(print)];
    if (!set->shared && segment->entries)
        __builtin_prefetch(&segment->entries[place_of(segment, print.high)]);
}

static uint64_t high_of(const struct entry *entry)
{
    return (uint64_t)entry->key[0] << 32 | entry->key[1];
}

/* The first entry, from its place on, that is free or not less than the given one. */
static struct entry *find(const struct segment *segment, uint64_t high, uint32_t low)
{
    struct entry *entry = &segment->entries[place_of(segment, high)];
    while (entry->key[2] && (high_of(entry) < high || (high_of(entry) == high && entry->key[2] < low)))
        entry++;
    return entry;
}

/* Copies the entries into a larger array. False if they don't fit, which takes an
 * absurd clustering of hashes. */
static bool spread(struct segment *segment, uint32_t places)
{
    struct segment larger = {.places = places,
                             .entries = xcalloc(places + tail(places), sizeof(struct entry))};
    struct entry *next = larger.entries, *last = larger.entries + places + tail(places) - 1;
    uint32_t all = segment->entries ? segment->places + tail(segment->places) : 0;
    for (uint32_t i = 0; i < all; i++) {
        const struct entry *entry = &segment->entries[i];
        if (!entry->key[2])
            continue;
        struct entry *own = &larger.entries[place_of(&larger, high_of(entry))];
        next = own > next ? own : next;
        if (next >= last) {
            free(larger.entries);
            return false;
        }
        *next++ = *entry;
    }
    free(segment->entries);
    segment->entries = larger.entries;
    segment->places = places;
    return true;
}

static size_t entries_bytes(const struct segment *segment)
{
    return segment->places ? (segment->places + tail(segment->places)) * sizeof(struct entry) : 0;
}

static void grow(struct visited *set, struct segment *segment)
{
    uint32_t places = segment->places ? segment->places + segment->places / 8 + 1 : FIRST_PLACES;
    size_t before = entries_bytes(segment);
    while (!spread(segment, places))
        places += places / 8 + 1;
    atomic_fetch_add_explicit(&set->bytes, entries_bytes(segment) - before, memory_order_relaxed);
}

static bool add(struct visited *set, struct segment *segment, uint64_t high, uint32_t low)
{
    if (!segment->entries)
        grow(set, segment);
    struct entry *entry = find(segment, high, low);
    if (entry->key[2] == low && high_of(entry) == high)
        return false;
    const struct entry *last = segment->entries + segment->places + tail(segment->places) - 1;
    struct entry *gap = entry;
    while (gap->key[2])
        gap++;
    if (gap == last || segment->count >= segment->places - segment->places / 10) {
        grow(set, segment);
        return add(set, segment, high, low);
    }
    memmove(entry + 1, entry, (size_t)(gap - entry) * sizeof *entry);
    *entry = (struct entry){{(uint32_t)(high >> 32), (uint32_t)high, low}};
    segment->count++;
    return true;
}

bool visited_add(struct visited *set, struct fingerprint print)
{
    struct segment *segment = &set->segments[segment_of(print)];
    uint32_t low = (uint32_t)print.low ? (uint32_t)print.low : 1;
    if (!set->shared)
        return add(set, segment, print.high, low);
    pthread_mutex_lock(&segment->lock);
    bool new = add(set, segment, print.high, low);
    pthread_mutex_unlock(&segment->lock);
    return new;
}
