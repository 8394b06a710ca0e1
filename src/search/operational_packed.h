/* A packed state of the machine that grows as steps are taken, and the steps that the reduction takes at once
 * (docs/reduction.md). */
#ifndef REMORA_SEARCH_OPERATIONAL_PACKED_H
#define REMORA_SEARCH_OPERATIONAL_PACKED_H

#include "model/machine.h"

/* Every single step taken, if wanted. */
struct log {
    struct step *steps;
    size_t n, capacity;
};

struct packed {
    struct machine *machine;
    uint8_t *state;
    size_t capacity;
    unsigned room;   /* as many entries may `state` have before a step is taken */
    struct log *log; /* NULL: not wanted */
};

void packed_reserve(struct packed *, size_t state_size);
void packed_free(struct packed *);
void log_step(struct log *, struct step);

enum effect packed_take(struct packed *, struct step);
/* The same, but the start of a spin iteration goes on to its first read. */
enum effect packed_take_whole(struct packed *, struct step);
/* Takes every step of the thread and its queue pairs that depends on no step that could come before it. */
enum effect packed_take_eager(struct packed *, unsigned thread);

/* The steps by which thread t, at the head of a spin loop, starts an iteration; together with its first read, if it
 * starts with one. Their number; 0 if that can't be done now. */
enum { SPIN_STEPS = 4 };
unsigned spin_steps(struct machine *, const uint8_t *state, unsigned t, struct step steps[SPIN_STEPS]);
/* That first read: a load, or a get that is waited for at once; NULL if there is none. */
const struct local *spin_read(struct machine *, uint32_t local);

#endif
