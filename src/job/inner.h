/* What the library's own threads are made with. */
#ifndef REMORA_JOB_INNER_H
#define REMORA_JOB_INNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread that takes none of the program's signals. */
bool inner_thread(pthread_t *thread, void *(*run)(void *), void *argument);

/* A condition whose waits are timed by the monotonic clock. */
void inner_condition(pthread_cond_t *condition);

/* Waits for the condition, so long at most; as pthread_cond_timedwait. */
int inner_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t nanoseconds);

#endif
