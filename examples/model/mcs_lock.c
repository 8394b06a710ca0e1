/* A queue lock of one's own (after Mellor-Crummey and Scott) over remote compare-and-swap: the tail of the queue
 * lives on node 0, each thread waits on a word of its own node. One thread a node; a thread's name is its node + 1.
 * The threads add to a counter that only the lock protects. */
#include <remora/model.h>

enum { HOME = 0, THREADS = 2, LOCK = 0, DATA = 1 };

struct frame {
    uint64_t *tail;    /* the last in the queue, or 0 */
    uint64_t *next;    /* of the own place: who stands behind */
    uint64_t *granted; /* of the own place: the lock has been handed over */
    uint64_t *counter; /* on node 0 */
    uint64_t *scratch;
    uint64_t me;
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    frame->me = (uint64_t)rem_node_self(job) + 1;
    rem_model_words(job, &frame->tail, 1, "tail");
    rem_model_words(job, &frame->next, 1, "next");
    rem_model_words(job, &frame->granted, 1, "granted");
    rem_model_words(job, &frame->counter, 1, "counter");
    rem_model_words(job, &frame->scratch, 1, "scratch");
}

static void acquire(rem_thread *thread, struct frame *frame)
{
    uint64_t expected = 0, found;
    while (rem_compare_swap(thread, &found, HOME, frame->tail, expected, frame->me), found != expected)
        expected = found;
    if (expected == 0)
        return;
    rem_put_value(thread, (int)expected - 1, frame->next, frame->me, LOCK);
    while (rem_load(thread, frame->granted) == 0)
        rem_pause(thread);
}

static void release(rem_thread *thread, struct frame *frame)
{
    uint64_t found;
    if (rem_load(thread, frame->next) == 0) {
        rem_compare_swap(thread, &found, HOME, frame->tail, frame->me, 0);
        if (found == frame->me)
            return;
        while (rem_load(thread, frame->next) == 0)
            rem_pause(thread);
    }
    rem_put_value(thread, (int)rem_load(thread, frame->next) - 1, frame->granted, 1, LOCK);
}

static void add_one(rem_thread *thread, struct frame *frame)
{
    uint64_t value;
    rem_get_value(thread, &value, HOME, frame->counter);
    rem_put_value(thread, HOME, frame->counter, value + 1, DATA);
}

/* Wrong: the put of the counter may still be on its way when the lock is handed to a thread of another node. */
static void count_broken(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    acquire(thread, frame);
    add_one(thread, frame);
    release(thread, frame);
    rem_get_value(thread, &frame->me, HOME, frame->counter);
    rem_model_result(0, frame->me);
}

static int one_sees_both(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS])
{
    return results[0][0] == 2 || results[1][0] == 2;
}

REM_MODEL_TEST(mcs_lock_without_fence) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{0, count_broken}, {1, count_broken}},
    .holds = one_sees_both,
};

/* Mended: a global fence before the release. */
static void count(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    acquire(thread, frame);
    add_one(thread, frame);
    rem_gfence(thread, REM_NODE(HOME));
    release(thread, frame);
    rem_get_value(thread, &frame->me, HOME, frame->counter);
    rem_model_result(0, frame->me);
}

REM_MODEL_TEST(mcs_lock) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{0, count}, {1, count}},
    .holds = one_sees_both,
};
