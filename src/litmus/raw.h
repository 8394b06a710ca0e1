/* What the native grammar recognises, before names mean anything: the parser (native.y) builds it, resolve*.c
 * turns it into a test. Lists are linked in the order of the source. Operations are calls by name here; which
 * exist, and what they take, is a table in resolve_stmt.c. */
#ifndef REMORA_LITMUS_RAW_H
#define REMORA_LITMUS_RAW_H

#include "litmus/ast.h"
#include "litmus/source.h"

enum {
    RAW_MAX_DECLS = 10000,
    RAW_MAX_NESTING = 200,     /* brackets and blocks within each other */
    RAW_MAX_EXPR_HEIGHT = 1000 /* operators on a path of an expression's tree */
};

struct raw_word {
    const char *text;
    struct lm_pos pos;
};

struct raw_integer {
    uint64_t value;
    struct lm_pos pos;
};

enum raw_expr_kind { RAW_INT, RAW_NAME, RAW_UNARY, RAW_BINARY };

struct raw_expr {
    enum raw_expr_kind kind;
    enum lm_op op;
    uint64_t value;
    const char *name;
    struct raw_expr *a, *b;
    unsigned height;
    struct lm_pos pos;
};

struct raw_integers {
    struct raw_integer integer;
    struct raw_integers *next;
};

/* An argument of a call: an expression, or a set of nodes in braces. */
struct raw_arg {
    struct raw_expr *expr; /* NULL: a set */
    struct raw_integers *set;
    struct lm_pos pos;
    struct raw_arg *next;
};

enum raw_stmt_kind { RAW_ASSIGN, RAW_CALL, RAW_IF, RAW_ASSUME, RAW_AWAIT, RAW_DO, RAW_REPEAT };

struct raw_stmt {
    enum raw_stmt_kind kind;
    struct lm_pos pos;
    struct raw_word target; /* left of `=`; text is NULL if there is none */
    struct raw_word callee;
    struct raw_arg *args;
    struct raw_expr *expr;
    struct raw_integer count;
    struct raw_stmt *body, *other;
    unsigned height; /* blocks within it */
    struct raw_stmt *next;
};

struct raw_decl {
    enum lm_decl_kind kind;
    struct raw_word name;
    struct raw_integer node; /* unused for LM_SHARED */
    uint64_t init;
    struct raw_decl *next;
};

struct raw_thread {
    struct raw_word name; /* P and a number */
    struct raw_integer node;
    struct raw_stmt *body;
    struct raw_thread *next;
};

struct raw_atom {
    struct raw_word name;
    bool has_thread, has_copy;
    struct raw_integer thread, copy;
    struct raw_atom *next;
};

/* Conjunctions and disjunctions hold any number of parts: a long condition is wide, not deep. */
struct raw_cond {
    enum lm_cond_kind kind;
    struct raw_atom *atom;
    uint64_t value;
    struct raw_cond *parts, *last_part; /* LM_C_AND, LM_C_OR, LM_C_NOT */
    unsigned height;                    /* an upper bound */
    struct raw_cond *next;
};

struct raw_docs {
    const char *text;
    struct raw_docs *next;
};

struct raw_test {
    struct raw_word arch, name;
    struct raw_docs *docs;
    bool has_nodes;
    struct raw_integer nodes;
    struct raw_decl *decls;
    struct raw_thread *threads;
    struct raw_atom *locations;
    enum lm_quantifier quantifier;
    struct raw_cond *cond;
    struct lm_pos end;
};

/* Is the word one that can't be a name in the native language? */
bool raw_is_reserved(const char *word);

/* The first word of the text, comments skipped; text is "" if there is none. */
struct raw_word native_first_word(struct source *);

/* False, and an error in `source`, if the text is not of the language. */
bool native_parse(struct source *, struct raw_test *);

/* Names to declarations and registers; NULL if there were errors. */
struct lm_test *native_resolve(struct source *, const struct raw_test *);

/* What no single statement shows: locks, spin loops, work ids, registers, unused locations. */
void check_test(struct source *, struct lm_test *);

#endif
