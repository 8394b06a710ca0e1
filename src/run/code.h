/* A litmus test made ready to be run on a transport: for each thread a flat array of instructions, all of whose
 * operands are register numbers and offsets, so that between two operations of the test there is next to
 * nothing. Constants are registers too. */
#ifndef REMORA_RUN_CODE_H
#define REMORA_RUN_CODE_H

#include "litmus/ast.h"

struct arena;

enum code_kind {
    CODE_END,
    CODE_MOVE,   /* dst = a */
    CODE_UNARY,  /* dst = alu a */
    CODE_BINARY, /* dst = a alu b */
    CODE_BRANCH, /* if a is zero go to target */
    CODE_GOTO,   /* go to target */
    CODE_ASSUME, /* if a is zero the iteration is dropped */
    CODE_UNTIL,  /* if a is zero go to target, the head of the loop */
    CODE_AWAIT,  /* until the word `local` compares by alu with a */
    CODE_LOAD,   /* dst = local */
    CODE_STORE,  /* local = a */
    CODE_CAS,    /* dst = cas(local, a, b) */
    CODE_FAA,    /* dst = faa(local, a) */
    CODE_XCHG,   /* dst = xchg(local, a) */
    CODE_MFENCE,
    CODE_PUT,       /* put(remote on node, local, work) */
    CODE_PUT_VALUE, /* put(remote on node, a, work) */
    CODE_GET,       /* get(local, remote on node, work) */
    CODE_RCAS,      /* rcas(local, remote on node, a, b, work) */
    CODE_RFAA,      /* rfaa(local, remote on node, a, work) */
    CODE_RFENCE,    /* node */
    CODE_POLL,      /* node */
    CODE_WAIT,      /* work */
    CODE_SV_READ,   /* dst = sv_read(local) */
    CODE_SV_WRITE,  /* sv_write(local, a) */
    CODE_BCAST,     /* bcast(local, nodes, work) */
    CODE_GFENCE,    /* nodes */
    CODE_ACQUIRE,   /* object: number of a lock */
    CODE_RELEASE,
    CODE_SC_READ,  /* dst = sc_read(object): number of an sc location */
    CODE_SC_WRITE, /* sc_write(object, a) */
    CODE_SC_CAS,   /* dst = sc_cas(object, a, b) */
    CODE_SC_FAA,   /* dst = sc_faa(object, a) */
    CODE_KINDS
};

/* local, remote: offset in an instance's memory (instances.h). */
struct instruction {
    uint16_t kind, dst, a, b;
    uint16_t alu; /* enum lm_op */
    uint16_t work;
    uint32_t local, remote;
    union {
        uint32_t target;
        uint32_t node;
        uint32_t object;
    };
    uint64_t nodes;
};

struct thread_code {
    unsigned node;
    struct instruction *code;
    uint32_t n_code, capacity;
    uint64_t *regs; /* values at the start: those of the test, then temporaries, then constants */
    uint32_t n_regs, reg_capacity;
    unsigned works; /* work ids that it uses */
};

enum { WORD_STEP = 64, CODE_MAX_REGS = 4096, CODE_MAX_LOCKS = 64 };

struct test_code {
    const struct lm_test *test;
    bool tso;
    struct thread_code *threads;
    uint32_t
        *places; /* of each declaration: a location's offset, or the number of a lock or an sc location */
    const struct lm_decl **words, **locks, **scs; /* the declarations by those; words: WORD_STEP bytes each */
    uint32_t n_words, n_locks, n_scs;
};

/* Null if the test can't be run: *why says what stands against it. */
struct test_code *code_compile(struct arena *arena, const struct lm_test *test, const char **why);

#endif
