/* A sequence lock over puts: a writer on node 0 publishes two words to node 1, a reader there takes both or
 * tries again. */
#include <remora/model.h>

enum { WRITER, READER, WORK = 0 };

struct frame {
    uint64_t *sequence, *a, *b;
    uint64_t *together; /* the same three in one block */
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    rem_model_words(job, &frame->sequence, 1, "sequence");
    rem_model_words(job, &frame->a, 1, "a");
    rem_model_words(job, &frame->b, 1, "b");
    rem_model_words(job, &frame->together, 3, "together");
}

/* One attempt: whether it is a good one. What it took must then belong together. */
static void read_both(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    uint64_t before = rem_load(thread, frame->sequence);
    uint64_t a = rem_load(thread, frame->a), b = rem_load(thread, frame->b);
    uint64_t after = rem_load(thread, frame->sequence);
    if (before == after && before % 2 == 0)
        REM_MODEL_COMPARE(a, ==, b);
}

/* Wrong: the number is put behind the data only. */
static void publish_broken(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_put_value(thread, READER, frame->a, 1, WORK);
    rem_put_value(thread, READER, frame->b, 1, WORK);
    rem_put_value(thread, READER, frame->sequence, 2, WORK);
}

REM_MODEL_TEST(seqlock_broken) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, publish_broken}, {READER, read_both}},
};

/* Wrong too: one put for all three words. The words of one operation arrive in any order. */
static void publish_at_once(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    for (unsigned i = 0; i < 3; i++)
        rem_store(thread, &frame->together[i], 1);
    rem_put(thread, READER, frame->together, frame->together, 3 * sizeof *frame->together, WORK);
}

/* Takes the number, which stands first, for the last to arrive. */
static void read_together(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    if (rem_load(thread, &frame->together[0]) != 1)
        return;
    REM_MODEL_COMPARE(rem_load(thread, &frame->together[1]), ==, 1);
    REM_MODEL_COMPARE(rem_load(thread, &frame->together[2]), ==, 1);
}

REM_MODEL_TEST(seqlock_in_one_put) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, publish_at_once}, {READER, read_together}},
};

/* The same with the number behind the data. */
static void read_together_backwards(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    if (rem_load(thread, &frame->together[2]) != 1)
        return;
    REM_MODEL_COMPARE(rem_load(thread, &frame->together[0]), ==, 1);
    REM_MODEL_COMPARE(rem_load(thread, &frame->together[1]), ==, 1);
}

REM_MODEL_TEST(seqlock_in_one_put_backwards) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, publish_at_once}, {READER, read_together_backwards}},
};

/* Mended: an odd number says that the data is being changed. Puts to one node arrive in order. */
static void publish(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_put_value(thread, READER, frame->sequence, 1, WORK);
    rem_put_value(thread, READER, frame->a, 1, WORK);
    rem_put_value(thread, READER, frame->b, 1, WORK);
    rem_put_value(thread, READER, frame->sequence, 2, WORK);
}

REM_MODEL_TEST(seqlock) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, publish}, {READER, read_both}},
};
