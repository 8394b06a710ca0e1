/* Faults of the weak provider, each of which a test must notice. Only builds for that test (WEAK_MUTANTS) have them; the
 * names are those of the checker's mutants (model/mutants.def), as far as they let too much happen. */
#ifndef REMORA_FABRIC_WEAK_MUTANTS_H
#define REMORA_FABRIC_WEAK_MUTANTS_H

#include <stdint.h>

enum weak_mutant {
    NO_WEAK_MUTANT,
#define MUTANT_ENTRY(name, rule, dropped, added, text) name,
#include "model/mutants.def"
#undef MUTANT_ENTRY
    WEAK_MUTANT_COUNT
};

/* The one that is switched on, and the kinds of older entries that do not stop an entry of each kind, therefore. */
extern enum weak_mutant weak_mutant;
extern uint16_t weak_mutant_drops[16];

struct weak_mutant_row {
    const char *name;
    unsigned rule;
    unsigned dropped;
};
extern const struct weak_mutant_row weak_mutant_rows[WEAK_MUTANT_COUNT];
void weak_mutant_choose(enum weak_mutant mutant);

#define WEAK_MUTANT(name) (weak_mutant == (name))
#define WEAK_MUTANT_ANY (weak_mutant != NO_WEAK_MUTANT)
#define WEAK_MUTANT_DROPS(kind) weak_mutant_drops[kind]

#endif
