/* What compile.c and expand.c share: the state of one compilation, and the functions that emit instructions.
 */
#ifndef REMORA_SEARCH_COMPILE_H
#define REMORA_SEARCH_COMPILE_H

#include "search/ir.h"

/* Work ids that the implementations of libraries use for themselves, after those of the client. */
enum {
    WID_LOCK = PROG_MAX_WIDS,
    WID_GFENCE = PROG_MAX_WIDS - 1,
    WID_SC = PROG_MAX_WIDS - 2,
    PRIVATE_WIDS = 5
};

/* Where the words of a lock (or of an sc location's lock) live. */
struct lock_words {
    uint16_t next, serving;            /* serving: node locks only */
    uint16_t ticket[PROG_MAX_THREADS]; /* private to each thread that uses the lock */
    uint16_t
        release[PROG_MAX_THREADS]; /* weak locks: first of the copies of rel_T, one a node, side by side */
    uint64_t users;                /* threads */
};

/* The private places of one sc location. */
struct sc_words {
    struct lock_words lock;
    uint16_t in[PROG_MAX_THREADS], out[PROG_MAX_THREADS];
};

struct compiler {
    struct arena *arena;
    const struct lm_test *test;
    enum level level;
    struct ir_program *ir;
    struct prog_loc *locs;
    struct prog_lock *locks;
    unsigned n_locs;
    unsigned *first_loc;  /* by declaration */
    uint16_t *lock_index; /* by declaration */
    uint64_t all_nodes;
    struct lock_words *lock_words; /* by declaration; LEVEL_TSO */
    struct sc_words *sc_words;     /* by declaration; LEVEL_TSO */
    uint16_t gfence_remote[PROG_MAX_NODES], gfence_local[PROG_MAX_THREADS];
    const char *why; /* the test is too large: one line */
    /* the thread and statement being compiled */
    unsigned t, n_regs;
    const struct lm_stmt *stmt;
    uint32_t where;
};

struct named_atom {
    struct lm_atom atom;
    const char *name;
};

struct atom_list {
    struct arena *arena;
    struct named_atom *atoms;
    unsigned n, capacity;
};

struct ir *emit(struct compiler *, enum ir_kind);
struct ir *emit_op(struct compiler *, enum op_kind, unsigned loc);
uint32_t emitted(const struct compiler *);
struct ir *instruction(struct compiler *, uint32_t at);
uint16_t add_location(struct compiler *, const char *name, unsigned node, unsigned owner, uint64_t init);
/* The following instructions do this part of the statement's work (for traces). */
void part_of(struct compiler *, const char *part);

/* expand.c: places for the libraries' words, and calls replaced by their implementations. */
void expand_declare(struct compiler *);
void expand_call(struct compiler *, const struct lm_stmt *, uint8_t wid, uint64_t nodes);

#endif
