/* The node's deputy: a thread that acts for threads that don't call in. (Section 2 of the specification: the silent
 * steps, which happen without the thread's help.)
 *
 * It sends what has been held back for too long (ofi_hold.c), and lands results of threads that have not looked for them
 * since it last came by: another thread may be waiting to see them in memory. While something is held it comes by every
 * SHORT_NAP, while results are outstanding every LONG_NAP, and else it sleeps until it is called.
 *
 * It acts on ports of other threads, hence the lock of a thread, which is free unless it does just that. */
#include "fabric/ofi_intern.h"
#include "job/futex.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { SHORT_NAP = 50000, LONG_NAP = 500000, IDLE_NAPS = 50, LOCK_YIELDS = 20, SLACK = 1000 };

struct ofi_deputy {
    struct fabric_node *link;
    pthread_t id;
    atomic_bool stop;
    atomic_uint asleep;
};

enum business { NONE, RESULTS, HELD };

void thread_lock(struct fabric_thread *thread)
{
    for (unsigned round = 0; atomic_exchange_explicit(&thread->locked, true, memory_order_acquire); round++)
        if (round < LOCK_YIELDS)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, SHORT_NAP}, NULL);
    atomic_fetch_add_explicit(&thread->calls, 1, memory_order_relaxed);
}

void thread_unlock(struct fabric_thread *thread)
{
    atomic_store_explicit(&thread->locked, false, memory_order_release);
}

/* For a thread whose lock is free; else it is busy with the same itself. */
static void act_for(struct fabric_thread *thread, bool results)
{
    if (atomic_exchange_explicit(&thread->locked, true, memory_order_acquire))
        return;
    hold_expire(thread);
    while (results && thread_progress(thread))
        ;
    thread_unlock(thread);
}

static enum business look_after(struct fabric_thread *thread)
{
    enum business business = atomic_load(&thread->held)                                      ? HELD
                             : atomic_load_explicit(&thread->unlanded, memory_order_relaxed) ? RESULTS
                                                                                             : NONE;
    unsigned calls = atomic_load_explicit(&thread->calls, memory_order_relaxed);
    if (business == HELD || (business == RESULTS && calls == thread->calls_seen))
        act_for(thread, business == RESULTS);
    thread->calls_seen = calls;
    return business;
}

static enum business look_after_all(struct fabric_node *link)
{
    enum business most = NONE;
    for (unsigned i = 0; i < link->threads; i++) {
        struct fabric_thread *thread = __atomic_load_n(&link->kept[i], __ATOMIC_ACQUIRE);
        enum business one = thread ? look_after(thread) : NONE;
        most = one > most ? one : most;
    }
    return most;
}

/* Who has business for it looks whether it sleeps afterwards; it looks for business after it has said that it does. */
static void sleep_until_called(struct ofi_deputy *deputy)
{
    atomic_store(&deputy->asleep, 1);
    if (look_after_all(deputy->link) == NONE && !atomic_load(&deputy->stop))
        futex_wait(&deputy->asleep, 1, UINT64_C(1000000000));
    atomic_store(&deputy->asleep, 0);
}

static void *deputise(void *argument)
{
    struct ofi_deputy *deputy = argument;
    prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0);
    for (unsigned idle = 0; !atomic_load(&deputy->stop);) {
        enum business business = look_after_all(deputy->link);
        idle = business == NONE ? idle + 1 : 0;
        if (idle > IDLE_NAPS)
            sleep_until_called(deputy);
        else
            nanosleep(&(struct timespec){0, business == HELD ? SHORT_NAP : LONG_NAP}, NULL);
    }
    return NULL;
}

void deputy_call(struct fabric_node *link)
{
    struct ofi_deputy *deputy = link->deputy;
    if (atomic_load(&deputy->asleep) && atomic_exchange(&deputy->asleep, 0))
        futex_wake(&deputy->asleep, 1);
}

int deputy_start(struct fabric_node *link)
{
    struct ofi_deputy *deputy = calloc(1, sizeof *deputy);
    if (deputy) {
        deputy->link = link;
        link->deputy = deputy;
        if (pthread_create(&deputy->id, NULL, deputise, deputy) == 0)
            return 0;
        link->deputy = NULL;
        free(deputy);
    }
    job_fail(link->node, REM_ENOMEM, link->node->self, NULL);
    return REM_ENOMEM;
}

void deputy_stop(struct fabric_node *link)
{
    struct ofi_deputy *deputy = link->deputy;
    if (!deputy)
        return;
    atomic_store(&deputy->stop, true);
    atomic_store(&deputy->asleep, 0);
    futex_wake(&deputy->asleep, 1);
    pthread_join(deputy->id, NULL);
    link->deputy = NULL;
    free(deputy);
}
