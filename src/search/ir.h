/* The compiled form of a litmus test: straight arrays of instructions, one a thread, all jumps forward.
 * compile.c fills it, interpret.c answers the engines' questions (model/program.h) from it. */
#ifndef REMORA_SEARCH_IR_H
#define REMORA_SEARCH_IR_H

#include "litmus/ast.h"
#include "model/program.h"
#include "search/engine.h"

enum ir_kind {
    IR_OP,     /* op; its arguments e and v are evaluated, its result goes to dst */
    IR_SET,    /* dst = e */
    IR_BRANCH, /* if e is zero go to target */
    IR_GOTO,   /* go to target */
    IR_ASSUME, /* if e is zero the run is dropped */
    IR_SPIN,   /* head of a spin loop */
    IR_UNTIL,  /* if e is zero the iteration has failed */
    IR_END
};

struct ir {
    enum ir_kind kind;
    struct op op;
    uint32_t dst; /* register, or LM_NO_REG */
    uint32_t target;
    const struct lm_expr *e, *v;
};

/* Where an instruction comes from. */
struct ir_where {
    const struct lm_stmt *stmt;
    unsigned thread;
    const char *part; /* what this step of an expanded library call does, or NULL */
};

struct ir_thread {
    struct ir *code;
    uint32_t n_code, capacity;
    struct future *futures; /* one an instruction */
    uint64_t *live;         /* live_words an instruction */
    unsigned live_words;
};

struct ir_program {
    struct program base; /* first: the engines' pointer is cast back */
    struct arena *arena;
    const struct lm_test *test;
    struct ir_thread *threads;
    struct ir_where *wheres;
    uint32_t n_wheres, where_capacity;
};

extern const struct prog_ops ir_ops;

uint64_t ir_evaluate(const struct lm_expr *, const uint64_t *regs);

/* Fills futures and live registers; `shown` are the registers that matter at the end. */
void ir_analyse(struct ir_program *, const struct observable *shown, unsigned n_shown);
/* Finds threads that run the same code (program.thread_class). */
void ir_classify(struct ir_program *, const struct observable *shown, unsigned n_shown);

#endif
