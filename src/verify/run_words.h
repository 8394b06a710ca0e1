/* What happens in a run, in words. */
#ifndef REMORA_VERIFY_RUN_WORDS_H
#define REMORA_VERIFY_RUN_WORDS_H

#include "verify/run_story.h"
#include "verify/run_tell.h"

struct source_lines;

struct run_words {
    struct arena *arena;
    const struct run_names *names;
    const struct story *story; /* NULL while there is none */
    struct source_lines *lines;
};

/* Where the thread stands in the C code: "rem_get_value < mcs_lock.c:57 < mcs_lock.c:65". "" if that is not known. */
const char *words_place(const struct run_words *, unsigned thread, uint32_t point);
/* The call of the library that the thread is in: "rem_get_value"; NULL: it is in none. */
const char *words_call(const struct run_words *, unsigned thread, uint32_t point);
/* Its innermost line alone, and the function that it is in. */
const char *words_line(const struct run_words *, unsigned thread, uint32_t point, const char **function);

/* The text of a thread's statement; NULL: it has none. */
const char *words_statement(const struct run_words *, unsigned thread, unsigned number);

/* A word where results go that only the library's calls see. */
bool words_is_internal(const struct run_words *, unsigned loc);
/* … and of these, a thread's ticket of a lock. */
bool words_is_ticket(const struct run_words *, unsigned loc);

/* "put" */
const char *words_noun(const struct operation *);
/* "put of 1 to counter@0" */
const char *words_operation(const struct run_words *, const struct operation *);
/* "put of step 13" */
const char *words_short(const struct run_words *, const struct operation *);
/* "put of 1 to counter@0 (step 13, mcs_lock.c:57)" */
const char *words_long(const struct run_words *, const struct operation *);

/* What a step does: of the CPU, "posts a put of 1 to counter@0"; else "its put of step 13 lands: counter@0 = 1". */
const char *words_step(const struct run_words *, uint32_t step);
/* What the thread would do next in this state: "posts a put of 1 to counter@0". */
const char *words_next(const struct run_words *, const struct local *);

#endif
