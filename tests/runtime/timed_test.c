/* Waiters that give up. Node 0 holds the lock while others queue up, some of whom leave at their deadline; the rest must be
 * served in the order in which they came, and none may be lost.
 *
 * usage: timed_test LOCK ROUNDS */
#include "frame.h"
#include "locks.h"

#include <unistd.h>

enum { WAITERS = 6 };

struct shared {
    const struct lock_kind *kind;
    union any_lock lock;
    uint64_t *words; /* on node 0: arrivals, services, then who was served */
    unsigned long rounds;
};

enum { ARRIVED, SERVED, ORDER, ENDED = ORDER + WAITERS };

static uint64_t read_word(rem_thread *thread, struct shared *shared, unsigned word)
{
    uint64_t value;
    TRY(rem_get_value(thread, &value, 0, &shared->words[word]));
    return value;
}

static void add_word(rem_thread *thread, struct shared *shared, unsigned word)
{
    uint64_t old;
    TRY(rem_fetch_add(thread, &old, 0, &shared->words[word], 1));
}

static void wait_word(rem_thread *thread, struct shared *shared, unsigned word, uint64_t value)
{
    while (read_word(thread, shared, word) < value)
        usleep(50);
}

/* Waiter w comes when w have come before. Odd ones give up. */
static void waiter(rem_thread *thread, struct shared *shared, unsigned w)
{
    uint64_t place;
    wait_word(thread, shared, ARRIVED, w + 1);
    usleep(300 * w); /* the one before draws its ticket meanwhile */
    add_word(thread, shared, ARRIVED);
    if (w % 2) {
        EXPECT(REM_ETIMEDOUT, shared->kind->acquire_until(thread, &shared->lock, rem_clock() + 200000));
    } else {
        TRY(shared->kind->acquire(thread, &shared->lock));
        TRY(rem_fetch_add(thread, &place, 0, &shared->words[SERVED], 1));
        TRY(rem_put_value(thread, 0, &shared->words[ORDER + place], w, 0));
        TRY(rem_gfence(thread, REM_NODE(0)));
        TRY(shared->kind->release(thread, &shared->lock));
    }
    add_word(thread, shared, ENDED);
}

/* Number WAITERS holds the lock until all have come and some have gone. */
static void holder(rem_thread *thread, struct shared *shared)
{
    TRY(shared->kind->acquire(thread, &shared->lock));
    add_word(thread, shared, ARRIVED);
    wait_word(thread, shared, ARRIVED, WAITERS + 1);
    wait_word(thread, shared, ENDED, WAITERS / 2);
    TRY(shared->kind->release(thread, &shared->lock));
    wait_word(thread, shared, ENDED, WAITERS);
    uint64_t last = 0;
    for (unsigned i = 0; i < WAITERS / 2; i++) {
        uint64_t who = read_word(thread, shared, ORDER + i);
        CHECK(i == 0 || who > last);
        last = who;
    }
}

static void body(rem_job *job, rem_thread *thread, unsigned number, void *argument)
{
    struct shared *shared = argument;
    unsigned w = number * (unsigned)rem_node_count(job) + (unsigned)rem_node_self(job);
    if (w < WAITERS)
        waiter(thread, shared, w);
    else if (w == WAITERS)
        holder(thread, shared);
}

static void node(rem_job *job, int argc, char **argv)
{
    struct shared shared = {0};
    void *memory;
    CHECK(argc == 3 && (shared.kind = lock_kind_named(argv[1])));
    unsigned nodes = (unsigned)rem_node_count(job), threads = (WAITERS + nodes) / nodes;
    unsigned long rounds = frame_scaled(strtoul(argv[2], NULL, 10));
    TRY(rem_alloc(job, (ENDED + 1) * 8, &memory));
    shared.words = memory;
    TRY(shared.kind->init(job, &shared.lock, 0));
    for (unsigned long round = 0; round < rounds; round++) {
        memset(shared.words, 0, (ENDED + 1) * 8);
        TRY(rem_barrier(job));
        frame_threads(job, threads, body, &shared);
        TRY(rem_barrier(job));
    }
    TRY(shared.kind->destroy(job, &shared.lock));
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
