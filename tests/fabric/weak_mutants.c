/* The table behind fabric/weak_mutants.h. */
#include "fabric/weak_mutants.h"
#include "fabric/weak_queue.h"

#include <string.h>

/* The checker's names of the entries' kinds. */
enum {
    E_PUT = WEAK_PUT,
    E_PUT_INLINE = WEAK_PUT_VALUE,
    E_PUTV = WEAK_PUTV,
    E_ACK = WEAK_ACK,
    E_GET = WEAK_GET,
    E_RCAS = WEAK_RCAS,
    E_RFAA = WEAK_RFAA,
    E_AW = WEAK_AW,
    E_LW = WEAK_LW,
    E_FENCE = WEAK_FENCE
};
#define KIND(kind) (1u << (kind))
enum {
    KINDS_PUT = KIND(E_PUT) | KIND(E_PUT_INLINE),
    KINDS_RMW = KIND(E_RCAS) | KIND(E_RFAA),
    STOPS_ANY = 0xffff
};

enum weak_mutant weak_mutant;
uint16_t weak_mutant_drops[16];

const struct weak_mutant_row weak_mutant_rows[WEAK_MUTANT_COUNT] = {
#define MUTANT_ENTRY(name, rule, dropped, added, text) [name] = {#name, rule, dropped},
#include "model/mutants.def"
#undef MUTANT_ENTRY
};

/* The entries that a rule moves. */
static unsigned kinds_of(unsigned rule)
{
    static const unsigned kinds[] = {
        [1] = KIND(E_FENCE), [2] = KINDS_PUT,    [3] = KIND(E_PUTV),  [5] = KIND(E_ACK),   [6] = KIND(E_GET),
        [7] = KIND(E_LW),    [9] = KIND(E_RCAS), [10] = KIND(E_RCAS), [11] = KIND(E_RFAA), [12] = KIND(E_AW)};
    return rule < sizeof kinds / sizeof *kinds ? kinds[rule] : 0;
}

void weak_mutant_choose(enum weak_mutant mutant)
{
    weak_mutant = mutant;
    memset(weak_mutant_drops, 0, sizeof weak_mutant_drops);
    const struct weak_mutant_row *row = &weak_mutant_rows[mutant];
    for (unsigned kind = 0; kind < 16; kind++)
        if (kinds_of(row->rule) >> kind & 1)
            weak_mutant_drops[kind] = (uint16_t)row->dropped;
}
