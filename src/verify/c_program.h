/* C code as a program for the operational engine (model/program.h). Each thread runs as a coroutine in a
 * world of its own. Where it has paused to ask for an operation is a *point*: the live stack, what has changed
 * in its world, and a little book-keeping. Points are found once and remembered: the engine asks for the
 * successor of a point and a result, the stack and the world are put back as they were there, and the C code
 * runs on to its next operation. Two runs that reach equal stacks and worlds reach the same point.
 *
 * The C code has no analysis of what it may still do, which the engine's reduction needs. It is learnt: the
 * n-th operation of a statement is assumed to do only what it has been seen to do in rehearsals and in the
 * search so far. A thread that is about to do more is stopped there, what it wanted is noted, and the search
 * is repeated. In the last search nothing was stopped, so the assumption was true of all that was explored;
 * and since a search under the assumption misses no final state, it would not have missed one in which a
 * thread is stopped (docs/verify.md). */
#ifndef REMORA_VERIFY_C_PROGRAM_H
#define REMORA_VERIFY_C_PROGRAM_H

#include "search/engine.h"
#include "verify/word_orders.h"
#include "verify/world.h"

struct arena;

/* The code. */
struct c_code {
    struct world_shape shape;
    bool
        rerun; /* get back to a point by running the C code again from the start rather than by its saved stack */
    const struct word_orders *orders; /* of the words of puts and gets of several; NULL: ascending */
    bool announces; /* model_thread.announces: wanted where deadlines may pass (c_program_timed) */
    bool flat;      /* to the model, all memory is one node's: the C code executes remote operations itself */
    uint16_t n_regs[PROG_MAX_THREADS]; /* what a thread's body leaves in `regs` can be observed */
    void (*setup)(void *context, struct world *);
    void (*body)(void *context, struct world *, unsigned thread, uint64_t *regs);
    void *context;
};

struct c_program;

/* *handle is set before any of the code runs. */
struct c_program *c_program_new(struct arena *, const struct c_code *, struct c_program **handle);
void c_program_free(struct c_program *);
const struct program *c_program_base(const struct c_program *);

/* Setting it up failed, or the code did what the model can't follow: why; else NULL. */
const char *c_program_fault(const struct c_program *);
/* A waiting loop changes its own state all the time: only its first rounds were explored. */
bool c_program_bounded(const struct c_program *);

/* The code has asked for the time, so that it may give up tickets of locks. The others find that out in a look that they have
 * before they go to sleep. */
bool c_program_timed(const struct c_program *);

/* The location of a word; it need not have been touched. */
unsigned c_program_location(struct c_program *, unsigned node, size_t offset);
/* The same for a pointer into the heap of that node in the world of the first thread. */
unsigned c_program_word(struct c_program *, unsigned node, const void *pointer);
struct world *c_program_world(struct c_program *, unsigned thread);
void c_program_place(const struct c_program *, unsigned loc, unsigned *node, size_t *offset);

/* The puts and gets of several words that have been seen so far. Adds to what is there. */
void c_program_count_words(const struct c_program *, struct word_counts *);

/* All outcomes; see explore_operational. */
struct result c_program_explore(struct c_program *, const struct query *, const struct operational_options *);

/* In a setup or body: whose world it is. */
struct world *c_program_running(void);
/* In a body: what follows belongs to this statement (0, 1, …, ascending). */
void c_program_statement(unsigned statement);
/* In a body: asks for an operation of the model directly. */
uint64_t c_program_ask(const struct op *);
/* In a body: an assertion has failed. */
struct c_failure {
    const char *message, *file, *function;
    unsigned line;
    bool compares; /* two values, these: */
    uint64_t left, right;
    unsigned thread; /* set by the program */
    uint32_t point;
};
_Noreturn void c_program_fail(const struct c_failure *);

/* One that was reached, else NULL. */
const struct c_failure *c_program_failure(const struct c_program *);

/* Of a point at which one of the words of a put or get is posted: which (from 1), of how many; else 0. */
void c_program_words_at(const struct c_program *, unsigned thread, uint32_t point, uint8_t *word,
                        uint8_t *words);
/* The statement a thread stands in at a point, and the return addresses on its stack there. */
unsigned c_program_statement_at(const struct c_program *, unsigned thread, uint32_t point);
unsigned c_program_backtrace(const struct c_program *, unsigned thread, uint32_t point, void **addresses,
                             unsigned most);
/* A word of the thread's own C memory (blocks, heap of its node) at a point, if only its CPU uses it. */
uint64_t c_program_word_at(const struct c_program *, unsigned thread, uint32_t point, const void *word);
/* Statistics: points, and how many times C code was run on. */
void c_program_counts(const struct c_program *, uint64_t *points, uint64_t *runs);

#endif
