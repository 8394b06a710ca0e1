/* The machine in words, for people who read a run. */
#ifndef REMORA_MODEL_MACHINE_PRINT_H
#define REMORA_MODEL_MACHINE_PRINT_H

#include "model/machine.h"

const char *rule_name(enum rule);
/* What the step does in the state before it: "put: reads x = 1". One line, without the thread. */
void print_step(FILE *, const struct machine *, const uint8_t *before, struct step);
/* Memory, then whatever is not empty: where each thread stands, its store buffer, its queue pairs. */
void print_state(FILE *, const struct machine *, const uint8_t *state);

#endif
