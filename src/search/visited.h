/* The set of states that a search has met, by their hashes: at most 16 bytes a state, at all times. */
#ifndef REMORA_SEARCH_VISITED_H
#define REMORA_SEARCH_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct visited;

/* shared: several threads will add to it. */
struct visited *visited_new(bool shared);
void visited_free(struct visited *);
uint64_t visited_count(const struct visited *);
size_t visited_bytes(const struct visited *);

struct fingerprint {
    uint64_t high, low;
};
struct fingerprint visited_fingerprint(const void *state, size_t size);
void visited_prefetch(const struct visited *, struct fingerprint);
bool visited_add(struct visited *, struct fingerprint); /* true if it was new */

#endif
