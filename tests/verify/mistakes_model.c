/* Mistakes that users make, for what is said of them (verify.bats). Each test is to fail. */
#include <remora/model.h>

enum { HOME = 0, WORK = 3 };

struct frame {
    rem_nlock lock, other;
    uint64_t *data, *flag, *pair;
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    rem_nlock_init(job, &frame->lock, HOME);
    rem_nlock_init(job, &frame->other, 1);
    rem_model_words(job, &frame->data, 1, "data");
    rem_model_words(job, &frame->flag, 1, "flag");
    rem_model_words(job, &frame->pair, 2, "pair");
}

#define MISTAKE(name, ...)                                                                                   \
    REM_MODEL_TEST(name) = {                                                                                 \
        .nodes = 2, .frame = sizeof(struct frame), .set_up = set_up, .threads = {__VA_ARGS__}, HOLDS}

/* --- a lock that is not released --- */

#define HOLDS .holds = NULL

static void forgets(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    uint64_t found;
    rem_nlock_acquire(thread, &frame->lock);
    rem_get_value(thread, &found, HOME, frame->data);
    if (found == 1)
        return;
    rem_put_value(thread, HOME, frame->data, found + 1, WORK);
    rem_nlock_release(thread, &frame->lock);
}

MISTAKE(forgets_to_release, {0, forgets}, {1, forgets}, {1, forgets});

/* --- two locks, in two orders --- */

static void one_then_other(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_nlock_acquire(thread, &frame->lock);
    rem_nlock_acquire(thread, &frame->other);
    rem_nlock_release(thread, &frame->other);
    rem_nlock_release(thread, &frame->lock);
}

static void other_then_one(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_nlock_acquire(thread, &frame->other);
    rem_nlock_acquire(thread, &frame->lock);
    rem_nlock_release(thread, &frame->lock);
    rem_nlock_release(thread, &frame->other);
}

MISTAKE(two_locks_in_two_orders, {0, one_then_other}, {1, other_then_one});

/* --- a get of two words is not atomic --- */

static void writes_both(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_store(thread, frame->pair, 1);
    rem_store(thread, frame->pair + 1, 1);
}

static void gets_both(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_get(thread, frame->pair, HOME, frame->pair, 2 * sizeof *frame->pair, WORK);
    rem_wait(thread, WORK);
    REM_MODEL_COMPARE(rem_load(thread, frame->pair), ==, rem_load(thread, frame->pair + 1));
}

MISTAKE(a_get_of_two_words, {0, writes_both}, {1, gets_both});

/* --- a source that is written again before the put has read it --- */

static void reuses(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_store(thread, frame->pair, 1);
    rem_put(thread, 1, frame->data, frame->pair, sizeof *frame->pair, WORK);
    rem_store(thread, frame->pair, 2);
}

static void never_sees_two(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    REM_MODEL_COMPARE(rem_load(thread, frame->data), !=, 2);
}

MISTAKE(source_reused_too_early, {0, reuses}, {1, never_sees_two});

#undef HOLDS

/* --- the lock on one node, the data on another --- */

static int differ(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS])
{
    return results[0][0] != results[1][0];
}

#define HOLDS .holds = differ

static void counts_on_node_1(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    uint64_t found;
    rem_nlock_acquire(thread, &frame->lock);
    rem_get_value(thread, &found, 1, frame->data);
    rem_put_value(thread, 1, frame->data, found + 1, WORK);
    rem_nlock_release(thread, &frame->lock);
    rem_model_result(0, found + 1);
}

MISTAKE(data_on_another_node, {0, counts_on_node_1}, {1, counts_on_node_1});

#undef HOLDS

/* --- store buffers; a word that CPU and remote atomics write --- */

static int one_is_not_0(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS])
{
    return results[0][0] || results[1][0];
}

#define HOLDS .holds = one_is_not_0

static void stores_data(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_store(thread, frame->data, 1);
    rem_model_result(0, rem_load(thread, frame->flag));
}

static void stores_flag(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_store(thread, frame->flag, 1);
    rem_model_result(0, rem_load(thread, frame->data));
}

MISTAKE(store_buffering, {0, stores_data}, {0, stores_flag});

#undef HOLDS

static int one_sees_both(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS])
{
    return results[0][0] == 2 || results[1][0] == 2;
}

#define HOLDS .holds = one_sees_both

static void cpu_adds(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_faa(thread, frame->data, 1);
    rem_model_result(0, rem_load(thread, frame->data));
}

static void network_card_adds(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    uint64_t found;
    rem_fetch_add(thread, &found, HOME, frame->data, 1);
    rem_gfence(thread, REM_NODE(HOME));
    rem_get_value(thread, &found, HOME, frame->data);
    rem_model_result(0, found);
}

MISTAKE(cpu_and_remote_atomics, {0, cpu_adds}, {1, network_card_adds});
