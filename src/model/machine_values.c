/* Interned values (machine_intern.h): at most 65,536 of them, found through an open-addressing table of fixed
 * size. */
#include "base/arena.h"
#include "model/machine_intern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SMALL = 256, SLOTS = 2 * MAX_VALUES };

struct values {
    pthread_mutex_t adding;
    unsigned count;
    uint64_t *value;        /* written before its number appears in a slot */
    _Atomic uint16_t *slot; /* numbers; 0 is free (value 0 is never looked up here) */
};

struct values *values_new(void)
{
    struct values *values = xcalloc(1, sizeof *values);
    pthread_mutex_init(&values->adding, NULL);
    values->value = xcalloc(MAX_VALUES, sizeof *values->value);
    values->slot = xcalloc(SLOTS, sizeof *values->slot);
    for (values->count = 0; values->count < SMALL; values->count++)
        values->value[values->count] = values->count;
    return values;
}

void values_free(struct values *values)
{
    pthread_mutex_destroy(&values->adding);
    free(values->value);
    free(values->slot);
    free(values);
}

/* The slot that holds the value, or the free one where it belongs. */
static _Atomic uint16_t *find(struct values *values, uint64_t value)
{
    size_t at = (value * UINT64_C(0x9e3779b97f4a7c15)) >> 47;
    unsigned number;
    while ((number = atomic_load_explicit(&values->slot[at], memory_order_acquire)) != 0 &&
           values->value[number] != value)
        at = (at + 1) % SLOTS;
    return &values->slot[at];
}

int values_number(struct values *values, uint64_t value)
{
    if (value < SMALL)
        return (int)value;
    unsigned number = atomic_load_explicit(find(values, value), memory_order_acquire);
    if (number)
        return (int)number;
    pthread_mutex_lock(&values->adding);
    _Atomic uint16_t *slot = find(values, value);
    number = atomic_load_explicit(slot, memory_order_relaxed);
    int result = (int)number;
    if (!number && values->count == MAX_VALUES) {
        result = NO_VALUE;
    } else if (!number) {
        result = (int)values->count;
        values->value[values->count] = value;
        atomic_store_explicit(slot, (uint16_t)values->count++, memory_order_release);
    }
    pthread_mutex_unlock(&values->adding);
    return result;
}

uint64_t values_get(const struct values *values, unsigned number)
{
    return values->value[number];
}
