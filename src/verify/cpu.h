/* Included before everything else when the shm provider and what stands on it are compiled for verification:
 * their atomic accesses, with whatever memory order, become the loads, stores and locked instructions that
 * x86-64 executes for them, as operations of the model. */
#ifndef REMORA_VERIFY_CPU_H
#define REMORA_VERIFY_CPU_H

#include <stdbool.h>
#include <stdint.h>

uint64_t cpu_load(const volatile void *word, unsigned size);
void cpu_store(void *word, unsigned size, uint64_t value);
uint64_t cpu_exchange(void *word, unsigned size, uint64_t value);
uint64_t cpu_fetch_add(void *word, unsigned size, uint64_t add);
bool cpu_compare_exchange(void *word, unsigned size, uint64_t *expected, uint64_t desired);

#define __atomic_load_n(word, order) ((__typeof__(*(word) + 0))cpu_load((word), sizeof *(word)))
#define __atomic_store_n(word, value, order) cpu_store((word), sizeof *(word), (uint64_t)(value))
#define __atomic_exchange_n(word, value, order) cpu_exchange((word), sizeof *(word), (uint64_t)(value))
#define __atomic_fetch_add(word, add, order) cpu_fetch_add((word), sizeof *(word), (uint64_t)(add))
#define __atomic_compare_exchange_n(word, expected, desired, weak, success, failure)                         \
    cpu_compare_exchange((word), sizeof *(word), (expected), (desired))

#endif
