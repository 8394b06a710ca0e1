/* Sequentially consistent locations: words that behave as if there were one memory and one operation at a
 * time. (Section 8 of the specification.)
 *
 * Every operation has the single stamp aMF, so all operations of all threads on all these locations stand in
 * one order that keeps each thread's program order: the model that textbooks assume. It does not complete the
 * thread's earlier operations of other layers; rem_gfence does.
 *
 * A location lives on one node, which the caller of an operation need not know; each has a node lock of its
 * own, inside. */
#ifndef REMORA_SC_H
#define REMORA_SC_H

#include <remora/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array of locations. Declare it, initialise it, pass its address; do not copy it. */
typedef struct rem_sc {
    uint64_t magic; /* private */
    struct rem_node *node;
    struct rem_sc_cell *cells;
    size_t count;
    int home;
} rem_sc;

#define REM_SPREAD (-1) /* location i lives on node i modulo the number of nodes */

/* `count` locations, all 0, on node `home` or spread over all nodes. Collective, as rem_alloc, whose errors
 * they return, besides REM_ENODE. 64 bytes a location, on every node. */
REM_API int rem_sc_init(rem_job *job, rem_sc *array, size_t count, int home);
REM_API int rem_sc_destroy(rem_job *job, rem_sc *array);

/* Location `index`. *value and *old are any memory. Each waits for its turn, as rem_nlock_acquire does; two
 * round trips. cas changes the location only if it holds `expected`; cas and faa give the value before.
 *   REM_EDETACHED, REM_EDESTROYED, REM_EINVAL (index, null pointer), REM_EDEAD */
REM_API int rem_sc_read(rem_thread *thread, rem_sc *array, size_t index, uint64_t *value);
REM_API int rem_sc_write(rem_thread *thread, rem_sc *array, size_t index, uint64_t value);
REM_API int rem_sc_cas(rem_thread *thread, rem_sc *array, size_t index, uint64_t *old, uint64_t expected,
                       uint64_t desired);
REM_API int rem_sc_faa(rem_thread *thread, rem_sc *array, size_t index, uint64_t *old, uint64_t add);

#ifdef __cplusplus
}
#endif
#endif
