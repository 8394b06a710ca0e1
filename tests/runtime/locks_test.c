/* The lock validator: mutual exclusion and what each lock promises of remote operations, under contention of THREADS on every
 * node; a part of the acquires by try_acquire and by acquire_until with deadlines that often pass.
 *
 * usage: locks_test LOCK SECTIONS THREADS */
#include "frame.h"
#include "locks.h"

struct shared {
    const struct lock_kind *kind;
    union any_lock lock;
    uint64_t *words;   /* on node 0: meeting point, sections done, given up */
    uint64_t *counter; /* in two copies, which a section keeps equal: at the home and on the next node */
    unsigned long sections, total;
    int home, other;
};

enum { MEET, DONE, GIVEN_UP };

/* Reads, thinks, and writes back, which loses counts if two are inside. Only what the lock promises is relied on. */
static void section(rem_thread *thread, struct shared *shared)
{
    uint64_t here, there;
    TRY(rem_get_value(thread, &here, shared->home, shared->counter));
    TRY(rem_get_value(thread, &there, shared->other, shared->counter));
    CHECK(here == there);
    TRY(rem_put_value(thread, shared->home, shared->counter, here + 1, 1));
    TRY(rem_put_value(thread, shared->other, shared->counter, here + 1, 1));
    if (!shared->kind->fences_all)
        TRY(rem_gfence(thread, shared->kind->fences_home ? REM_NODE(shared->other) : REM_ALL_NODES));
}

/* One acquire, in one of the three ways; was the lock obtained. */
static bool obtain(rem_thread *thread, struct shared *shared, uint64_t random)
{
    int error;
    if (random % 8 == 0)
        error = shared->kind->try_acquire(thread, &shared->lock);
    else if (random % 8 < 3)
        error = shared->kind->acquire_until(thread, &shared->lock, rem_clock() + random % 3000);
    else
        error = shared->kind->acquire(thread, &shared->lock);
    CHECK(error == 0 || (error == REM_EBUSY && random % 8 == 0) ||
          (error == REM_ETIMEDOUT && random % 8 < 3));
    return error == 0;
}

static void body(rem_job *job, rem_thread *thread, unsigned number, void *argument)
{
    struct shared *shared = argument;
    uint64_t random = (uint64_t)(rem_node_self(job) * 64 + (int)number + 1), old;
    unsigned long done = 0, given_up = 0;
    frame_meet(thread, &shared->words[MEET], shared->total);
    while (done < shared->sections) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (!obtain(thread, shared, random >> 33)) {
            given_up++;
            continue;
        }
        section(thread, shared);
        TRY(shared->kind->release(thread, &shared->lock));
        done++;
    }
    TRY(rem_fetch_add(thread, &old, 0, &shared->words[DONE], done));
    TRY(rem_fetch_add(thread, &old, 0, &shared->words[GIVEN_UP], given_up));
    frame_meet(thread, &shared->words[MEET], shared->total);
}

static void check_result(rem_job *job, rem_thread *thread, unsigned number, void *argument)
{
    struct shared *shared = argument;
    uint64_t count, done, given_up;
    (void)number;
    TRY(rem_get_value(thread, &count, shared->home, shared->counter));
    TRY(rem_get_value(thread, &done, 0, &shared->words[DONE]));
    TRY(rem_get_value(thread, &given_up, 0, &shared->words[GIVEN_UP]));
    CHECK(count == done);
    if (rem_node_self(job) == 0)
        printf("%s: %lu sections, %lu given up\n", shared->kind->name, (unsigned long)count,
               (unsigned long)given_up);
}

static void node(rem_job *job, int argc, char **argv)
{
    struct shared shared = {0};
    void *memory;
    CHECK(argc == 4);
    shared.kind = lock_kind_named(argv[1]);
    CHECK(shared.kind);
    unsigned threads = (unsigned)atoi(argv[3]), nodes = (unsigned)rem_node_count(job);
    shared.total = (unsigned long)threads * nodes;
    shared.sections = frame_scaled(strtoul(argv[2], NULL, 10)) / shared.total + 1;
    shared.home = (int)nodes - 1;
    shared.other = (shared.home + 1) % (int)nodes;
    TRY(rem_alloc(job, 64, &memory));
    shared.words = memory;
    TRY(rem_alloc(job, 64, &memory));
    shared.counter = memory;
    TRY(shared.kind->init(job, &shared.lock, shared.home));
    frame_threads(job, threads, body, &shared);
    TRY(rem_barrier(job));
    frame_threads(job, 1, check_result, &shared);
    TRY(shared.kind->destroy(job, &shared.lock));
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
