/* What the nodes of a job on several hosts do together: they have no memory in common, so it goes over the transport. */
#ifndef REMORA_FABRIC_FAR_H
#define REMORA_FABRIC_FAR_H

struct rem_node;

/* Collective, when the transport is open: from now on node->wire is that of the transport, and a node that does not
 * answer for as long as the job's patience is its failure. On an error everything is undone. */
int far_open(struct rem_node *node);

/* Returns when every node has called it, or when the job has failed and the others have had some time to. The transport
 * is still open then, and nobody needs this node's part of it any more. */
void far_close(struct rem_node *node);

#endif
