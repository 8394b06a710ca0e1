/* The codes in words. */
#include <remora/job.h>

#include <stddef.h>
#include <time.h>

static const char *const messages[] = {
    [-REM_OK] = "success",
    [-REM_EINVAL] = "invalid argument",
    [-REM_ECLOSED] = "the job is not open",
    [-REM_EDETACHED] = "the thread is not attached",
    [-REM_ENODE] = "the job has no such node",
    [-REM_EADDRESS] = "the remote address is outside the target's registered memory",
    [-REM_ELOCAL] = "the local buffer is outside this node's registered memory",
    [-REM_EALIGN] = "the address of an atomic is not a multiple of 8",
    [-REM_EWORK] = "the work id is too large",
    [-REM_EHELD] = "the thread holds a lock",
    [-REM_ENOTHELD] = "the thread does not hold the lock",
    [-REM_EDESTROYED] = "the object is not initialised, or has been destroyed",
    [-REM_EBUSY] = "in use by others",
    [-REM_ETIMEDOUT] = "the deadline has passed",
    [-REM_EDEAD] = "a node of the job has died or left",
    [-REM_ENOMEM] = "out of memory",
    [-REM_ETHREADS] = "the node has no place for another thread",
    [-REM_ECOLLECTIVE] = "the nodes disagree about the arguments of a collective call",
    [-REM_EENVIRONMENT] = "the environment does not describe a job",
    [-REM_EOPENED] = "the node has been opened before",
    [-REM_ESYSTEM] = "a system call failed",
    [-REM_EPROVIDER] = "the transport can't be used here",
    [-REM_EUNREACHABLE] = "a node of the job does not answer",
    [-REM_ETRANSPORT] = "the transport refused or lost an operation",
};

const char *rem_strerror(int error)
{
    if (error > 0 || error < REM_ETRANSPORT)
        return "unknown error";
    return messages[-error];
}

uint64_t rem_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
