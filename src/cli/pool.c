/* A pool of threads that ends with its tasks (pool.h). */
#include "cli/pool.h"

#include "base/arena.h"
#include "job/inner.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct pool {
    pthread_mutex_t mutex; /* guards what follows, up to `workers` */
    pthread_cond_t progress;
    size_t next, done;
    bool *is_done;
    unsigned idle; /* workers that will begin no more */
    unsigned workers;
    pthread_t *threads;
    size_t count;
    void (*task)(void *context, size_t i);
    void *context;
    const atomic_bool *stop;
};

static void *work(void *argument)
{
    struct pool *pool = argument;
    pthread_mutex_lock(&pool->mutex);
    while (pool->next < pool->count && !atomic_load(pool->stop)) {
        size_t i = pool->next++;
        pthread_mutex_unlock(&pool->mutex);
        pool->task(pool->context, i);
        pthread_mutex_lock(&pool->mutex);
        pool->is_done[i] = true;
        pool->done++;
        pthread_cond_broadcast(&pool->progress);
    }
    pool->idle++;
    pthread_cond_broadcast(&pool->progress);
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

struct pool *pool_start(unsigned workers, size_t count, void (*task)(void *context, size_t i), void *context,
                        const atomic_bool *stop)
{
    struct pool *pool = xcalloc(1, sizeof *pool);
    inner_condition(&pool->progress);
    pthread_mutex_init(&pool->mutex, NULL);
    pool->is_done = xcalloc(count, sizeof *pool->is_done);
    pool->count = count;
    pool->task = task;
    pool->context = context;
    pool->stop = stop;
    if (workers > count)
        workers = (unsigned)count;
    pool->threads = xcalloc(workers, sizeof *pool->threads);
    unsigned started = 0;
    while (started < workers && pthread_create(&pool->threads[started], NULL, work, pool) == 0)
        started++;
    if (!started && count)
        work(pool); /* no thread to be had: do it here */
    pthread_mutex_lock(&pool->mutex);
    pool->workers = started;
    pthread_mutex_unlock(&pool->mutex);
    return pool;
}

bool pool_wait(struct pool *pool, size_t i, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long nanoseconds = until.tv_nsec + (long)(seconds * 1e9);
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_done[i] && pool->idle < pool->workers)
        if (pthread_cond_timedwait(&pool->progress, &pool->mutex, &until) != 0)
            break;
    bool done = pool->is_done[i] || pool->idle >= pool->workers;
    pthread_mutex_unlock(&pool->mutex);
    return done;
}

size_t pool_done(struct pool *pool, size_t *current)
{
    pthread_mutex_lock(&pool->mutex);
    size_t done = pool->done, i = 0;
    while (i < pool->next && pool->is_done[i])
        i++;
    *current = i;
    pthread_mutex_unlock(&pool->mutex);
    return done;
}

void pool_finish(struct pool *pool)
{
    for (unsigned i = 0; i < pool->workers; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->progress);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool->is_done);
    free(pool);
}
