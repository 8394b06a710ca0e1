/* The node lock over wait: tickets on the home node. (Section 7 of the specification.)
 *
 *   acquire: rfaa(t, next, 1, d); get(s, serving, d); wait(d); until s == t: get(s, serving, d); wait(d)
 *   release: rfence(home); put(serving, t + 1)
 *
 * It differs from the specification's text in three things. The first read of `serving` is posted together with
 * the rfaa, and both are waited for at once: aNAR is before a later aNRR of the same queue pair, so the value
 * is as fresh as it must be, and an uncontended acquire takes one round trip. The value of the release is
 * inline data, so there is no word that the put may still have to read. And a thread that draws the very ticket that its own last release
 * has served need not read `serving`: no ticket has been drawn in between, so nobody else can have entered, and
 * the put of that release has landed, since the rfaa's aNAR is after its aNRW. A thread that found the lock so the last time
 * expects it again, and draws first; it reads `serving` after the draw if it was wrong. */
#include "tower/nlock.h"
#include "job/node.h"

#define NLOCK_MAGIC UINT64_C(0x6e6c6f636b)

static inline void op_get_serving(struct fabric_op *op, const struct rem_ticket_lock *lock,
                                  struct rem_ticket *place)
{
    op_get(op, FABRIC_PRIVATE | FABRIC_KNOWN, &place->serving, lock->home, serving_of(lock),
           sizeof place->serving);
}

/* Waits with ticket `ticket` in hand; place->serving has been read once. */
static int queue(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                 uint64_t ticket, uint64_t deadline)
{
    struct patience patience = patience_for(lock, ticket, deadline);
    uint64_t serving;
    int step = LOOK_AGAIN;
    while ((serving = load_private(thread, &place->serving)) != ticket) {
        step = patience_step(thread, lock, place, &patience, serving);
        if (step != LOOK_AGAIN)
            break;
        struct fabric_op op;
        op_get_serving(&op, lock, place);
        thread_run(thread, &op, 1, 1, WORK_LOCK);
    }
    patience_end(thread, &patience);
    return step == OUR_TURN ? 0 : step;
}

/* rfaa(t, next, 1, d); get(s, serving, d); wait(d) */
static inline int draw(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                       uint64_t *ticket)
{
    struct fabric_op chain[2];
    op_rfaa(&chain[0], FABRIC_PRIVATE | FABRIC_KNOWN, &place->ticket, lock->home, next_of(lock), 1);
    op_get_serving(&chain[1], lock, place);
    int error = thread_run(thread, chain, 2, 2, WORK_LOCK);
    *ticket = load_private(thread, &place->ticket);
    return error;
}

/* rfaa(t, next, 1, d); wait(d); and if others have drawn since: get(s, serving, d); wait(d) */
static inline int enter_alone(rem_thread *thread, const struct rem_ticket_lock *lock,
                              struct rem_ticket *place, uint64_t *ticket)
{
    struct fabric_op op;
    op_rfaa(&op, FABRIC_PRIVATE | FABRIC_KNOWN, &place->ticket, lock->home, next_of(lock), 1);
    int error = thread_run(thread, &op, 1, 1, WORK_LOCK);
    *ticket = load_private(thread, &place->ticket);
    if (__builtin_expect(error || *ticket == place->served, 1))
        return error;
    place->shared = 1;
    op_get_serving(&op, lock, place);
    error = thread_run(thread, &op, 1, 1, WORK_LOCK);
    return error ? error : queue(thread, lock, place, *ticket, NO_DEADLINE);
}

int nlock_enter(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                uint64_t *ticket)
{
    int error = draw(thread, lock, place, ticket);
    if (__builtin_expect(error, 0))
        return error;
    if (__builtin_expect(load_private(thread, &place->serving) == *ticket, 1))
        return 0;
    return queue(thread, lock, place, *ticket, NO_DEADLINE);
}

void nlock_leave(rem_thread *thread, const struct rem_ticket_lock *lock, uint64_t next)
{
    struct fabric_op op;
    op_put_value(&op, FABRIC_FENCED | FABRIC_KNOWN, lock->home, serving_of(lock), next);
    thread_post(thread, &op, 1, 1, WORK_LOCK);
    ticket_wake(thread, lock, next);
}

static inline int check(const rem_thread *thread, const rem_nlock *lock)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    return lock && lock->magic == NLOCK_MAGIC ? 0 : REM_EDESTROYED;
}

static inline int check_free(const rem_thread *thread, const rem_nlock *lock, struct rem_ticket **place)
{
    int error = check(thread, lock);
    return error ? error : ticket_check_free(thread, &lock->tickets, place);
}

int rem_nlock_acquire(rem_thread *thread, rem_nlock *lock)
{
    struct rem_ticket *place;
    uint64_t ticket;
    int error = check_free(thread, lock, &place);
    if (error)
        return error;
    if (!place->shared) {
        error = enter_alone(thread, &lock->tickets, place, &ticket);
    } else {
        error = nlock_enter(thread, &lock->tickets, place, &ticket);
        place->shared = ticket != place->served;
    }
    return error ? error : ticket_hold(thread, place, ticket);
}

int rem_nlock_try_acquire(rem_thread *thread, rem_nlock *lock)
{
    struct rem_ticket *place;
    uint64_t ticket;
    int error = check_free(thread, lock, &place);
    if (error)
        return error;
    uint64_t serving = ticket_fetch(thread, &lock->tickets, place, serving_of(&lock->tickets));
    if (ticket_try(thread, &lock->tickets, place, serving, &ticket))
        return ticket_hold(thread, place, ticket);
    return thread_failed(thread) ? thread_failure(thread) : REM_EBUSY;
}

/* Queues up, and gives the ticket up at the deadline. */
static int queue_until(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                       uint64_t deadline)
{
    uint64_t ticket;
    int error = draw(thread, lock, place, &ticket);
    if (!error)
        error = queue(thread, lock, place, ticket, deadline);
    if (error == REM_ETIMEDOUT)
        ticket_abandon(thread, lock, ticket);
    return error ? error : ticket_hold(thread, place, ticket);
}

int rem_nlock_acquire_until(rem_thread *thread, rem_nlock *lock, uint64_t deadline)
{
    struct rem_ticket *place;
    int error = check_free(thread, lock, &place);
    while (!error) {
        uint64_t serving = ticket_fetch(thread, &lock->tickets, place, serving_of(&lock->tickets));
        if (ticket_may_queue(thread, &lock->tickets, place, serving))
            return queue_until(thread, &lock->tickets, place, deadline);
        error = ticket_retry(thread, &lock->tickets, place, serving, deadline);
    }
    return error == OUR_TURN ? 0 : error;
}

int rem_nlock_release(rem_thread *thread, rem_nlock *lock)
{
    struct rem_ticket *place;
    int error = check(thread, lock);
    if (!error)
        error = ticket_check_held(thread, &lock->tickets, &place);
    if (error)
        return error;
    place->served = ticket_let_go(thread, place);
    nlock_leave(thread, &lock->tickets, place->served);
    return 0;
}

int rem_nlock_init(rem_job *job, rem_nlock *lock, int home)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!lock)
        return REM_EINVAL;
    *lock = (rem_nlock){.node = node};
    int error = ticket_init(node, &lock->tickets, home, NLOCK_MAGIC);
    lock->magic = error ? 0 : NLOCK_MAGIC;
    return error;
}

int rem_nlock_destroy(rem_job *job, rem_nlock *lock)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!lock || lock->magic != NLOCK_MAGIC)
        return REM_EDESTROYED;
    lock->magic = 0;
    return ticket_destroy(node, &lock->tickets);
}
