/* try_acquire and acquire_until under the model. What they must keep (docs/verify.md): one that succeeds is an acquire like
 * any other; one that fails is nothing but its reads: it orders nothing, and the lock can be had by all as before, past the
 * tickets that were given up. Time stands still, so a deadline has passed or never does. */
#include <remora/model.h>

enum { HOME = 0, DATA = 1, PAST = 0 };

struct frame {
    rem_nlock nlock;
    rem_wlock wlock;
    rem_slock slock;
    uint64_t *data;
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    rem_nlock_init(job, &frame->nlock, HOME);
    rem_wlock_init(job, &frame->wlock, HOME);
    rem_slock_init(job, &frame->slock, HOME);
    rem_model_words(job, &frame->data, 1, "data");
}

/* A critical section on data of node 0, by remote operations: what it found. (The weak lock's is by the CPU.) */
static void add_remotely(rem_thread *thread, struct frame *frame)
{
    uint64_t found;
    rem_get_value(thread, &found, HOME, frame->data);
    rem_put_value(thread, HOME, frame->data, found + 1, DATA);
    rem_model_result(0, found + 1);
}

static void add_locally(rem_thread *thread, struct frame *frame)
{
    uint64_t found = rem_load(thread, frame->data);
    rem_store(thread, frame->data, found + 1);
    rem_model_result(0, found + 1);
}

/* Each who came in found what those before left. */
static int each_counts(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS])
{
    unsigned inside = 0, seen = 0;
    for (unsigned t = 0; t < REM_MODEL_THREADS; t++) {
        inside += results[t][0] != 0;
        seen |= results[t][0] ? 1u << results[t][0] : 0;
    }
    return seen == (2u << inside) - 2;
}

#define BODIES(lock, add)                                                                                    \
    static void lock##_acquires(rem_thread *thread, void *memory)                                            \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        REM_MODEL_COMPARE(rem_##lock##_acquire(thread, &frame->lock), ==, 0);                                \
        add(thread, frame);                                                                                  \
        REM_MODEL_COMPARE(rem_##lock##_release(thread, &frame->lock), ==, 0);                                \
    }                                                                                                        \
    static void lock##_tries(rem_thread *thread, void *memory)                                               \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        int error = rem_##lock##_try_acquire(thread, &frame->lock);                                          \
        REM_MODEL_ASSERT(error == 0 || error == REM_EBUSY);                                                  \
        if (error)                                                                                           \
            return;                                                                                          \
        add(thread, frame);                                                                                  \
        rem_##lock##_release(thread, &frame->lock);                                                          \
    }                                                                                                        \
    static void lock##_tries_then_acquires(rem_thread *thread, void *memory)                                 \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        if (rem_##lock##_try_acquire(thread, &frame->lock) != 0)                                             \
            rem_##lock##_acquire(thread, &frame->lock);                                                      \
        add(thread, frame);                                                                                  \
        rem_##lock##_release(thread, &frame->lock);                                                          \
    }                                                                                                        \
    static void lock##_gives_up(rem_thread *thread, void *memory)                                            \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        int error = rem_##lock##_acquire_until(thread, &frame->lock, PAST);                                  \
        REM_MODEL_ASSERT(error == 0 || error == REM_ETIMEDOUT);                                              \
        if (error)                                                                                           \
            return;                                                                                          \
        add(thread, frame);                                                                                  \
        rem_##lock##_release(thread, &frame->lock);                                                          \
    }                                                                                                        \
    static void lock##_gives_up_then_acquires(rem_thread *thread, void *memory)                              \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        if (rem_##lock##_acquire_until(thread, &frame->lock, PAST) != 0)                                     \
            rem_##lock##_acquire(thread, &frame->lock);                                                      \
        add(thread, frame);                                                                                  \
        rem_##lock##_release(thread, &frame->lock);                                                          \
    }                                                                                                        \
    static void lock##_again(rem_thread *thread, void *memory)                                               \
    {                                                                                                        \
        struct frame *frame = memory;                                                                        \
        REM_MODEL_COMPARE(rem_##lock##_try_acquire(thread, &frame->lock), ==, 0);                            \
        rem_##lock##_release(thread, &frame->lock);                                                          \
        REM_MODEL_COMPARE(rem_##lock##_acquire_until(thread, &frame->lock, PAST), ==, 0);                    \
        rem_##lock##_release(thread, &frame->lock);                                                          \
        REM_MODEL_COMPARE(rem_##lock##_try_acquire(thread, &frame->lock), ==, 0);                            \
    }

BODIES(nlock, add_remotely)
BODIES(slock, add_remotely)
BODIES(wlock, add_locally)

#define TEST_OF(lock, name, ...)                                                                             \
    REM_MODEL_TEST(lock##_##name) = {.nodes = 2,                                                             \
                                     .frame = sizeof(struct frame),                                          \
                                     .set_up = set_up,                                                       \
                                     .threads = {__VA_ARGS__},                                               \
                                     .holds = each_counts}

/* `other`: the node of the second thread. */
#define TESTS_OF(lock, other)                                                                                \
    TEST_OF(lock, alone, {other, lock##_again});                                                             \
    TEST_OF(lock, try_against_acquire, {HOME, lock##_acquires}, {other, lock##_tries});                      \
    TEST_OF(lock, try_against_try, {HOME, lock##_tries}, {other, lock##_tries});                             \
    TEST_OF(lock, failed_try_then_acquire, {HOME, lock##_acquires}, {other, lock##_tries_then_acquires});    \
    TEST_OF(lock, giving_up_against_acquire, {HOME, lock##_acquires}, {other, lock##_gives_up});             \
    TEST_OF(lock, both_giving_up, {HOME, lock##_gives_up}, {other, lock##_gives_up});                        \
    TEST_OF(lock, giving_up_then_acquire, {HOME, lock##_acquires}, {other, lock##_gives_up_then_acquires});  \
    TEST_OF(lock, giving_up_against_try, {HOME, lock##_gives_up}, {other, lock##_tries_then_acquires});      \
    TEST_OF(lock, giving_up_between, {HOME, lock##_acquires}, {other, lock##_gives_up},                      \
            {HOME, lock##_acquires});                                                                        \
    TEST_OF(lock, trying_between, {HOME, lock##_acquires}, {other, lock##_tries}, {HOME, lock##_gives_up});  \
    TEST_OF(lock, two_giving_up, {HOME, lock##_gives_up}, {other, lock##_gives_up}, {HOME, lock##_acquires})

TESTS_OF(nlock, 1);
TESTS_OF(slock, 1);
TESTS_OF(wlock, HOME);
