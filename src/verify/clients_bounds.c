/* The bounds of verification, as families of clients. */
#include "verify/clients_letters.h"

#include "base/arena.h"

/* --- the bounds --- */

#define WAIT_LETTERS                                                                                         \
    (ALL(L_LOAD) | ALL(L_STORE) | ALL(L_PUT) | ALL(L_PUT_FROM) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) |    \
     ALL(L_PRIVATE) | ALL(L_MFENCE) | ALL(L_WAIT) | ALL(L_RFENCE) | ALL(L_GET_INTO) | ALL(L_PUT_COPY))
#define LOCK_LETTERS                                                                                         \
    (ALL(L_LOAD) | ALL(L_STORE) | ALL(L_PUT) | ALL(L_GET) | ALL(L_RFAA) | ALL(L_RCAS) | ALL(L_PRIVATE) |     \
     ALL(L_WAIT) | ALL(L_RFENCE) | ALL(L_GFENCE))
#define PLAIN_LETTERS (ALL(L_LOAD) | ALL(L_STORE) | ALL(L_PUT) | ALL(L_GET) | ALL(L_PRIVATE) | ALL(L_WAIT))
/* What stands around the operations that must drain a store buffer. */
#define BUFFER_LETTERS (ALL(L_LOAD) | ALL(L_STORE) | ALL(L_MFENCE))
#define SV_LETTERS                                                                                           \
    (ALL(L_SV_READ) | ALL(L_SV_WRITE) | ALL(L_BCAST) | ALL(L_SV_WAIT) | ALL(L_GFENCE) | ALL(L_LOAD) |        \
     ALL(L_STORE) | ALL(L_PUT))
#define SC_LETTERS                                                                                           \
    (ALL(L_SC_READ) | ALL(L_SC_WRITE) | ALL(L_SC_CAS) | ALL(L_SC_FAA) | ALL(L_LOAD) | ALL(L_STORE) |         \
     ALL(L_PUT) | ALL(L_GFENCE))
#define END                                                                                                  \
    {                                                                                                        \
        0                                                                                                    \
    }

/* nodes, threads, letters, in one thread, of those outside, homes, alphabet, sections, objects, work ids, mutual */
static const struct family families[N_VERIFIED][3][7] = {
    [VERIFY_WAIT] = {{{2, 2, 3, 3, 0, "01", WAIT_LETTERS, 0, 0, 2, false}, END},
                     {{2, 2, 4, 3, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
                      {2, 3, 3, 1, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
                      {2, 2, 5, 4, 0, "01", PLAIN_LETTERS, 0, 0, 2, false},
                      END},
                     {{2, 2, 5, 4, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
                      {3, 3, 4, 2, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
                      {2, 2, 6, 5, 0, "01", PLAIN_LETTERS, 0, 0, 2, false},
                      END}},
    [VERIFY_SHM] =
        {{{2, 2, 3, 3, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
          {2, 2, 5, 3, 0, "00", BUFFER_LETTERS | ALL(L_PUT) | ALL(L_GET), 0, 0, 0, true},
          {1, 2, 5, 3, 0, "00", BUFFER_LETTERS | ALL(L_PUT_COPY), 0, 0, 0, true},
          END},
         {{2, 2, 4, 3, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
          {2, 3, 3, 1, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
          {2, 2, 6, 3, 0, "00", BUFFER_LETTERS | ALL(L_PUT) | ALL(L_GET), 0, 0, 0, true},
          {1, 2, 5, 3, 0, "00", BUFFER_LETTERS | ALL(L_PUT_COPY), 0, 0, 0, true},
          {1, 2, 6, 3, 0, "00", BUFFER_LETTERS | ALL(L_WAIT) | ALL(L_GET_INTO) | ALL(L_GET), 0, 0, 0, true},
          END},
         {{2, 2, 5, 4, 0, "01", WAIT_LETTERS, 0, 0, 2, false},
          {2, 2, 6, 3, 0, "00",
           BUFFER_LETTERS | ALL(L_WAIT) | ALL(L_PUT) | ALL(L_GET) | ALL(L_GET_INTO) | ALL(L_PUT_COPY), 0, 0,
           0, true},
          END}},
    [VERIFY_SV] = {{{2, 2, 4, 3, 0, "0", SV_LETTERS, 0, 0, 0, false}, END},
                   {{2, 2, 5, 4, 0, "0", SV_LETTERS, 0, 0, 0, false},
                    {3, 3, 4, 2, 0, "", SV_LETTERS, 0, 0, 0, false},
                    END},
                   {{2, 2, 6, 4, 0, "01", SV_LETTERS, 0, 0, 0, false},
                    {3, 3, 5, 3, 0, "0", SV_LETTERS, 0, 0, 0, false},
                    END}},
    [VERIFY_WLOCK] = {{{2, 2, 2, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false}, END},
                      {{2, 2, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "1", PLAIN_LETTERS, 1, 1, 0, false},
                       {3, 3, 2, 1, 0, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 3, 3, 1, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       END},
                      {{2, 2, 4, 3, 1, "001", LOCK_LETTERS, 1, 1, 0, false},
                       {3, 3, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       END}},
    [VERIFY_SLOCK] = {{{2, 2, 2, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false}, END},
                      {{2, 2, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "1", PLAIN_LETTERS, 1, 1, 0, false},
                       {3, 3, 2, 1, 0, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 3, 3, 1, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       END},
                      {{2, 2, 4, 3, 1, "001", LOCK_LETTERS, 1, 1, 0, false},
                       {3, 3, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       END}},
    [VERIFY_NLOCK] = {{{2, 2, 2, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 2, 2, 1, 0, "01", LOCK_LETTERS, 2, 2, 0, false},
                       END},
                      {{2, 2, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       {2, 2, 4, 3, 1, "1", PLAIN_LETTERS, 1, 1, 0, false},
                       {3, 3, 2, 1, 0, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 3, 3, 1, 1, "0", PLAIN_LETTERS, 1, 1, 0, false},
                       {2, 2, 2, 1, 0, "01", LOCK_LETTERS, 2, 2, 0, false},
                       END},
                      {{2, 2, 4, 3, 1, "001", LOCK_LETTERS, 1, 1, 0, false},
                       {3, 3, 3, 2, 1, "01", LOCK_LETTERS, 1, 1, 0, false},
                       {2, 2, 3, 2, 0, "01", LOCK_LETTERS, 2, 2, 0, false},
                       END}},
    [VERIFY_SC] = {{{2, 2, 3, 2, 0, "0", SC_LETTERS, 0, 2, 0, false}, END},
                   {{2, 2, 4, 2, 0, "0", SC_LETTERS, 0, 2, 0, false},
                    {2, 3, 3, 2, 0, "", SC_LETTERS, 0, 2, 0, false},
                    END},
                   {{2, 2, 5, 3, 0, "01", SC_LETTERS, 0, 2, 0, false},
                    {2, 3, 4, 2, 0, "", SC_LETTERS, 0, 2, 0, false},
                    END}},
    [VERIFY_OBJECT] = {{{2, 2, 2, 1, 0, "", SC_LETTERS, 0, 1, 0, false}, END},
                       {{2, 2, 3, 2, 0, "", SC_LETTERS, 0, 2, 0, false},
                        {2, 3, 3, 1, 0, "", SC_LETTERS, 0, 1, 0, false},
                        END},
                       {{2, 2, 4, 2, 0, "0", SC_LETTERS, 0, 2, 0, false},
                        {2, 3, 4, 2, 0, "", SC_LETTERS, 0, 1, 0, false},
                        END}},
};

const struct family *clients_families(enum verified library, enum bound bound)
{
    return families[library][bound];
}

const char *clients_bound(struct arena *arena, enum verified library, enum bound bound)
{
    const char *text = "";
    for (const struct family *f = clients_families(library, bound); f->nodes; f++) {
        text = arena_printf(arena, "%s%s%u threads on %u nodes, at most %u statements, %u in one thread",
                            text, *text ? "; " : "", f->threads, f->nodes, f->letters, f->one);
        if (f->sections)
            text = arena_printf(arena, "%s, %u outside its critical sections (at most %u)", text, f->outside,
                                f->sections);
    }
    return text;
}
