/* Inside the C program: threads, their points, and what is known of their operations. */
#ifndef REMORA_VERIFY_C_THREAD_H
#define REMORA_VERIFY_C_THREAD_H

#include "fabric/model.h"
#include "verify/c_program.h"
#include "verify/coroutine.h"

enum { C_MAX_LOCS = 256, C_LOC_WORDS = C_MAX_LOCS / 64, C_MAX_STATEMENTS = 64, C_MAX_OPS = 2048 };

/* What an operation may touch. */
struct foot {
    uint64_t cpu_reads[C_LOC_WORDS], cpu_writes[C_LOC_WORDS];
    uint64_t nic_reads[C_LOC_WORDS], nic_writes[C_LOC_WORDS];
    uint64_t nic_nodes, put_nodes, rmw_nodes;
};

/* One that is known, and the freeze from which on all of it is. */
struct known_foot {
    struct foot foot;
    unsigned generation;
};

/* By statement and number of the operation in it. */
struct feet {
    unsigned n[C_MAX_STATEMENTS];
    struct known_foot *foot[C_MAX_STATEMENTS];
    /* Once frozen: what may follow, this operation included; one more than n for each statement. */
    struct future *future[C_MAX_STATEMENTS];
};

/* Book-keeping that goes with a point but is not part of the C code's state. */
struct meta {
    uint16_t statement, number; /* of the operation in the statement */
    bool spinning, effects;     /* in an iteration of a waiting loop; and it has done something others see */
    uint8_t rounds;
    const void *loop;
    uint64_t loop_state;  /* of the C code, where the iteration began */
    uint16_t rcas_result; /* a remote CAS of the iteration, and what it expects */
    uint64_t rcas_expects;
};

struct edge_to {
    uint64_t result;
    uint32_t to, next;
};

struct point {
    struct op op;
    struct meta meta;
    uint32_t edges;      /* into c_thread.edges; 0: none */
    uint8_t word, words; /* c_program_words_at */
    uint32_t from;       /* the point it was first reached from, and by which result; NO_POINT: the start */
    uint64_t result;
    unsigned generation; /* of the freeze from which on its operation is among the known ones */
    uint32_t image_size;
    void *image;
    struct changes changes;
    uint64_t hash[2];
    uint64_t *regs; /* OP_END */
    const struct c_failure *failure;
};

#define NO_POINT UINT32_MAX

struct c_thread {
    struct model_thread model; /* first: the fabric's pointer is cast back */
    struct c_program *program;
    struct world world;
    struct coroutine coroutine;
    unsigned index;
    uint64_t *regs; /* in the world */
    /* What passes between the C code and us when it pauses. */
    struct op asked;
    uint8_t asked_word, asked_words;
    uint64_t answer;
    bool waiting, ended;
    const char *faulted;
    struct c_failure failure;
    const void *loop;
    struct meta meta; /* now */
    /* While the code is run again: what it has observed, the first of it last. */
    uint64_t *replay;
    unsigned n_replay, replay_capacity;
    /* Points. */
    struct point *points;
    uint32_t n_points, points_capacity;
    struct edge_to *edges;
    uint32_t n_edges, edges_capacity;
    uint32_t *table;
    size_t slots;
    uint32_t live; /* where the coroutine stands now, or NO_POINT */
    uint64_t runs;
    struct feet feet;
    uint8_t words_seen[WORD_OPS]; /* c_program_count_words */
};

struct c_program {
    struct program base; /* first: the engine's pointer is cast back */
    struct arena *arena;
    struct c_code code;
    struct c_thread *threads;
    unsigned n_locs; /* known ones; base.n_locs is what the last freeze knew */
    struct place {
        uint16_t node;
        uint32_t offset;
    } places[C_MAX_LOCS];
    struct prog_loc *locs;
    unsigned generation;
    bool dirty, bounded;
    const char *fault;
    const struct c_failure *failure;
};

/* c_thread.c */
void c_thread_start(struct c_program *, unsigned t); /* sets up its world */
void c_thread_begin(struct c_thread *);              /* runs it up to its first point, number 0 */
void c_thread_free(struct c_thread *);
uint32_t c_thread_after(struct c_thread *, uint32_t point, uint64_t result);

/* feet.c: adds the operation to what its number in the statement may do; from which freeze on that is known. */
unsigned feet_cover(struct c_thread *, const struct meta *, const struct op *);
void feet_freeze(struct c_program *);
void feet_free(struct feet *);

/* rehearse.c: runs the program a few times under sequential consistency, to learn what it does. */
void c_program_rehearse(struct c_program *);

#endif
