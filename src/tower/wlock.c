/* The weak lock over wait and sv: tickets from the home node, served by broadcast. (Section 7 of the
 * specification.)
 *
 *   acquire: rfaa(t, next, 1, d); wait(d); until some sv_read(rel_U) == t
 *   release: sv_write(rel_T, t + 1); bcast(rel_T, all other nodes)
 *
 * Each thread T of the job has its own shared variable rel_T, so that no two threads write one. Tickets are
 * served in ascending order, so the greatest rel_U is the ticket being served: rel_U == t for some U if and
 * only if that is t. */
#include "tower/wlock.h"
#include "job/node.h"
#include "tower/sv.h"

#define WLOCK_MAGIC UINT64_C(0x776c6f636b)

/* The ticket being served, as far as has been heard on this node. */
static uint64_t serving(rem_thread *thread, const rem_wlock *lock)
{
    uint64_t greatest = 0;
    for (unsigned n = 0; n < lock->node->nodes; n++)
        for (unsigned slot = 0; slot < node_threads(lock->node, n); slot++) {
            uint64_t released = rem_load(thread, &lock->released[n * lock->node->threads + slot]);
            if (released > greatest)
                greatest = released;
        }
    return greatest;
}

static inline int draw(rem_thread *thread, const struct rem_ticket_lock *tickets, struct rem_ticket *place,
                uint64_t *ticket)
{
    struct fabric_op op;
    op_rfaa(&op, FABRIC_PRIVATE | FABRIC_KNOWN, &place->ticket, tickets->home, next_of(tickets), 1);
    int error = thread_run(thread, &op, 1, 1, WORK_LOCK);
    *ticket = load_private(thread, &place->ticket);
    return error;
}

static int queue(rem_thread *thread, const rem_wlock *lock, struct rem_ticket *place, uint64_t deadline)
{
    uint64_t ticket, now;
    int error = draw(thread, &lock->tickets, place, &ticket);
    if (error)
        return error;
    struct patience patience = patience_for(&lock->tickets, ticket, deadline);
    int step = LOOK_AGAIN;
    while (step == LOOK_AGAIN && (now = serving(thread, lock)) != ticket)
        step = patience_step(thread, &lock->tickets, place, &patience, now);
    patience_end(thread, &patience);
    if (step == REM_ETIMEDOUT)
        ticket_abandon(thread, &lock->tickets, ticket);
    return step < 0 ? step : ticket_hold(thread, place, ticket);
}

static int try_once(rem_thread *thread, const rem_wlock *lock, struct rem_ticket *place)
{
    uint64_t ticket;
    if (ticket_try(thread, &lock->tickets, place, serving(thread, lock), &ticket))
        return ticket_hold(thread, place, ticket);
    return thread_failed(thread) ? thread_failure(thread) : REM_EBUSY;
}

static int acquire_by(rem_thread *thread, const rem_wlock *lock, struct rem_ticket *place, uint64_t deadline)
{
    int step = LOOK_AGAIN;
    while (step == LOOK_AGAIN) {
        uint64_t now = serving(thread, lock);
        if (ticket_may_queue(thread, &lock->tickets, place, now))
            return queue(thread, lock, place, deadline);
        step = ticket_retry(thread, &lock->tickets, place, now, deadline);
    }
    return step == OUR_TURN ? 0 : step;
}

int wlock_take(rem_thread *thread, rem_wlock *lock, enum wlock_way way, uint64_t deadline)
{
    struct rem_ticket *place;
    int error = ticket_check_free(thread, &lock->tickets, &place);
    if (error)
        return error;
    switch (way) {
    case WLOCK_WAIT:
        return queue(thread, lock, place, NO_DEADLINE);
    case WLOCK_TRY:
        return try_once(thread, lock, place);
    case WLOCK_UNTIL:
        return acquire_by(thread, lock, place, deadline);
    }
    return REM_EINVAL;
}

int wlock_give(rem_thread *thread, rem_wlock *lock)
{
    struct rem_ticket *place = &lock->tickets.places[thread->slot];
    uint64_t *released = &lock->released[thread->state->index];
    uint64_t next = ticket_let_go(thread, place);
    rem_store(thread, released, next);
    sv_broadcast(thread, released, all_nodes(thread) & ~REM_NODE(lock->node->self), WORK_LOCK);
    ticket_wake(thread, &lock->tickets, next);
    return 0;
}

int wlock_check_held(const rem_thread *thread, const rem_wlock *lock)
{
    struct rem_ticket *place;
    return ticket_check_held(thread, &lock->tickets, &place);
}

int wlock_init(struct rem_node *node, rem_wlock *lock, int home, uint64_t kind)
{
    *lock = (rem_wlock){.node = node};
    int error = ticket_init(node, &lock->tickets, home, kind);
    if (error)
        return error;
    void *released = NULL;
    error = node_alloc(node, (size_t)node->nodes * node->threads * sizeof(uint64_t), kind, &released);
    if (error) {
        ticket_destroy(node, &lock->tickets);
        return error;
    }
    lock->released = released;
    lock->magic = WLOCK_MAGIC;
    return 0;
}

int wlock_destroy(struct rem_node *node, rem_wlock *lock)
{
    lock->magic = 0;
    int error = node_free(node, lock->released);
    int other = ticket_destroy(node, &lock->tickets);
    return error ? error : other;
}

static int check(const rem_thread *thread, const rem_wlock *lock)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    return lock && lock->magic == WLOCK_MAGIC ? 0 : REM_EDESTROYED;
}

int rem_wlock_acquire(rem_thread *thread, rem_wlock *lock)
{
    int error = check(thread, lock);
    return error ? error : wlock_take(thread, lock, WLOCK_WAIT, NO_DEADLINE);
}

int rem_wlock_try_acquire(rem_thread *thread, rem_wlock *lock)
{
    int error = check(thread, lock);
    return error ? error : wlock_take(thread, lock, WLOCK_TRY, 0);
}

int rem_wlock_acquire_until(rem_thread *thread, rem_wlock *lock, uint64_t deadline)
{
    int error = check(thread, lock);
    return error ? error : wlock_take(thread, lock, WLOCK_UNTIL, deadline);
}

int rem_wlock_release(rem_thread *thread, rem_wlock *lock)
{
    int error = check(thread, lock);
    if (!error)
        error = wlock_check_held(thread, lock);
    return error ? error : wlock_give(thread, lock);
}

int rem_wlock_init(rem_job *job, rem_wlock *lock, int home)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    return lock ? wlock_init(node, lock, home, WLOCK_MAGIC) : REM_EINVAL;
}

int rem_wlock_destroy(rem_job *job, rem_wlock *lock)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    return lock && lock->magic == WLOCK_MAGIC ? wlock_destroy(node, lock) : REM_EDESTROYED;
}
