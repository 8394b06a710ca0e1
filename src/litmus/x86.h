/* A herd x86 test as it is written: a table of instructions, one column a thread. The parser (x86.y) builds
 * it; x86.c turns it into the raw form of a native test with one node. Both herd architectures share the
 * grammar: X86, with the destination first, and X86_64, with the destination last. */
#ifndef REMORA_LITMUS_X86_H
#define REMORA_LITMUS_X86_H

#include "litmus/raw.h"

enum x86_operand_kind {
    X86_REGISTER,
    X86_IMMEDIATE,
    X86_MEMORY,   /* [x]: the location called x */
    X86_INDIRECT, /* [EAX]: the location whose address the register holds */
    X86_NAME      /* a bare word: a label, or a mistake */
};

struct x86_operand {
    enum x86_operand_kind kind;
    const char *name;
    uint64_t value; /* of an immediate; displacement of an indirect operand */
    struct lm_pos pos;
};

struct x86_instr {
    struct raw_word mnemonic;
    bool lock, label;
    struct x86_operand operands[2];
    unsigned n_operands;
};

struct x86_cell {
    struct x86_instr *instr; /* NULL: empty */
    struct lm_pos pos;
    struct x86_cell *next;
};

struct x86_row {
    struct x86_cell *cells;
    struct x86_row *next;
};

/* An item of the initial state: `x = 1`, `0:EAX = x`, `uint64_t x`, … */
struct x86_init {
    const char *type; /* NULL if none is given */
    struct raw_atom *place;
    const char *address; /* the value is the address of this location */
    uint64_t value;
    struct x86_init *next;
};

struct x86_proc {
    struct raw_word name;
    struct x86_proc *next;
};

struct x86_test {
    bool is_64;
    struct raw_word name;
    struct raw_docs *docs;
    struct x86_init *inits;
    struct x86_proc *procs;
    struct x86_row *rows;
    struct raw_atom *locations;
    enum lm_quantifier quantifier;
    struct raw_cond *cond;
};

bool x86_parse(struct source *, struct x86_test *);

/* The same test in the raw native form; false, and errors in `source`, if it has something that is not
 * supported. */
bool x86_translate(struct source *, struct x86_test *, struct raw_test *);

#endif
