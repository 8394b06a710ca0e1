/* What the words of the library's objects are called in reports. */
#ifndef REMORA_VERIFY_WORD_NAMES_H
#define REMORA_VERIFY_WORD_NAMES_H

#include "verify/world.h"

struct arena;

enum object_kind { OBJECT_SV, OBJECT_WLOCK, OBJECT_SLOCK, OBJECT_NLOCK, OBJECT_SC, OBJECT_OBJECT };

enum place_word { NO_PLACE, PLACE_TICKET, PLACE_OTHER };

/* "l.serving", "l.ticket of P1": a word of the node, if it belongs to the object, a handle of that node; else NULL. */
const char *object_word_name(struct arena *, const struct world *, enum object_kind, const void *object,
                             const char *name, unsigned node, const uint64_t *word);
/* Of which field of a thread's place there, which only the library's calls of that thread use. */
enum place_word object_place_word(const struct world *, enum object_kind, const void *object,
                                  const uint64_t *word);
/* Of a lock (wlock, slock, nlock): the word in which the world's thread keeps 1 + the ticket that it holds, or 0. NULL: it is
 * none. */
const uint64_t *object_held(const struct world *, enum object_kind, const void *object);
/* The library's words that belong to no object; NULL: it is none. */
const char *reserved_word_name(struct arena *, const struct world *, unsigned node, size_t offset);
/* One into which a thread's calls that return a value have it fetched. */
bool is_result_word(const struct world *, unsigned node, size_t offset);

#endif
