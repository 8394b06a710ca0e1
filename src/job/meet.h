/* Nodes that a launcher started without giving them memory, from their first message to the point where each has it. */
#ifndef REMORA_JOB_MEET_H
#define REMORA_JOB_MEET_H

#include <remora/job.h>

#include <stdbool.h>

/* What opening the launcher's wire found out, besides node->self and node->nodes. */
struct meeting_place {
    bool one_host;  /* the launcher put all nodes on one host */
    char text[160]; /* on an error: why */
};

/* The environment says that such a launcher waits for this process. */
bool meet_called(void);

/* Fills job->node, or job->code and text. */
int meet(rem_job *job);

#endif
