/* The futex system call on words that processes share. */
#ifndef REMORA_JOB_FUTEX_H
#define REMORA_JOB_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Sleeps while *word is `seen`, at most `nanoseconds`; may return early for no reason. */
static inline void futex_wait(atomic_uint *word, unsigned seen, uint64_t nanoseconds)
{
    struct timespec limit = {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
}

static inline void futex_wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

#endif
