/* Switchable faults: each guard of section 2 can be dropped or strengthened, one at a time, to see whether
 * the tests notice (mutants.def). Only builds with the option `mutants` contain them; everywhere else MUTANT
 * is 0. */
#ifndef REMORA_MODEL_MUTANTS_H
#define REMORA_MODEL_MUTANTS_H

enum mutant {
    NO_MUTANT,
#define MUTANT_ENTRY(name, rule, dropped, added, text) name,
#include "model/mutants.def"
#undef MUTANT_ENTRY
    N_MUTANTS
};

#ifdef REMORA_MUTANTS
#define MUTANT(m, name) ((m)->mutant == (name))
#else
#define MUTANT(m, name) ((void)(m), 0)
#endif

/* The mutant that the environment variable REMORA_MUTANT names; NO_MUTANT in ordinary builds. */
int mutant_chosen(void);

#endif
