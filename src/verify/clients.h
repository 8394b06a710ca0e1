/* All clients of a library up to a bound. A client is a few threads, each a word over an alphabet of
 * statements; which ones depends on the library. Of clients that differ only by the names of threads, nodes
 * or locations one is kept, and clients in which a statement can't matter are left out (clients.c says which).
 * They are ordered by size, so that the first violation is a smallest one. */
#ifndef REMORA_VERIFY_CLIENTS_H
#define REMORA_VERIFY_CLIENTS_H

#include "litmus/ast.h"

#include <stddef.h>

enum verified {
    VERIFY_WAIT,
    VERIFY_SV,
    VERIFY_WLOCK,
    VERIFY_SLOCK,
    VERIFY_NLOCK,
    VERIFY_SC,
    VERIFY_OBJECT,
    VERIFY_SHM,
    N_VERIFIED
};
enum bound { BOUND_SMALL, BOUND_DEFAULT, BOUND_LARGE };

extern const char *const library_names[N_VERIFIED], *const library_over[N_VERIFIED];

struct clients;
struct arena;

struct clients *clients_new(enum verified, enum bound);
void clients_free(struct clients *);
size_t clients_count(const struct clients *);
unsigned clients_threads(const struct clients *, size_t i);
/* Client number i as text and as a test; the same at every run. */
const char *clients_text(struct arena *, const struct clients *, size_t i);
struct lm_test *clients_test(struct arena *, const struct clients *, size_t i);
/* The bound in words, one line for each family of clients. */
const char *clients_bound(struct arena *, enum verified, enum bound);

#endif
