/* What the ticket locks share: a dispenser on the home node, a place for each thread, and the record of
 * abandoned tickets.
 *
 * Giving up. A ticket can't be given back, since later ones may be out already. A thread that gives up ticket
 * v writes v + 1 into record[v mod length] on the home node, and never uses v again: the mark is final. So a
 * waiter with ticket w that finds the lock at s < w, and s, …, w - 1 all marked, knows that nobody else will
 * ever enter before it: it is its turn. Its own release then passes w + 1 on, so the marked tickets are
 * behind. Releases know nothing of all this and cost nothing more.
 *
 * The record is long enough if no more than `length` tickets are out while one that may be given up is taken:
 * then a mark that is overwritten is of a ticket that has been passed. acquire_until therefore takes one only
 * if fewer than length - T are out, T being the threads of the job, each of which may do so at the same time;
 * else it tries until the lock is free. */
#ifndef REMORA_TOWER_TICKET_H
#define REMORA_TOWER_TICKET_H

#include "tower/thread.h"

#include <remora/lock.h>

/* A thread's place at a lock, in registered memory of its node; nobody else accesses it. */
struct rem_ticket {
    uint64_t ticket; /* results of remote operations */
    uint64_t serving;
    uint64_t mark;
    uint64_t held; /* 1 + the ticket that holds the lock, or 0; by CPU only */
    /* Of a node lock, by CPU only: the ticket that the last release of this place served, at first 0, which is served at once;
     * and whether others have drawn tickets between this place's. */
    uint64_t served, shared;
    uint64_t rest[2];
};

enum { TICKET_NEXT = 0, TICKET_SERVING = 1, TICKET_RECORD = 8 };

#define NO_DEADLINE UINT64_MAX

static inline uint64_t *next_of(const struct rem_ticket_lock *lock)
{
    return &lock->words[TICKET_NEXT];
}

static inline uint64_t *serving_of(const struct rem_ticket_lock *lock)
{
    return &lock->words[TICKET_SERVING];
}

/* Collective. */
int ticket_init(struct rem_node *node, struct rem_ticket_lock *lock, int home, uint64_t kind);
int ticket_destroy(struct rem_node *node, struct rem_ticket_lock *lock);

/* The word at the symmetric address on the lock's home; 0, which is no mark, if the job has failed. */
uint64_t ticket_fetch(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                      uint64_t *word);

/* Takes the next ticket if its turn comes at once, all from `serving` on being abandoned: is it so, and which
 * one. */
bool ticket_try(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                uint64_t serving, uint64_t *ticket);

/* May a ticket be taken that may be given up. */
bool ticket_may_queue(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                      uint64_t serving);

void ticket_abandon(rem_thread *thread, const struct rem_ticket_lock *lock, uint64_t ticket);

/* A wait for a ticket to be served. */
struct patience {
    struct idle idle; /* its value: the ticket, or an abandoned one that stands in for it */
    uint64_t ticket, deadline;
    unsigned looks;
};

static inline struct patience patience_for(const struct rem_ticket_lock *lock, uint64_t ticket,
                                           uint64_t deadline)
{
    return (struct patience){
        .idle = {.key = lock->key, .value = ticket, .limit = deadline == NO_DEADLINE ? 0 : deadline},
        .ticket = ticket,
        .deadline = deadline};
}

/* Between two looks, the last of which found `serving`: OUR_TURN if it has come all the same, since the
 * tickets before are abandoned; LOOK_AGAIN; REM_EDEAD; REM_ETIMEDOUT. */
enum { LOOK_AGAIN = 0, OUR_TURN = 1 };

int patience_step(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                  struct patience *patience, uint64_t serving);

void patience_end(rem_thread *thread, struct patience *patience);

/* For who may not queue up now: OUR_TURN, and the lock is held; LOOK_AGAIN after a while; REM_EDEAD;
 * REM_ETIMEDOUT. */
int ticket_retry(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                 uint64_t serving, uint64_t deadline);

/* The turn of `ticket` has come. */
static inline void ticket_wake(rem_thread *thread, const struct rem_ticket_lock *lock, uint64_t ticket)
{
    if (__builtin_expect(__atomic_load_n(thread->state->asleep, __ATOMIC_RELAXED) != 0, 0))
        thread->state->fabric->wake(thread->state->link, lock->key, ticket);
}

/* What the locks refuse. Only the thread itself reads and writes `held`. */
static inline int ticket_check_free(const rem_thread *thread, const struct rem_ticket_lock *lock,
                                    struct rem_ticket **place)
{
    *place = &lock->places[thread->slot];
    return (*place)->held ? REM_EHELD : 0;
}

static inline int ticket_check_held(const rem_thread *thread, const struct rem_ticket_lock *lock,
                                    struct rem_ticket **place)
{
    *place = &lock->places[thread->slot];
    return (*place)->held ? 0 : REM_ENOTHELD;
}

static inline int ticket_hold(rem_thread *thread, struct rem_ticket *place, uint64_t ticket)
{
    place->held = ticket + 1;
    thread->held++;
    return 0;
}

/* The ticket to be served next. */
static inline uint64_t ticket_let_go(rem_thread *thread, struct rem_ticket *place)
{
    uint64_t next = place->held;
    place->held = 0;
    thread->held--;
    return next;
}

#endif
