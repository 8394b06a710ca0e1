/* Threads of one process take turns. The holder of the turn runs, all others are parked in weak_wait, or outside: they
 * compute, or are blocked somewhere that the adversary can't see, such as pthread_join. Whoever comes back from outside
 * parks first. In the form for pthreads a watch takes the turn from a holder that does not come back for a while;
 * after that a run is no longer a function of its seed alone, and nothing worse. */
#include "fabric/weak_turns.h"

#include "base/random.h"
#include "job/inner.h"

#include <errno.h>
#include <unistd.h>

enum { MOST_QUIET = 100 /* the watch's looks until it no longer waits for threads to attach */ };

static bool is_turn_of(const struct weak_pool *pool, const struct fabric_thread *thread)
{
    return pool->holder == thread;
}

static void give_turn(struct weak_pool *pool, struct fabric_thread *next)
{
    pool->holder = next;
    if (!next)
        return;
    next->parked = false;
    pthread_cond_signal(&next->turn);
}

static void park(struct fabric_thread *thread, enum weak_need need)
{
    struct weak_pool *pool = thread->pool;
    thread->parked = true;
    thread->need = need;
    if (need != WEAK_NEWS)
        return;
    thread->seen = pool->version;
    thread->paused_at = pool->choices;
}

static void wait_for_turn(struct fabric_thread *thread)
{
    while (!is_turn_of(thread->pool, thread))
        pthread_cond_wait(&thread->turn, &thread->pool->mutex);
}

/* --- together --- */

/* The first operations of as many threads as the options ask for wait for each other, so that it does not matter which of
 * them came first: they are in order of the kernel's numbers, which is that of their creation. */
static bool all_have_arrived(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    if (!thread->arrived) {
        thread->arrived = true;
        pool->arrived++;
    }
    return pool->arrived >= pool->options.threads;
}

static void come_back(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    bool complete = all_have_arrived(thread);
    if (!pool->holder && complete && pool->options.threads == 0) {
        pool->holder = thread;
        return;
    }
    park(thread, WEAK_TURN);
    if (!pool->holder && complete)
        give_turn(pool, weak_pool_choose(pool));
    wait_for_turn(thread);
}

static void enter_together(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    if (pool->hand_over)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->beats++;
    thread->owner = pthread_self();
    if (!is_turn_of(pool, thread))
        come_back(thread);
}

/* Where everybody waits for something outside there is no hurry. */
static void rest(struct weak_pool *pool)
{
    if (pool->idle < 1000)
        return;
    pthread_mutex_unlock(&pool->mutex);
    usleep(pool->idle < 2000 ? 10 : 200);
    pthread_mutex_lock(&pool->mutex);
}

static void wait_together(struct fabric_thread *thread, enum weak_need need)
{
    struct weak_pool *pool = thread->pool;
    park(thread, need);
    struct fabric_thread *next = weak_pool_choose(pool);
    if (!next) { /* its need will never be met: a fault of the program that polls, or of these rules */
        next = thread;
        pool->idle++;
    }
    next->parked = false;
    pool->holder = next;
    if (pool->hand_over) {
        pool->hand_over(thread, next);
    } else if (next != thread) {
        pthread_cond_signal(&next->turn);
        wait_for_turn(thread);
    } else {
        rest(pool);
    }
}

static void join_together(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    thread->id = gettid();
    pthread_mutex_lock(&pool->mutex);
    struct fabric_thread **at = &pool->threads;
    while (*at && !(pool->options.threads && (*at)->id > thread->id))
        at = &(*at)->next;
    thread->next = *at;
    *at = thread;
    pool->n_threads++;
    pthread_mutex_unlock(&pool->mutex);
    if (!pool->hand_over)
        weak_start_watch(pool);
}

static void part_together(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    pthread_mutex_lock(&pool->mutex);
    struct fabric_thread **at = &pool->threads;
    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    pool->n_threads--;
    if (is_turn_of(pool, thread))
        give_turn(pool, pool->hand_over ? NULL : weak_pool_choose(pool));
    pthread_mutex_unlock(&pool->mutex);
}

/* --- the watch --- */

static bool anyone_is_parked(const struct weak_pool *pool)
{
    for (const struct fabric_thread *t = pool->threads; t; t = t->next)
        if (t->parked)
            return true;
    return false;
}

/* Nobody has done anything for a while. */
static void intervene(struct weak_pool *pool, unsigned quiet)
{
    bool waiting = pool->options.threads && pool->arrived < pool->options.threads;
    if (waiting && quiet > MOST_QUIET)
        pool->options.threads = 0;
    if (anyone_is_parked(pool) && !waiting)
        give_turn(pool, weak_pool_choose(pool));
    else if (!waiting)
        while (weak_pool_step(pool))
            ;
}

static void *run_watch(void *argument)
{
    struct weak_pool *pool = argument;
    uint64_t beats = 0;
    unsigned quiet = 0;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stopping) {
        if (inner_wait(&pool->stop, &pool->mutex, pool->options.patience * UINT64_C(1000000)) != ETIMEDOUT)
            continue;
        quiet = pool->beats == beats ? quiet + 1 : 0;
        if (quiet)
            intervene(pool, quiet);
        beats = pool->beats;
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* If there is no memory for it, the threads must do without. */
void weak_start_watch(struct weak_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    if (!pool->watching)
        pool->watching = pthread_create(&pool->watch, NULL, run_watch, pool) == 0;
    pthread_mutex_unlock(&pool->mutex);
}

void weak_stop_watch(struct weak_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    bool watching = pool->watching;
    pool->stopping = true;
    pthread_cond_signal(&pool->stop);
    pthread_mutex_unlock(&pool->mutex);
    if (watching)
        pthread_join(pool->watch, NULL);
    pool->watching = pool->stopping = false;
}

/* --- either form --- */

void weak_enter(struct fabric_thread *thread)
{
    if (thread->pool->together)
        enter_together(thread);
    else
        pthread_mutex_lock(&thread->mutex);
}

void weak_leave(struct fabric_thread *thread)
{
    if (!thread->pool->together)
        pthread_mutex_unlock(&thread->mutex);
    else if (!thread->pool->hand_over)
        pthread_mutex_unlock(&thread->pool->mutex);
}

/* Up to some silent steps, more and more rarely the more, and as many as the need takes. */
static void wait_alone(struct fabric_thread *thread, enum weak_need need)
{
    struct weak_pool *pool = thread->pool;
    thread->need = need;
    uint64_t draw = random_next(&pool->random);
    for (; draw & 1 && weak_pool_step(pool); draw >>= 1)
        ;
    for (unsigned round = 0; !weak_need_is_met(thread); round++) {
        if (weak_pool_step(pool))
            continue;
        pthread_mutex_unlock(&thread->mutex); /* another process has to move */
        if (round > 100)
            usleep(20);
        pthread_mutex_lock(&thread->mutex);
    }
}

void weak_wait(struct fabric_thread *thread, enum weak_need need)
{
    if (thread->pool->together)
        wait_together(thread, need);
    else
        wait_alone(thread, need);
}

/* --- joining, leaving, collective calls --- */

void weak_join(struct fabric_thread *thread)
{
    if (thread->pool->together) {
        join_together(thread);
        return;
    }
    struct fabric_node *link = thread->node->link;
    pthread_mutex_lock(&link->mutex);
    thread->sibling = link->threads;
    link->threads = thread;
    pthread_mutex_unlock(&link->mutex);
}

static bool is_idle(const struct fabric_thread *thread)
{
    return thread->active == 0 && thread->buffer.count == 0;
}

static void finish(struct fabric_thread *thread)
{
    weak_enter(thread);
    while (!is_idle(thread) && weak_pool_step(thread->pool))
        ;
    weak_leave(thread);
}

void weak_part(struct fabric_thread *thread)
{
    finish(thread);
    if (thread->pool->together) {
        part_together(thread);
        return;
    }
    struct fabric_node *link = thread->node->link;
    pthread_mutex_lock(&link->mutex);
    struct fabric_thread **at = &link->threads;
    while (*at != thread)
        at = &(*at)->sibling;
    *at = thread->sibling;
    pthread_mutex_unlock(&link->mutex);
}

static void empty_buffer(struct fabric_thread *thread)
{
    for (uint32_t left; (left = thread->buffer.count) > 0;) {
        weak_flush(thread);
        if (thread->buffer.count == left)
            weak_pool_step(thread->pool);
    }
}

/* What the node's threads have stored is seen by everyone. */
void weak_fence_node(struct rem_node *node)
{
    struct fabric_node *link = node->link;
    if (link->pool) {
        pthread_mutex_lock(&link->pool->mutex);
        for (struct fabric_thread *t = link->pool->threads; t; t = t->next)
            if (t->node == node)
                empty_buffer(t);
        pthread_mutex_unlock(&link->pool->mutex);
        return;
    }
    pthread_mutex_lock(&link->mutex);
    for (struct fabric_thread *t = link->threads; t; t = t->sibling) {
        pthread_mutex_lock(&t->mutex);
        empty_buffer(t);
        pthread_mutex_unlock(&t->mutex);
    }
    pthread_mutex_unlock(&link->mutex);
}

/* The holder of the turn waits in a collective call: it pauses. False if it is not the one who calls. */
bool weak_idle_node(struct rem_node *node)
{
    struct weak_pool *pool = node->link->pool;
    if (!pool || pool->hand_over)
        return false;
    pthread_mutex_lock(&pool->mutex);
    bool is =
        pool->holder && pool->holder->node == node && pthread_equal(pool->holder->owner, pthread_self());
    pool->beats += is;
    if (is)
        wait_together(pool->holder, WEAK_NEWS);
    pthread_mutex_unlock(&pool->mutex);
    return is;
}
