/* Designs that are known to be broken, and what the model says of them. (Those that need no loops are litmus tests,
 * in litmus/designs.) */
#include <remora/model.h>

struct frame {
    uint64_t *word;
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    rem_model_words(job, &frame->word, 1, "word");
}

/* A lock that waiters fetch-and-add, and that is released by a put of 0 over whatever is there. A remote atomic is
 * atomic against other remote atomics, not against puts: the release may fall between the read and the write of a
 * waiter's fetch-and-add, and is lost. Gets stuck. */
static void count_lock(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    uint64_t others, now;
    rem_fetch_add(thread, &others, 0, frame->word, 1);
    while (others != 0) {
        do {
            rem_get_value(thread, &now, 0, frame->word);
            if (now != 0)
                rem_pause(thread);
        } while (now != 0);
        rem_fetch_add(thread, &others, 0, frame->word, 1);
    }
    rem_put_value(thread, 0, frame->word, 0, 0);
}

REM_MODEL_TEST(release_by_overwriting_put) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{0, count_lock}, {1, count_lock}},
};

/* A waiter that checks its word, then reads it again to know what to wait for a change of: a hand-over between the
 * two is slept through. Gets stuck. */
static void wait_for_change(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    if (rem_load(thread, frame->word) != 0)
        return;
    uint64_t seen = rem_load(thread, frame->word);
    while (rem_load(thread, frame->word) == seen)
        rem_pause(thread);
}

static void hand_over(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_put_value(thread, 1, frame->word, 1, 0);
}

REM_MODEL_TEST(reread_between_check_and_wait) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{0, hand_over}, {1, wait_for_change}},
};
