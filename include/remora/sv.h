/* Shared variables: one word with a copy on every node. (Section 6 of the specification.)
 *
 * A thread reads and writes its own node's copy by CPU; rem_sv_broadcast sends it to others; rem_gfence makes
 * everything that the thread did towards given nodes, by whatever layer, arrive. Whose broadcast wins when
 * several nodes write is a matter of arrival: give a variable one writing thread, or a lock.
 *
 * Any thread; one rem_sv may be used by all threads of the node. */
#ifndef REMORA_SV_H
#define REMORA_SV_H

#include <remora/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Declare it, initialise it, pass its address; do not copy it. */
typedef struct rem_sv {
    uint64_t magic; /* private */
    struct rem_node *node;
    uint64_t *word;
} rem_sv;

/* A set of nodes: bit n is node n. */
typedef uint64_t rem_nodes;
#define REM_NODE(n) ((rem_nodes)1 << (n))
#define REM_ALL_NODES (~(rem_nodes)0) /* those beyond the job's are ignored, here only */

/* Collective, as rem_alloc, whose errors they return. The variable is 0 on every node. After destroy, and
 * before init if the variable was zeroed, every call returns REM_EDESTROYED. */
REM_API int rem_sv_init(rem_job *job, rem_sv *variable);
REM_API int rem_sv_destroy(rem_job *job, rem_sv *variable);

/* The own node's copy. Stamps aCR and aCW.
 *   REM_EDETACHED, REM_EDESTROYED */
REM_API int rem_sv_read(rem_thread *thread, const rem_sv *variable, uint64_t *value);
REM_API int rem_sv_write(rem_thread *thread, rem_sv *variable, uint64_t value);

/* Sends the own node's copy, as it is when the network card reads it, to the copies on `nodes`. Stamps
 * aNLR_n, aNRW_n for each of them. A thread's broadcasts to one node arrive in order. rem_wait(work) tells
 * that the copy has been read, and may be written without changing what was sent; it does not tell that the
 * broadcast has arrived.
 *   REM_EDETACHED, REM_EDESTROYED, REM_EWORK, REM_ENODE (a node that the job does not have) */
REM_API int rem_sv_broadcast(rem_thread *thread, rem_sv *variable, rem_nodes nodes, unsigned work);

/* Global fence. Blocks until every earlier operation of this thread towards `nodes`, of any layer, is fully
 * done: puts have arrived, results are here. Stamp aGF_n for each: before everything later in the thread. One
 * round trip, to all at once.
 *   REM_EDETACHED, REM_ENODE, REM_EDEAD */
REM_API int rem_gfence(rem_thread *thread, rem_nodes nodes);

#ifdef __cplusplus
}
#endif
#endif
