/* How a launcher tells a process which node of which job it is. */
#ifndef REMORA_JOB_ENVIRONMENT_H
#define REMORA_JOB_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

/* "1:SELF:DESCRIPTOR:INODE" of the job's memory; 1 is the version of this format. */
#define ENVIRONMENT_JOB "REMORA_JOB"

/* The heap of a job of one, when there is no launcher. */
#define ENVIRONMENT_HEAP "REMORA_HEAP"

/* The transport of a job that no launcher set up. */
#define ENVIRONMENT_PROVIDER "REMORA_PROVIDER"

/* A number of bytes with an optional suffix K, M or G. */
bool environment_size(const char *text, size_t *size);

#endif
