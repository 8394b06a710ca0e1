/* Names: numbering them as they come up, finding them again, and guessing which one a misspelt word means. */
#ifndef REMORA_LITMUS_NAMES_H
#define REMORA_LITMUS_NAMES_H

#include <limits.h>

struct arena;

enum { NAMES_NONE = UINT_MAX };

/* Zero-initialised it is empty. Numbers run from 0 in the order of addition. */
struct names {
    const char **list;
    unsigned n, room;
    unsigned *slots; /* open addressing; number + 1, 0 is free */
    unsigned n_slots;
};

unsigned names_find(const struct names *, const char *name); /* NAMES_NONE if it is not there */
unsigned names_add(struct names *, struct arena *, const char *name);

/* The best guess among names so far, improved by each candidate that is nearer to `word`: at most two edits
 * away, and fewer than half the letters of the word; or the same but for upper and lower case. */
struct guess {
    const char *word, *best;
    unsigned distance;
};
struct guess guess_start(const char *word);
void guess_consider(struct guess *, const char *candidate);
/* "did you mean `best`?", or NULL */
const char *guess_hint(const struct guess *, struct arena *);

#endif
