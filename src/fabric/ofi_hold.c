/* Puts held back for a moment, to go in one message with what follows. (Section 2 of the specification: a PUTV may
 * stay in the pipe as long as it likes.)
 *
 * A lock's release is a put that nobody waits for, and a thread that goes on to acquire at once sends two messages
 * where one would do; over TCP the cost is in the messages. So a thread whose puts towards a node have
 * mostly been followed by another operation towards it at once has the next such put held back. It goes out with that
 * operation; or as soon as the thread polls, waits, or posts to another node; or, if the thread does none of it, by the
 * node's sender, a thread that looks every NAP while anything is held.
 *
 * The sender acts on a port that belongs to another thread: hence the lock, which is free unless it does just that. */
#include "fabric/ofi_intern.h"
#include "job/futex.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum {
    SOON = 5000,  /* nanoseconds: what comes so soon after a put follows it at once */
    HOLD = 20000, /* a put is held no longer, if anybody looks */
    NAP = 50000,
    IDLE_NAPS = 100, /* without anything held, before the sender sleeps until it is called */
    FOLLOWED = 1,    /* what it does to a queue pair's score if a post follows a put at once, and if not */
    NOT_FOLLOWED = 4,
    ENOUGH = 6,
    MOST = 16,
    HELD_BYTES = 1024
};

struct ofi_sender {
    struct fabric_node *link;
    pthread_t id;
    atomic_bool stop;
    atomic_uint asleep;
};

void hold_lock(struct fabric_thread *thread)
{
    while (atomic_exchange_explicit(&thread->locked, true, memory_order_acquire))
        sched_yield();
}

void hold_unlock(struct fabric_thread *thread)
{
    atomic_store_explicit(&thread->locked, false, memory_order_release);
}

static struct ofi_queue *held(const struct fabric_thread *thread)
{
    return atomic_load_explicit(&thread->held, memory_order_relaxed);
}

static void not_followed(struct ofi_queue *queue)
{
    queue->score = queue->score > NOT_FOLLOWED ? queue->score - NOT_FOLLOWED : 0;
}

/* ---- By the thread itself ---- */

bool hold_release(struct fabric_thread *thread)
{
    struct ofi_queue *queue = held(thread);
    if (thread->put)
        not_followed(thread->put);
    thread->put = NULL;
    if (!queue)
        return true;
    atomic_store(&thread->held, NULL);
    return draft_send(thread, queue);
}

bool hold_before(struct fabric_thread *thread, struct ofi_queue *queue)
{
    if (thread->put != queue)
        return hold_release(thread);
    if (rem_clock() - queue->put_at >= SOON)
        not_followed(queue);
    else if (queue->score < MOST)
        queue->score += FOLLOWED;
    thread->put = NULL;
    if (held(thread))
        atomic_store(&thread->held, NULL);
    return true;
}

static bool sender_is_there(struct fabric_node *link);

bool hold_after(struct fabric_thread *thread, struct ofi_queue *queue)
{
    uint64_t now = rem_clock();
    bool more = queue->slot && queue->score >= ENOUGH && queue->size <= HELD_BYTES;
    thread->put = queue;
    if (!queue->held_since)
        queue->held_since = now;
    if (!more || now - queue->held_since > HOLD || !sender_is_there(thread->link)) {
        bool sent = !queue->slot || draft_send(thread, queue);
        queue->put_at = rem_clock();
        return sent;
    }
    queue->put_at = now;
    atomic_store(&thread->held, queue);
    struct ofi_sender *sender = thread->link->sender;
    if (atomic_load(&sender->asleep) && atomic_exchange(&sender->asleep, 0))
        futex_wake(&sender->asleep, 1);
    return true;
}

/* ---- The sender ---- */

static void send_old(struct fabric_thread *thread)
{
    if (!atomic_load(&thread->held) || atomic_exchange_explicit(&thread->locked, true, memory_order_acquire))
        return;
    struct ofi_queue *queue = held(thread);
    if (queue && rem_clock() - queue->held_since > HOLD && draft_try(thread, queue)) {
        atomic_store(&thread->held, NULL);
        not_followed(queue);
        thread->put = NULL;
    }
    hold_unlock(thread);
}

/* Looks after all threads: is anything held. */
static bool look_after(struct fabric_node *link)
{
    bool any = false;
    for (unsigned i = 0; i < link->threads; i++) {
        struct fabric_thread *thread = __atomic_load_n(&link->kept[i], __ATOMIC_ACQUIRE);
        if (!thread || !atomic_load(&thread->held))
            continue;
        any = true;
        send_old(thread);
    }
    return any;
}

static void *send_for_others(void *argument)
{
    struct ofi_sender *sender = argument;
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    for (unsigned idle = 0; !atomic_load(&sender->stop);) {
        idle = look_after(sender->link) ? 0 : idle + 1;
        if (idle < IDLE_NAPS) {
            nanosleep(&(struct timespec){0, NAP}, NULL);
            continue;
        }
        atomic_store(&sender->asleep, 1);
        if (!look_after(sender->link) && !atomic_load(&sender->stop))
            futex_wait(&sender->asleep, 1, 1000000000);
        atomic_store(&sender->asleep, 0);
        idle = 0;
    }
    return NULL;
}

static void start_sender(struct fabric_node *link)
{
    struct ofi_sender *sender = calloc(1, sizeof *sender);
    if (!sender)
        return;
    sender->link = link;
    if (pthread_create(&sender->id, NULL, send_for_others, sender) != 0)
        free(sender);
    else
        __atomic_store_n(&link->sender, sender, __ATOMIC_RELEASE);
}

/* It is started when it is needed first. */
static bool sender_is_there(struct fabric_node *link)
{
    if (__atomic_load_n(&link->sender, __ATOMIC_ACQUIRE))
        return true;
    pthread_mutex_lock(&link->mutex);
    if (!link->sender)
        start_sender(link);
    pthread_mutex_unlock(&link->mutex);
    return link->sender != NULL;
}

void sender_stop(struct fabric_node *link)
{
    struct ofi_sender *sender = link->sender;
    if (!sender)
        return;
    atomic_store(&sender->stop, true);
    atomic_store(&sender->asleep, 0);
    futex_wake(&sender->asleep, 1);
    pthread_join(sender->id, NULL);
    free(sender);
    link->sender = NULL;
}
