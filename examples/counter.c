/* A counter under each lock, incremented by every node. The three sections differ, since the locks promise different things of
 * the remote operations inside.
 *
 *   remora launch -n 4 -- ./counter */
#include "example.h"

enum { TIMES = 5000, HOME = 0 };

/* A node lock on the counter's own node: the put arrives before the lock's next holder gets in. */
static void under_nlock(rem_thread *thread, rem_nlock *lock, uint64_t *counter)
{
    uint64_t value;
    TRY(rem_nlock_acquire(thread, lock));
    TRY(rem_get_value(thread, &value, HOME, counter));
    TRY(rem_put_value(thread, HOME, counter, value + 1, 0));
    TRY(rem_nlock_release(thread, lock));
}

/* A strong lock, wherever it lives: all that was done inside is done when it is released. */
static void under_slock(rem_thread *thread, rem_slock *lock, uint64_t *counter)
{
    uint64_t value;
    TRY(rem_slock_acquire(thread, lock));
    TRY(rem_get_value(thread, &value, HOME, counter));
    TRY(rem_put_value(thread, HOME, counter, value + 1, 0));
    TRY(rem_slock_release(thread, lock));
}

/* A weak lock promises nothing of the put: without the fence, the next holder may read the old value. */
static void under_wlock(rem_thread *thread, rem_wlock *lock, uint64_t *counter)
{
    uint64_t value;
    TRY(rem_wlock_acquire(thread, lock));
    TRY(rem_get_value(thread, &value, HOME, counter));
    TRY(rem_put_value(thread, HOME, counter, value + 1, 0));
    TRY(rem_gfence(thread, REM_NODE(HOME)));
    TRY(rem_wlock_release(thread, lock));
}

static void check(rem_job *job, rem_thread *thread, uint64_t *counters)
{
    static const char *const names[] = {"nlock", "slock", "wlock"};
    uint64_t expected = (uint64_t)rem_node_count(job) * TIMES, value;
    for (int i = 0; i < 3; i++) {
        TRY(rem_get_value(thread, &value, HOME, &counters[8 * i]));
        printf("%s: %d of %d\n", names[i], (int)value, (int)expected);
        if (value != expected)
            exit(1);
    }
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_nlock nlock;
    rem_slock slock;
    rem_wlock wlock;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, 3 * 64, &memory));
    TRY(rem_nlock_init(&job, &nlock, HOME));
    TRY(rem_slock_init(&job, &slock, rem_node_count(&job) - 1));
    TRY(rem_wlock_init(&job, &wlock, HOME));
    uint64_t *counters = memory;
    for (int i = 0; i < TIMES; i++) {
        under_nlock(&thread, &nlock, &counters[0]);
        under_slock(&thread, &slock, &counters[8]);
        under_wlock(&thread, &wlock, &counters[16]);
    }
    TRY(rem_barrier(&job));
    if (rem_node_self(&job) == 0)
        check(&job, &thread, counters);
    TRY(rem_barrier(&job));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
