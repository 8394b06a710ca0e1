/* Follows a run of the machine (section 2) and knows, of everything that is on its way, which operation it comes
 * from. */
#ifndef REMORA_SEARCH_ORIGINS_H
#define REMORA_SEARCH_ORIGINS_H

#include "model/machine.h"

/* Mirrors the FIFOs of a state: for each entry, the number that its operation was given. */
struct origins {
    const struct machine *machine;
    uint32_t *of; /* like the entries */
    size_t n;
};

enum { NO_ORIGIN = UINT32_MAX };

/* Follows one step of a run. A CPU step that appends to B gives its entry `number`. Returns the number of what the step
 * has moved or taken (of a poll: of the operation that has completed), NO_ORIGIN if there is nothing. */
uint32_t origins_follow(struct origins *, const uint8_t *before, const uint8_t *next, struct step,
                        uint32_t number);
void origins_free(struct origins *);

#endif
