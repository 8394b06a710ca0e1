/* What the functions of the library return: 0, or one of these. */
#ifndef REMORA_ERROR_H
#define REMORA_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define REM_API __attribute__((visibility("default")))
#else
#define REM_API
#endif

/* Nothing in the library prints, aborts or exits: every fault that it can tell is one of these codes. The
 * values are part of the binary interface and never change their meaning. */
enum rem_error {
    REM_OK = 0,
    REM_EINVAL = -1,      /* an argument that no other code describes: a null pointer, a size of 0 */
    REM_ECLOSED = -2,     /* the job was never opened, or has been closed */
    REM_EDETACHED = -3,   /* the thread was never attached, or has been detached */
    REM_ENODE = -4,       /* a node number that the job does not have */
    REM_EADDRESS = -5,    /* the remote address, or its end, is outside the target's registered memory */
    REM_ELOCAL = -6,      /* the local buffer, or its end, is outside this node's registered memory */
    REM_EALIGN = -7,      /* an atomic on an address that is not a multiple of 8 */
    REM_EWORK = -8,       /* a work id that is not below REM_WORK_IDS */
    REM_EHELD = -9,       /* acquire of a lock that this thread holds; detach of a thread that holds a lock */
    REM_ENOTHELD = -10,   /* release of a lock that this thread does not hold */
    REM_EDESTROYED = -11, /* an object that was never initialised, or has been destroyed */
    REM_EBUSY = -12, /* try_acquire found the lock taken; close of a job with threads attached; two threads of
                        a node in a collective call at once */
    REM_ETIMEDOUT = -13,    /* the deadline passed before the lock was free */
    REM_EDEAD = -14,        /* a node of the job has died or left: what was waited for may never come */
    REM_ENOMEM = -15,       /* no memory left: of the process, or of the symmetric heap */
    REM_ETHREADS = -16,     /* the node has as many threads attached as the job allows */
    REM_ECOLLECTIVE = -17,  /* the nodes' arguments to a collective call differ */
    REM_EENVIRONMENT = -18, /* REMORA_JOB or REMORA_HEAP in the environment is not what a launcher sets */
    REM_EOPENED = -19,      /* this node of the job has been opened before */
    REM_ESYSTEM = -20,      /* a system call failed; errno says how */
    REM_EPROVIDER = -21,    /* the transport is not built in, or can't be used here: rem_failure says why */
    REM_EUNREACHABLE = -22, /* a node does not answer any more, though the transport tried for as long as it
                               was told to */
    REM_ETRANSPORT = -23    /* the transport refused or lost an operation: rem_failure says how */
};

/* A line of English for a code, without a full stop; never null. Any thread, any time. */
REM_API const char *rem_strerror(int error);

#ifdef __cplusplus
}
#endif
#endif
