/* What the environment variable REMORA_WEAK says. docs/weak.md is the manual. */
#ifndef REMORA_FABRIC_WEAK_OPTIONS_H
#define REMORA_FABRIC_WEAK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENVIRONMENT_WEAK "REMORA_WEAK"

enum weak_mode {
    WEAK_MIX,      /* each epoch is of one of the others */
    WEAK_UNIFORM,  /* all enabled steps are equally likely */
    WEAK_RANDOM,   /* every class of steps of every queue pair has a weight of its own, 1 to 1024 */
    WEAK_STARVE,   /* one queue pair is held up */
    WEAK_LATE,     /* what is written lands late */
    WEAK_OVERTAKE, /* gets and remote atomics are held up, so that puts overtake them */
    WEAK_MODES
};

/* When a fault happens: at that operation (counted from 1), or at each with this probability; 0 and 0: never. */
struct weak_chance {
    uint64_t count;
    double probability;
};

struct weak_options {
    uint64_t seed;
    enum weak_mode mode;
    unsigned threads;  /* together: none goes on before so many have attached */
    unsigned patience; /* together: milliseconds after which a thread that computes loses its turn */
    bool free;         /* together: threads run side by side nevertheless */
    struct weak_chance delay, death, error;
    bool faults; /* any of these */
};

extern const char *const weak_mode_names[WEAK_MODES];

/* Null: nothing is said. False if the text is not understood: *bad is where. */
bool weak_options_read(struct weak_options *options, const char *text, const char **bad);

/* "seed=7,mode=mix,…", what differs from the default, seed and mode always. Returns as snprintf. */
int weak_options_write(const struct weak_options *options, char *text, size_t size);

#endif
