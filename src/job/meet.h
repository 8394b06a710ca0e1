/* Nodes that a foreign launcher started, from their first message to the point where each has its memory. */
#ifndef REMORA_JOB_MEET_H
#define REMORA_JOB_MEET_H

#include <remora/job.h>

/* Fills job->node, or job->code and text. */
int meet(rem_job *job);

#endif
