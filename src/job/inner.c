/* See inner.h. */
#include "job/inner.h"

#include <signal.h>
#include <time.h>

bool inner_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

void inner_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

int inner_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    nanoseconds += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    return pthread_cond_timedwait(condition, mutex, &until);
}
