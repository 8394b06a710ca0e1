/* How a launcher tells a process which node of which job it is. */
#ifndef REMORA_JOB_ENVIRONMENT_H
#define REMORA_JOB_ENVIRONMENT_H

#include <remora/job.h>

#include <stdbool.h>

/* "1:SELF:DESCRIPTOR:INODE" of the job's memory; 1 is the version of this format. */
#define ENVIRONMENT_JOB "REMORA_JOB"

/* Of a job that no launcher of ours set up: the transport, the heap of each node, the most threads of one, the
 * seconds that a node may leave a message unanswered. */
#define ENVIRONMENT_PROVIDER "REMORA_PROVIDER"
#define ENVIRONMENT_HEAP "REMORA_HEAP"
#define ENVIRONMENT_THREADS "REMORA_THREADS"
#define ENVIRONMENT_TIMEOUT "REMORA_TIMEOUT"

/* Of a job whose nodes meet over PMIx: the seconds that a node may be later than the others in opening it. */
#define ENVIRONMENT_OPENING "REMORA_OPENING"

#define DEFAULT_FAR_PROVIDER "ofi"

/* What these say; 0, null, or the default where they say nothing. The patience is in nanoseconds.
 *   REM_EENVIRONMENT */
int environment_options(struct rem_options *options, uint64_t *patience);

/* The same; null, or the first variable that is not what it should be. */
const char *environment_wrong(struct rem_options *options, uint64_t *patience);

/* Seconds, with a fraction or without, as nanoseconds. */
bool environment_seconds(const char *text, uint64_t *nanoseconds);

/* A number of bytes with an optional suffix K, M or G. */
bool environment_size(const char *text, size_t *size);

#endif
