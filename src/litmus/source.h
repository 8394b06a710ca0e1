/* A source text being read, and the diagnostics that come of it. Both parsers and all checks report through
 * this. */
#ifndef REMORA_LITMUS_SOURCE_H
#define REMORA_LITMUS_SOURCE_H

#include "litmus/litmus.h"

enum { SOURCE_MAX_SHOWN = 20 }; /* errors, and likewise warnings, that are kept; more are only counted */

struct source {
    struct arena *arena;
    const char *file, *text;
    size_t length;
    struct lm_diagnostic *shown;
    unsigned n_shown, n_errors, n_warnings; /* the latter two count all, shown or not */
    bool has_comments;
};

struct source source_open(struct arena *arena, const char *file, const char *text, size_t length);

/* `hint` may be NULL. The caret underlines the word that starts at `pos`. */
void source_error(struct source *, struct lm_pos pos, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void source_warning(struct source *, struct lm_pos pos, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Would another diagnostic be shown? If not, there is no need to think of a hint for it. */
bool source_has_room(const struct source *, enum lm_severity);

/* Refuses what is not text: NUL and other control bytes, broken UTF-8, more than the size limit. True if all
 * is well. */
bool source_is_text(struct source *);

/* The diagnostics in the order of the source, with a last line that counts those that are not shown. */
void source_finish(struct source *, struct lm_parse *into);

#endif
