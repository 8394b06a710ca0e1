/* What the scanners (flex) and parsers (bison) share: the state that is threaded through both. */
#ifndef REMORA_LITMUS_SCAN_H
#define REMORA_LITMUS_SCAN_H

#include "litmus/source.h"

struct scan {
    struct source *source;
    struct lm_pos at;             /* where the next token starts */
    struct lm_pos opened;         /* of an unfinished comment or string */
    unsigned depth;               /* of brackets */
    unsigned comments;            /* of nested comments */
    bool failed;                  /* an error has been reported: say nothing more */
    struct lm_pos last, here;     /* the last two tokens */
    const char *last_word, *word; /* their text if they are names, else NULL */
    const char *callee;           /* of the last call */
};

/* Moves `at` over the text of a token. */
void scan_advance(struct scan *, const char *text, size_t length);

/* Reports an error, once: after it the scanner returns its end-of-input token. */
void scan_error(struct scan *, struct lm_pos pos, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Decimal or 0x hexadecimal; an error if it does not fit 64 bits. */
uint64_t scan_integer(struct scan *, struct lm_pos pos, const char *text);

#endif
