/* Puts held back for a moment, to go in one message with what follows. (Section 2 of the specification: a PUTV may
 * stay in the pipe as long as it likes.)
 *
 * A lock's release is a put that nobody waits for, and a thread that goes on to acquire at once sends two messages
 * where one would do; over TCP the cost is in the messages. So a thread whose puts towards a node have mostly been
 * followed by another operation towards it at once has the next such put held back. It goes out with that operation; or
 * as soon as the thread polls, waits, or posts to another node; or, if the thread does none of it, by the node's deputy
 * (ofi_deputy.c). */
#include "fabric/ofi_intern.h"

enum {
    SOON = 5000,  /* nanoseconds: what comes so soon after a put follows it at once */
    HOLD = 20000, /* a put is held no longer, if anybody looks */
    FOLLOWED = 1, /* what it does to a queue pair's score if a post follows a put at once, and if not */
    NOT_FOLLOWED = 4,
    ENOUGH = 6,
    MOST = 16,
    HELD_BYTES = 1024
};

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

bool hold_after(struct fabric_thread *thread, struct ofi_queue *queue)
{
    uint64_t now = rem_clock();
    bool more = queue->slot && queue->score >= ENOUGH && queue->size <= HELD_BYTES;
    thread->put = queue;
    if (!queue->held_since)
        queue->held_since = now;
    if (!more || now - queue->held_since > HOLD) {
        bool sent = !queue->slot || draft_send(thread, queue);
        queue->put_at = rem_clock();
        return sent;
    }
    queue->put_at = now;
    atomic_store(&thread->held, queue);
    deputy_call(thread->link);
    return true;
}

/* ---- By the deputy ---- */

void hold_expire(struct fabric_thread *thread)
{
    struct ofi_queue *queue = held(thread);
    if (!queue || rem_clock() - queue->held_since <= HOLD || !draft_try(thread, queue))
        return;
    atomic_store(&thread->held, NULL);
    not_followed(queue);
    thread->put = NULL;
}
