/* What states refer to by number: 64-bit values, and the local states of threads. Both tables only grow. They
 * are shared by the threads of a search: reading takes no lock, adding takes one. */
#ifndef REMORA_MODEL_MACHINE_INTERN_H
#define REMORA_MODEL_MACHINE_INTERN_H

#include "model/machine.h"

/* Values. Numbers 0 to 255 are the values 0 to 255. */
enum { MAX_VALUES = 65536, NO_VALUE = -1 };
struct values *values_new(void);
void values_free(struct values *);
int values_number(struct values *, uint64_t value); /* NO_VALUE: all numbers are taken */
uint64_t values_get(const struct values *, unsigned number);

/* Local states. Numbers start from 1. */
struct locals *locals_new(struct machine *, unsigned most_regs);
void locals_free(struct locals *);
size_t locals_bytes(const struct locals *);

enum { LOCAL_NONE = 0 }; /* there is no room left: see machine_why */
uint32_t locals_first(struct machine *, unsigned thread);
/* Where the thread gets to when its operation gives the value with this number. */
uint32_t locals_after(struct machine *, uint32_t number, unsigned result);

#endif
