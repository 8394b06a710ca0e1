/* The client programs of verification: litmus tests whose library calls run the library's C code. The
 * statements are interpreted, on the thread's own stack, by calls of the public functions. */
#ifndef REMORA_VERIFY_CLIENT_H
#define REMORA_VERIFY_CLIENT_H

#include "litmus/ast.h"
#include "verify/c_program.h"

/* What stands for a declaration of RDMA-SC in C: an array of one location, or an object of one word. */
enum sc_as { SC_AS_CELL, SC_AS_OBJECT };

struct client_options {
    enum sc_as sc_as;
    bool rerun; /* see c_code */
};

struct client {
    const struct lm_test *test;
    enum sc_as sc_as;
    struct c_program *program;
    struct observable *observables; /* in the order of observed_atoms, all of them */
    unsigned n_observables;
    bool set_up_failed;
};

/* The client's program with its observables, or the reason why there is none. Free client->program. */
const char *client_new(struct arena *, struct client *, const struct lm_test *,
                       const struct client_options *);

/* The same over the shm provider, whose C code executes everything by loads, stores and locked instructions. */
const char *shm_client_new(struct arena *, struct client *, const struct lm_test *,
                           const struct client_options *);

/* What a word is called: "x", "l.serving", "l.rel[1]". */
const char *client_location_name(struct arena *, const struct client *, unsigned loc);
/* A word in which the library's calls that return a value get it (word_names.h). */
bool client_is_result(const struct client *, unsigned loc);
enum place_word client_place_word(const struct client *, unsigned loc);
const char *client_held(const struct client *, unsigned thread, uint32_t point, unsigned number,
                        uint64_t *ticket);
/* The top-level statement with this number. */
const struct lm_stmt *client_statement(const struct client *, unsigned thread, unsigned statement);

#endif
