/* Choosing a mutant by name (see mutants.h). */
#include "model/mutants.h"

#ifdef REMORA_MUTANTS
#include <stdlib.h>
#include <string.h>

int mutant_chosen(void)
{
    static const char *const names[N_MUTANTS] = {
        "",
#define MUTANT_ENTRY(name, rule, text) #name,
#include "model/mutants.def"
#undef MUTANT_ENTRY
    };
    const char *wanted = getenv("REMORA_MUTANT");
    for (int i = NO_MUTANT + 1; wanted && i < N_MUTANTS; i++)
        if (strcmp(wanted, names[i]) == 0)
            return i;
    return NO_MUTANT;
}
#else
int mutant_chosen(void)
{
    return NO_MUTANT;
}
#endif
