/* Tests under the memory model: C code that uses <remora/remora.h>, explored in every behaviour that RDMA
 * allows. (docs/verify.md is the manual.)
 *
 *     struct frame { uint64_t *flag, *data; };
 *
 *     static void set_up(rem_job *job, void *memory)         // once for each node, before the threads
 *     {
 *         struct frame *frame = memory;
 *         rem_model_words(job, &frame->flag, 1, "flag");
 *         rem_model_words(job, &frame->data, 1, "data");
 *     }
 *     static void writer(rem_thread *thread, void *memory) { … }
 *     static void reader(rem_thread *thread, void *memory)
 *     {
 *         …
 *         REM_MODEL_ASSERT(rem_load(thread, frame->data) == 1);
 *     }
 *
 *     REM_MODEL_TEST(message_passing) = {
 *         .nodes = 2,
 *         .frame = sizeof(struct frame),
 *         .set_up = set_up,
 *         .threads = {{0, writer}, {1, reader}},
 *     };
 *
 * Compile with the flags that `pkg-config --cflags remora-model` gives and link with what --libs gives: the
 * program has a main of its own that runs all its tests. What a test may do:
 *
 *  - all that threads share is symmetric memory, accessed through the library. Static variables and malloc are
 *    no part of the model; each thread sees its own copy of the frame.
 *  - loops end, or wait: a loop that waits calls rem_pause, and changes nothing but what it looks at again.
 *  - put and get copy whole aligned words. rem_plain_in comes before plain accesses to what a get has brought,
 *    rem_plain_out after plain accesses to what a put will send.
 *  - rem_clock stands still: a deadline of 0 has passed, others never do. */
#ifndef REMORA_MODEL_H
#define REMORA_MODEL_H

#include <remora/remora.h>

#ifndef REMORA_MODEL
#error "compile this with the flags of `pkg-config --cflags remora-model`"
#endif

#define REM_MODEL_THREADS 8
#define REM_MODEL_RESULTS 8

struct rem_model_thread {
    int node;
    void (*body)(rem_thread *thread, void *frame); /* null: no such thread */
};

struct rem_model_test {
    int nodes;
    size_t frame; /* bytes that each node's threads find, as set_up left them */
    void (*set_up)(rem_job *job, void *frame);
    struct rem_model_thread threads[REM_MODEL_THREADS];
    /* What the threads left with rem_model_result, 0 elsewhere, at the end of every run; false is a failure.
     * May be null. */
    int (*holds)(const uint64_t results[REM_MODEL_THREADS][REM_MODEL_RESULTS]);
    int may_block; /* runs in which threads wait for ever are no failure */
};

struct rem_model_entry {
    const char *name;
    const struct rem_model_test *test;
    const char *file; /* where it stands */
    unsigned line;
};

#define REM_MODEL_TEST(name)                                                                                 \
    static const struct rem_model_test rem_model_test_##name;                                                \
    static const struct rem_model_entry rem_model_entry_##name                                               \
        __attribute__((used, section("rem_model_tests"))) = {#name, &rem_model_test_##name, __FILE__,        \
                                                             __LINE__};                                      \
    static const struct rem_model_test rem_model_test_##name

/* In a body: what must hold there. */
#define REM_MODEL_ASSERT(condition)                                                                          \
    ((condition) ? (void)0 : rem_model_fail("assertion failed: " #condition, __func__, __FILE__, __LINE__))
/* The same of two integers; a report then tells what they were: REM_MODEL_COMPARE(seen, ==, 42). */
#define REM_MODEL_COMPARE(left, operator, right)                                                             \
    do {                                                                                                     \
        const uint64_t rem_model_left = (uint64_t)(left), rem_model_right = (uint64_t)(right);               \
        if (!(rem_model_left operator rem_model_right))                                                      \
            rem_model_fail_comparison("assertion failed: " #left " " #operator" " #right, rem_model_left,    \
                                      rem_model_right, __func__, __FILE__, __LINE__);                        \
    } while (0)
/* What .holds looks at: results[thread][index]. */
void rem_model_result(unsigned index, uint64_t value);

_Noreturn void rem_model_fail(const char *message, const char *function, const char *file, unsigned line);
_Noreturn void rem_model_fail_comparison(const char *message, uint64_t left, uint64_t right,
                                         const char *function, const char *file, unsigned line);

/* In set_up: rem_alloc of `count` words, with a name for reports; false if there is no room. */
int rem_model_words(rem_job *job, uint64_t **words, size_t count, const char *name);

/* Also in set_up: what is initialised there by the functions below is called in reports as the expression that stands for
 * it, `&frame->lock` being lock. */
enum rem_model_kind {
    REM_MODEL_WORDS,
    REM_MODEL_MEMORY,
    REM_MODEL_SV,
    REM_MODEL_WLOCK,
    REM_MODEL_SLOCK,
    REM_MODEL_NLOCK,
    REM_MODEL_SC,
    REM_MODEL_OBJECT
};
void *rem_model_name(enum rem_model_kind kind, const void *object, const char *expression);
void **rem_model_name_memory(void **pointer, size_t size, const char *expression);

#define REM_MODEL_NAMED_(kind, type, object) rem_model_name(kind, 1 ? (object) : (type *)0, #object)

#undef rem_alloc
#undef rem_sv_init
#undef rem_wlock_init
#undef rem_slock_init
#undef rem_nlock_init
#undef rem_sc_init
#undef rem_object_init
#define rem_alloc(job, size, pointer)                                                                        \
    model_rem_alloc(job, size, rem_model_name_memory(pointer, size, #pointer))
#define rem_sv_init(job, variable) model_rem_sv_init(job, REM_MODEL_NAMED_(REM_MODEL_SV, rem_sv, variable))
#define rem_wlock_init(job, lock, home)                                                                      \
    model_rem_wlock_init(job, REM_MODEL_NAMED_(REM_MODEL_WLOCK, rem_wlock, lock), home)
#define rem_slock_init(job, lock, home)                                                                      \
    model_rem_slock_init(job, REM_MODEL_NAMED_(REM_MODEL_SLOCK, rem_slock, lock), home)
#define rem_nlock_init(job, lock, home)                                                                      \
    model_rem_nlock_init(job, REM_MODEL_NAMED_(REM_MODEL_NLOCK, rem_nlock, lock), home)
#define rem_sc_init(job, array, count, home)                                                                 \
    model_rem_sc_init(job, REM_MODEL_NAMED_(REM_MODEL_SC, rem_sc, array), count, home)
#define rem_object_init(job, object, size, home)                                                             \
    model_rem_object_init(job, REM_MODEL_NAMED_(REM_MODEL_OBJECT, rem_object, object), size, home)

#endif
