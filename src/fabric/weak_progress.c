/* Where the threads of a job run side by side, a pthread for each node takes silent steps too, so that everything lands
 * in the end while its thread computes or spins. */
#include "base/random.h"
#include "fabric/weak_turns.h"

#include <unistd.h>

enum { STEPS_AT_ONCE = 8, LONGEST_NAP = 100 /* microseconds */ };

/* A dead process may have held A[n]: nothing may wait for it. */
static void free_atomics(struct rem_node *node)
{
    for (unsigned n = 0; n < node->nodes; n++)
        __atomic_store_n(weak_busy(node, n), 0, __ATOMIC_SEQ_CST);
}

/* Some steps of each thread that is not in a call. Whether anything is left to do. */
static bool advance(struct fabric_node *link, uint64_t *random)
{
    bool pending = false;
    pthread_mutex_lock(&link->mutex);
    for (struct fabric_thread *t = link->threads; t; t = t->sibling) {
        if (pthread_mutex_trylock(&t->mutex) != 0) {
            pending = true;
            continue;
        }
        for (unsigned left = random_below(random, STEPS_AT_ONCE); left > 0 && weak_pool_step(t->pool); left--)
            ;
        pending |= t->active || t->buffer.count;
        pthread_mutex_unlock(&t->mutex);
    }
    pthread_mutex_unlock(&link->mutex);
    return pending;
}

static void sleep_until_work(struct fabric_node *link, uint64_t *random)
{
    atomic_store(&link->asleep, true);
    bool pending = advance(link, random); /* what was posted before others could see that we sleep */
    pthread_mutex_lock(&link->mutex);
    while (!pending && atomic_load(&link->asleep) && !atomic_load(&link->stopping))
        pthread_cond_wait(&link->work, &link->mutex);
    pthread_mutex_unlock(&link->mutex);
    atomic_store(&link->asleep, false);
}

static void *run(void *argument)
{
    struct fabric_node *link = argument;
    uint64_t random = link->options.seed * 64 + link->node->self;
    while (!atomic_load(&link->stopping)) {
        if (node_failure(link->node))
            free_atomics(link->node);
        if (advance(link, &random))
            usleep(1 + random_below(&random, LONGEST_NAP));
        else
            sleep_until_work(link, &random);
    }
    return NULL;
}

void weak_start_progress(struct fabric_node *link)
{
    link->progressing = pthread_create(&link->progress, NULL, run, link) == 0;
}

void weak_stop_progress(struct fabric_node *link)
{
    if (!link->progressing)
        return;
    pthread_mutex_lock(&link->mutex);
    atomic_store(&link->stopping, true);
    pthread_cond_signal(&link->work);
    pthread_mutex_unlock(&link->mutex);
    pthread_join(link->progress, NULL);
}

void weak_wake_progress(struct fabric_node *link)
{
    if (!atomic_exchange(&link->asleep, false))
        return;
    pthread_mutex_lock(&link->mutex);
    pthread_cond_signal(&link->work);
    pthread_mutex_unlock(&link->mutex);
}
