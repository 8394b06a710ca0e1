/* Abandoned tickets, patience, and the memory of ticket locks; ticket.h explains. */
#include "tower/ticket.h"
#include "job/node.h"

static uint64_t power_of_two_from(uint64_t least)
{
    uint64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

static int agree_on_home(struct rem_node *node, int home)
{
    return home < 0 || (unsigned)home >= node->nodes ? REM_ENODE : 0;
}

int ticket_init(struct rem_node *node, struct rem_ticket_lock *lock, int home, uint64_t kind)
{
    int error = agree_on_home(node, home);
    if (error)
        return error;
    size_t record = power_of_two_from(4 * (uint64_t)node->nodes * node->threads);
    size_t places = node->threads * sizeof(struct rem_ticket);
    size_t words = (TICKET_RECORD + record) * sizeof(uint64_t);
    void *memory = NULL;
    error = node_alloc(node, places + words, kind + (uint64_t)home, &memory);
    if (error)
        return error;
    *lock = (struct rem_ticket_lock){.places = memory,
                                     .words = (uint64_t *)(void *)((char *)memory + places),
                                     .home = home,
                                     .record = (unsigned)record,
                                     .key = (uint64_t)((char *)memory - node->home)};
    return 0;
}

int ticket_destroy(struct rem_node *node, struct rem_ticket_lock *lock)
{
    return node_free(node, lock->places);
}

uint64_t ticket_fetch(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                      uint64_t *word)
{
    struct fabric_op op;
    op_get(&op, FABRIC_PRIVATE | FABRIC_KNOWN, &place->mark, lock->home, word, sizeof *word);
    return thread_run(thread, &op, 1, 1, WORK_LOCK) ? 0 : load_private(thread, &place->mark);
}

static uint64_t *mark_of(const struct rem_ticket_lock *lock, uint64_t ticket)
{
    return &lock->words[TICKET_RECORD + (ticket & (lock->record - 1))];
}

bool ticket_may_queue(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                      uint64_t serving)
{
    uint64_t next = ticket_fetch(thread, lock, place, next_of(lock));
    return next - serving < lock->record - lock->record / 4;
}

/* The first of the abandoned tickets that stand in a row right before `ticket`, down to `first` at most; `ticket` if there are
 * none. When that one is to be served, it is the turn of `ticket`. */
static uint64_t stand_in(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                         uint64_t first, uint64_t ticket)
{
    while (ticket != first && ticket_fetch(thread, lock, place, mark_of(lock, ticket - 1)) == ticket)
        ticket--;
    return ticket;
}

bool ticket_try(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                uint64_t serving, uint64_t *ticket)
{
    *ticket = ticket_fetch(thread, lock, place, next_of(lock));
    if (stand_in(thread, lock, place, serving, *ticket) != serving)
        return false;
    struct fabric_op op;
    op_rcas(&op, FABRIC_PRIVATE | FABRIC_KNOWN, &place->ticket, lock->home, next_of(lock), *ticket,
            *ticket + 1);
    return thread_run(thread, &op, 1, 1, WORK_LOCK) == 0 && load_private(thread, &place->ticket) == *ticket;
}

void ticket_abandon(rem_thread *thread, const struct rem_ticket_lock *lock, uint64_t ticket)
{
    struct fabric_op op;
    op_put_value(&op, FABRIC_KNOWN, lock->home, mark_of(lock, ticket), ticket + 1);
    thread_post(thread, &op, 1, 1, WORK_LOCK);
    ticket_wake(thread, lock, ticket + 1);
}

enum { LOOKS_BETWEEN_MARKS = 32 };

/* A look at the record is a round trip, so it is rare while looks are frequent; but nobody goes to sleep without one. */
static bool is_time_for_marks(const struct patience *patience)
{
    return patience->looks % LOOKS_BETWEEN_MARKS == 0 || patience->idle.announced;
}

/* Sleepers for a ticket that is abandoned are those for whom it stands in. */
static void sleep_for(rem_thread *thread, struct patience *patience, uint64_t value)
{
    if (value == patience->idle.value)
        return;
    patience_end(thread, patience);
    patience->idle.value = value;
}

int patience_step(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                  struct patience *patience, uint64_t serving)
{
    if (thread_failed(thread))
        return thread_failure(thread);
    patience->looks++;
    bool late = patience->deadline != NO_DEADLINE && rem_clock() >= patience->deadline;
    if (lock->record && (late || is_time_for_marks(patience)))
        sleep_for(thread, patience, stand_in(thread, lock, place, serving, patience->ticket));
    if (patience->idle.value == serving)
        return OUR_TURN;
    if (late)
        return REM_ETIMEDOUT;
    thread->state->fabric->wait(thread->state->link, &patience->idle, patience->idle.value - serving);
    return LOOK_AGAIN;
}

void patience_end(rem_thread *thread, struct patience *patience)
{
    thread->state->fabric->wait_end(thread->state->link, &patience->idle);
}

int ticket_retry(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                 uint64_t serving, uint64_t deadline)
{
    uint64_t ticket;
    if (ticket_try(thread, lock, place, serving, &ticket)) {
        ticket_hold(thread, place, ticket);
        return OUR_TURN;
    }
    if (thread_failed(thread))
        return thread_failure(thread);
    if (rem_clock() >= deadline)
        return REM_ETIMEDOUT;
    struct patience patience = patience_for(lock, ticket, deadline);
    thread->state->fabric->wait(thread->state->link, &patience.idle, ticket - serving + 1);
    patience_end(thread, &patience);
    return LOOK_AGAIN;
}
