/* Litmus tests: text to syntax tree and back (the language: remora-litmus(5)). */
#ifndef REMORA_LITMUS_LITMUS_H
#define REMORA_LITMUS_LITMUS_H

#include "litmus/ast.h"

#include <stddef.h>
#include <stdio.h>

enum lm_severity { LM_ERROR, LM_WARNING };

struct lm_diagnostic {
    enum lm_severity severity;
    struct lm_pos pos;
    const char *message; /* one line, no full stop */
    const char *hint;    /* what to write instead, or NULL */
    const char *source;  /* the offending line of the source (shortened around col if very long), or NULL */
    uint32_t caret,
        width; /* where in `source` the caret goes (from 1), and how many characters it underlines */
};

struct lm_parse {
    struct lm_test *test; /* NULL if there was an error */
    struct lm_diagnostic *diagnostics;
    unsigned n_diagnostics;
    bool has_comments; /* which the tree does not keep */
};

/* Reads one test. `file` is the name used in messages. The tree, the messages and copies of everything live
 * in `arena`. Never prints, never exits on bad input. */
struct lm_parse lm_parse_text(struct arena *arena, const char *file, const char *text, size_t length);

/* Reads a file; an unreadable file, a folder, or one over the size limit is an error diagnostic (pos 0). */
struct lm_parse lm_parse_file(struct arena *arena, const char *file);

/* Prints diagnostics as `file:line:col: error: message`, the source line, a caret, and `hint: …`. */
void lm_print_diagnostics(FILE *out, const char *file, const struct lm_parse *parse, bool warnings_too);

/* The canonical form, in the native language (x86 tables come out as RDMA_TSO programs). parse → print →
 * parse is the identity, and print → parse → print too. */
char *lm_print_test(struct arena *arena, const struct lm_test *test);

/* Pieces of it, for reports. */
char *lm_print_cond(struct arena *arena, const struct lm_test *test); /* exists (0:r0=0 /\ x=1) */
char *lm_print_stmt(struct arena *arena, const struct lm_test *test, unsigned thread,
                    const struct lm_stmt *stmt);
char *lm_print_atom(struct arena *arena, const struct lm_test *test,
                    const struct lm_atom *atom); /* 0:r0, x, s@1 */

/* 32 hexadecimal digits: a hash of the canonical form without its docs. */
void lm_hash(const struct lm_test *test, char hex[33]);

#endif
