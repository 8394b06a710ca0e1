/* The syntax tree of a litmus test, as the parser builds it, the printer prints it and the engines compile
 * it. One tree serves the native language and herd's x86 tables (which are read into the same statements).
 * Everything in a tree lives in one arena. Names are resolved: statements refer to declarations and
 * registers. */
#ifndef REMORA_LITMUS_AST_H
#define REMORA_LITMUS_AST_H

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum { LM_MAX_THREADS = 64, LM_MAX_NODES = 64 };

struct lm_pos {
    uint32_t line, col; /* both from 1; 0 where there is none */
};

enum lm_arch { LM_RDMA_TSO, LM_RDMA_WAIT };
enum lm_syntax { LM_NATIVE, LM_X86, LM_X86_64 }; /* what the file was written in */

enum lm_decl_kind { LM_LOC, LM_SHARED, LM_WLOCK, LM_SLOCK, LM_NLOCK, LM_SC };

struct lm_decl {
    enum lm_decl_kind kind;
    const char *name;
    unsigned index; /* position in lm_test.decls */
    unsigned node;  /* where it lives; the host of a lock's words; unused for LM_SHARED */
    uint64_t init;  /* unused for locks */
    struct lm_pos pos;
};

enum lm_op {
    LM_ADD,
    LM_SUB,
    LM_MUL,
    LM_AND,
    LM_OR,
    LM_XOR,
    LM_SHL,
    LM_SHR,
    LM_EQ,
    LM_NE,
    LM_LT,
    LM_LE,
    LM_GT,
    LM_GE,
    LM_LAND,
    LM_LOR, /* binary; comparisons are unsigned */
    LM_LNOT,
    LM_NOT,
    LM_NEG /* unary: ! ~ - */
};

enum lm_expr_kind { LM_INT, LM_REG, LM_UNARY, LM_BINARY };

struct lm_expr {
    enum lm_expr_kind kind;
    enum lm_op op;  /* LM_UNARY, LM_BINARY */
    uint64_t value; /* LM_INT */
    unsigned reg;   /* LM_REG: index in the thread's registers */
    struct lm_expr *a, *b;
    struct lm_pos pos;
};

/* Statements. The comment names the fields that are used; `reg` is LM_NO_REG where the result is dropped. */
enum lm_stmt_kind {
    LM_ASSIGN, /* reg = e */
    LM_LOAD,   /* reg = decl (LM_LOC, or the own copy of an LM_SHARED: sv_read) */
    LM_STORE,  /* decl = e (LM_LOC, or LM_SHARED: sv_write) */
    LM_CAS,    /* reg = cas(decl, e, v) */
    LM_FAA,    /* reg = faa(decl, v) */
    LM_XCHG,   /* reg = xchg(decl, v) */
    LM_MFENCE,
    LM_PUT,      /* put(decl, local, wid), or put(decl, v, wid) with local NULL: an inline value */
    LM_GET,      /* get(local, decl, wid) */
    LM_RCAS,     /* rcas(local, decl, e, v, wid) */
    LM_RFAA,     /* rfaa(local, decl, v, wid) */
    LM_RFENCE,   /* rfence(node) */
    LM_POLL,     /* poll(node) */
    LM_WAIT,     /* wait(wid) */
    LM_SVWAIT,   /* sv_wait(wid) */
    LM_BCAST,    /* bcast(decl, nodes, wid) */
    LM_GFENCE,   /* gfence(nodes); all_nodes if written without argument */
    LM_ACQUIRE,  /* acquire(decl) */
    LM_RELEASE,  /* release(decl) */
    LM_SC_READ,  /* reg = sc_read(decl) */
    LM_SC_WRITE, /* sc_write(decl, v) */
    LM_SC_CAS,   /* reg = sc_cas(decl, e, v) */
    LM_SC_FAA,   /* reg = sc_faa(decl, v) */
    LM_IF,       /* if (e) body else other */
    LM_ASSUME,   /* assume(e) */
    LM_AWAIT,    /* await(decl cmp e); cmp is one of LM_EQ … LM_GE */
    LM_DO,       /* do body until (e) */
    LM_REPEAT    /* repeat (count) body */
};

#define LM_NO_REG UINT32_MAX
#define LM_NO_WID UINT32_MAX

struct lm_stmt {
    enum lm_stmt_kind kind;
    struct lm_pos pos;
    uint32_t reg;
    struct lm_decl *decl, *local;
    struct lm_expr *e, *v;
    enum lm_op cmp;
    uint32_t
        wid; /* index in lm_thread.wids (remote operations, wait) or .svwids (bcast, sv_wait), or LM_NO_WID */
    unsigned node;
    uint64_t nodes; /* bit n: node n */
    bool all_nodes;
    uint64_t count;
    struct lm_stmt *body, *other; /* first statement of each block */
    struct lm_stmt *next;         /* the next statement of the same block */
};

struct lm_thread {
    unsigned node;
    struct lm_pos pos;
    const char **regs;
    uint64_t *reg_init; /* herd's x86 initial states may set registers; 0 elsewhere */
    unsigned n_regs;
    const char **wids; /* work ids of remote operations and wait */
    unsigned n_wids;
    const char **svwids; /* work ids of bcast and sv_wait: a name space of their own */
    unsigned n_svwids;
    struct lm_stmt *body;
};

/* A thing that can be observed at the end: a register, a location (LM_LOC, LM_SC), or the copy of a shared
 * variable. */
struct lm_atom {
    bool is_reg;
    unsigned thread, reg; /* is_reg */
    struct lm_decl *decl; /* otherwise */
    unsigned node;        /* LM_SHARED: which copy */
    struct lm_pos pos;
};

enum lm_cond_kind { LM_C_TRUE, LM_C_FALSE, LM_C_EQ, LM_C_AND, LM_C_OR, LM_C_NOT };

struct lm_cond {
    enum lm_cond_kind kind;
    struct lm_atom atom; /* LM_C_EQ */
    uint64_t value;
    struct lm_cond *a, *b;
};

enum lm_quantifier {
    LM_EXISTS,
    LM_NOT_EXISTS,
    LM_FORALL,
    LM_FINAL /* herd's `final`: shown, nothing asked: always holds */
};

struct lm_test {
    struct arena *arena;
    const char *file, *name;
    enum lm_arch arch;
    enum lm_syntax syntax;
    const char **docs;
    unsigned n_docs;
    unsigned nodes;
    struct lm_decl **decls;
    unsigned n_decls;
    struct lm_thread *threads;
    unsigned n_threads;
    struct lm_atom *locations; /* the `locations [...]` list */
    unsigned n_locations;
    enum lm_quantifier quantifier;
    struct lm_cond *cond;
    bool has_libraries; /* uses sv, wlock, slock, nlock or sc (a declaration alone does not count) */
};

#endif
