/* Message passing: data, then a flag, from one node to another. Three ways that look alike. */
#include <remora/model.h>

enum { WRITER, READER, BLOCK = 3 };

struct frame {
    uint64_t *data, *flag, *source, *block;
};

static void set_up(rem_job *job, void *memory)
{
    struct frame *frame = memory;
    rem_model_words(job, &frame->data, 1, "data");
    rem_model_words(job, &frame->flag, 1, "flag");
    rem_model_words(job, &frame->source, 1, "source");
    rem_model_words(job, &frame->block, BLOCK, "block");
}

static void read_when_flagged(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    while (rem_load(thread, frame->flag) == 0)
        rem_pause(thread);
    REM_MODEL_COMPARE(rem_load(thread, frame->data), ==, 42);
}

/* Right: two puts of one thread to one node arrive in order. */
static void put_both(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_put_value(thread, READER, frame->data, 42, 0);
    rem_put_value(thread, READER, frame->flag, 1, 0);
}

REM_MODEL_TEST(puts_arrive_in_order) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, put_both}, {READER, read_when_flagged}},
};

/* Right too: the words of one put arrive in any order, but all before what is put after it. */
static void put_block_and_flag(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    for (uint64_t i = 0; i < BLOCK; i++)
        rem_store(thread, &frame->block[i], i + 1);
    rem_put(thread, READER, frame->block, frame->block, BLOCK * sizeof *frame->block, 0);
    rem_put_value(thread, READER, frame->flag, 1, 0);
}

static void read_block_when_flagged(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    while (rem_load(thread, frame->flag) == 0)
        rem_pause(thread);
    for (uint64_t i = 0; i < BLOCK; i++)
        REM_MODEL_COMPARE(rem_load(thread, &frame->block[i]), ==, i + 1);
}

REM_MODEL_TEST(a_block_then_a_flag) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, put_block_and_flag}, {READER, read_block_when_flagged}},
};

/* Wrong: the reader fetches with a get and does not wait for it. */
static void get_without_wait(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    while (rem_load(thread, frame->flag) == 0)
        rem_pause(thread);
    rem_get(thread, frame->source, WRITER, frame->data, sizeof *frame->data, 0);
    REM_MODEL_COMPARE(rem_load(thread, frame->source), ==, 42);
}

static void store_then_put_flag(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    rem_store(thread, frame->data, 42);
    rem_put_value(thread, READER, frame->flag, 1, 0);
}

REM_MODEL_TEST(a_get_without_wait) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, store_then_put_flag}, {READER, get_without_wait}},
};

/* Mended. */
static void get_with_wait(rem_thread *thread, void *memory)
{
    struct frame *frame = memory;
    while (rem_load(thread, frame->flag) == 0)
        rem_pause(thread);
    rem_get(thread, frame->source, WRITER, frame->data, sizeof *frame->data, 0);
    rem_wait(thread, 0);
    REM_MODEL_COMPARE(rem_load(thread, frame->source), ==, 42);
}

REM_MODEL_TEST(a_get_with_wait) = {
    .nodes = 2,
    .frame = sizeof(struct frame),
    .set_up = set_up,
    .threads = {{WRITER, store_then_put_flag}, {READER, get_with_wait}},
};
