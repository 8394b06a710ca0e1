/* How the nodes of a job reach each other before there is a transport, and for what needs none: addresses,
 * arguments that must agree, barriers. */
#ifndef REMORA_JOB_WIRE_H
#define REMORA_JOB_WIRE_H

#include <stddef.h>

struct rem_node;

/* Both are collective, and called by one thread of a node at a time. They return 0, REM_EDEAD or the job's failure. */
struct wire {
    const char *name;

    /* Every node gives `size` bytes, the same number, and gets those of all, in order of node. */
    int (*exchange)(struct rem_node *node, const void *mine, size_t size, void *all);

    /* A fence on each side, as rem_barrier. */
    int (*barrier)(struct rem_node *node);

    /* Of a launcher's wire, else null. From now on its word that a process has died is the job's failure. */
    void (*listen)(struct rem_node *node);

    /* What it says of the call that failed, or null. */
    const char *(*why)(const struct rem_node *node);

    /* Of a wire that outlives the transport, else null. leave: returns when every node has called it, or the job has
     * failed and the others have had some seconds to. close: the last of all. */
    void (*leave)(struct rem_node *node);
    void (*close)(struct rem_node *node);
};

/* All nodes have the control block in memory. */
extern const struct wire wire_control;

#endif
