/* Registers and locations of a herd x86 test, and what they are called in the native form (see x86_names.c).
 */
#ifndef REMORA_LITMUS_X86_NAMES_H
#define REMORA_LITMUS_X86_NAMES_H

#include "litmus/names.h"
#include "litmus/x86.h"

enum { X86_MAX_REGISTERS = 64 /* of a thread */ };

struct x86_register {
    const char *shown;   /* as the native form calls it */
    const char *address; /* the location whose address it holds from the start, or NULL */
};

struct x86_names {
    struct source *source;
    bool is_64;
    struct names locations;   /* as the test spells them */
    struct names shown;       /* as the native form does, with the same numbers */
    unsigned *location_width; /* bits */
    unsigned n_threads;
    struct x86_thread_names {
        struct names keys; /* number: index in registers */
        struct x86_register registers[X86_MAX_REGISTERS];
    } * threads;
};

/* Is the word a register of the architecture (percent sign or not), and how many bits of it does it name? */
bool x86_is_register(const struct x86_names *, const char *word, unsigned *width);

/* The register that a word names, eax and rax being one. NULL, and an error, if it names none. */
struct x86_register *x86_find_register(struct x86_names *, unsigned thread, const char *word, struct lm_pos);

/* Numbers all locations, and gives registers the names by which the condition calls them. */
bool x86_collect_names(struct x86_names *, const struct x86_test *);

const char *x86_location_name(const struct x86_names *,
                              const char *word); /* NULL if there is none of that name */
unsigned x86_location_width(const struct x86_names *, const char *word);

uint64_t x86_truncate(uint64_t value, unsigned width);

#endif
