/* Inside the generator of clients: letters, words, families. */
#ifndef REMORA_VERIFY_CLIENTS_LETTERS_H
#define REMORA_VERIFY_CLIENTS_LETTERS_H

#include "verify/clients.h"

#include <string.h>

enum { MAX_WORD = 12, MAX_CLIENT_THREADS = 3, MAX_CLIENT_NODES = 3, MAX_CLIENT_LOCS = 4 };

enum letter_kind {
    L_LOAD = 1, /* of a location */
    L_STORE,
    L_PUT,      /* of a value */
    L_PUT_FROM, /* from the thread's private place */
    L_GET,
    L_RFAA,
    L_RCAS,
    L_PRIVATE, /* load of the private place */
    L_MFENCE,
    L_WAIT,
    L_RFENCE, /* towards a node */
    L_GFENCE,
    L_ACQUIRE, /* of a lock */
    L_RELEASE,
    L_SV_READ,
    L_SV_WRITE,
    L_BCAST, /* to a node */
    L_SV_WAIT,
    L_SC_READ,
    L_SC_WRITE,
    L_SC_CAS,
    L_SC_FAA,
    L_GET_INTO, /* of one location into another, which is on the own node; families of at most two locations */
    L_PUT_COPY, /* of one location, on the own node, to another */
    N_LETTERS
};
#define ALL(kind) (UINT32_C(1) << (kind))

/* Letters over a location, over a node, over a lock or an sc location. */
static const uint32_t of_location =
    ALL(L_LOAD) | ALL(L_STORE) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS);
static const uint32_t of_node = ALL(L_RFENCE) | ALL(L_GFENCE) | ALL(L_BCAST);
static const uint32_t of_sc = ALL(L_SC_READ) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) | ALL(L_SC_FAA);
static const uint32_t of_sv = ALL(L_SV_READ) | ALL(L_SV_WRITE) | ALL(L_BCAST);
static const uint32_t of_two = ALL(L_GET_INTO) | ALL(L_PUT_COPY); /* argument: 2 × own + other */
static const uint32_t remote =
    ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) | ALL(L_GET_INTO) | ALL(L_PUT_COPY);
static const uint32_t writing = ALL(L_STORE) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_PUT_COPY) | ALL(L_RFAA) |
                                ALL(L_RCAS) | ALL(L_SV_WRITE) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) |
                                ALL(L_SC_FAA);
static const uint32_t writes = ALL(L_STORE) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_RFAA) | ALL(L_RCAS);
static const uint32_t to_private = ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS);

struct word {
    uint8_t node, n, letters; /* letters: without acquire and release */
    uint8_t at[MAX_WORD];     /* kind * 8 + argument */
};

/* A family of clients. */
struct family {
    unsigned nodes, threads, letters; /* in all, acquire and release not counted */
    unsigned one;                     /* the most of them in one thread */
    unsigned outside;                 /* the most of them in one thread outside critical sections */
    const char *homes;                /* the node of each location: "001": x and y on 0, z on 1 */
    uint32_t alphabet;
    unsigned sections; /* locks: the most critical sections of one thread, on different locks */
    unsigned objects;  /* locks or sc locations; number i lives on node i */
    unsigned works;    /* work ids; a thread's operations take them by turns. 0 and 1 mean one */
    bool mutual;       /* every thread both reads and writes locations */
};

struct client_word {
    const struct family *family;
    uint8_t threads[MAX_CLIENT_THREADS][2 + MAX_WORD]; /* node, length, letters */
    uint8_t n_threads, letters;
};

struct clients {
    enum verified library;
    struct client_word *all;
    size_t n, capacity;
    const struct family *families;
    /* the family at work */
    struct word *words;
    size_t n_words, words_capacity;
};

static inline unsigned kind_of(uint8_t letter)
{
    return letter >> 3;
}

static inline unsigned argument(uint8_t letter)
{
    return letter & 7;
}

static inline uint8_t letter(unsigned kind, unsigned arg)
{
    return (uint8_t)(kind << 3 | arg);
}

static inline bool in(uint32_t set, uint8_t l)
{
    return set >> kind_of(l) & 1;
}

static inline unsigned home(const struct family *family, unsigned loc)
{
    return (unsigned)(family->homes[loc] - '0');
}

/* The location that a remote operation goes to, or that any other letter names. */
static inline unsigned location(uint8_t l)
{
    return in(of_two, l) ? argument(l) & 1 : argument(l);
}

static inline unsigned n_locs(const struct family *family)
{
    return (unsigned)strlen(family->homes);
}

/* The node that a letter's operation goes to, if it goes to one. */
static inline bool goes_to(const struct family *family, uint8_t l, unsigned node)
{
    if (in(remote, l))
        return home(family, location(l)) == node;
    return kind_of(l) == L_BCAST && argument(l) == node;
}

/* The work id of the remote operation at this place of a word. */
unsigned work_of(const struct family *, const uint8_t *letters, unsigned place);

/* clients_bounds.c: up to one with no nodes. */
const struct family *clients_families(enum verified, enum bound);

#endif
