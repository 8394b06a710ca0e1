/* Every misuse and bad argument gives its documented code, and what was refused has no effect. Two nodes; node 0 does most of
 * it while node 1 takes part in the collective calls.
 *
 * usage: misuse_test */
#include "frame.h"
#include "locks.h"

#include <remora/object.h>

struct things {
    uint64_t *words; /* 64 bytes */
    rem_thread thread;
};

static void closed_and_detached(void)
{
    rem_job closed = {0};
    rem_thread none = {0};
    uint64_t word = 0;
    void *pointer;
    EXPECT(REM_ECLOSED, rem_alloc(&closed, 8, &pointer));
    EXPECT(REM_ECLOSED, rem_free(&closed, NULL));
    EXPECT(REM_ECLOSED, rem_barrier(&closed));
    EXPECT(REM_ECLOSED, rem_close(&closed));
    EXPECT(REM_ECLOSED, rem_attach(&closed, &none));
    EXPECT(REM_ECLOSED, rem_node_self(&closed));
    EXPECT(REM_ECLOSED, rem_node_count(NULL));
    EXPECT(REM_EINVAL, rem_open(NULL));
    EXPECT(REM_EINVAL, rem_open_nodes(NULL, 1, NULL));
    EXPECT(REM_EINVAL, rem_open_nodes(&closed, 0, NULL));
    EXPECT(REM_EINVAL, rem_open_nodes(&closed, REM_MAX_NODES + 1, NULL));
    EXPECT(REM_EDETACHED, rem_put(&none, 0, &word, &word, 8, 0));
    EXPECT(REM_EDETACHED, rem_get(NULL, &word, 0, &word, 8, 0));
    EXPECT(REM_EDETACHED, rem_wait(&none, 0));
    EXPECT(REM_EDETACHED, rem_gfence(&none, 1));
    EXPECT(REM_EDETACHED, rem_detach(&none));
}

static void bad_operations(struct things *things)
{
    rem_thread *thread = &things->thread;
    uint64_t *words = things->words, value, elsewhere = 0;
    char *bytes = (char *)words;
    EXPECT(REM_ENODE, rem_put(thread, 2, words, words, 8, 0));
    EXPECT(REM_ENODE, rem_get(thread, words, -1, words, 8, 0));
    EXPECT(REM_ENODE, rem_rfence(thread, 99));
    EXPECT(REM_ENODE, rem_fetch_add(thread, &value, 2, words, 1));
    EXPECT(REM_ENODE, rem_gfence(thread, REM_NODE(5)));
    EXPECT(REM_EADDRESS, rem_put(thread, 1, &elsewhere, words, 8, 0));
    EXPECT(REM_EADDRESS, rem_put(thread, 1, bytes + ((size_t)1 << 30), words, 8, 0));
    EXPECT(REM_EADDRESS, rem_put(thread, 1, words, words, (size_t)1 << 30, 0));
    EXPECT(REM_EADDRESS, rem_put(thread, 1, words, words, SIZE_MAX, 0));
    EXPECT(REM_EADDRESS, rem_get(thread, words, 1, &elsewhere, 8, 0));
    EXPECT(REM_EADDRESS, rem_rfaa(thread, words, 1, NULL, 1, 0));
    EXPECT(REM_EADDRESS, rem_put_value(thread, 1, &elsewhere, 1, 0));
    EXPECT(REM_ELOCAL, rem_put(thread, 1, words, &elsewhere, 8, 0));
    EXPECT(REM_ELOCAL, rem_get(thread, &elsewhere, 1, words, 8, 0));
    EXPECT(REM_ELOCAL, rem_rcas(thread, &elsewhere, 1, words, 0, 1, 0));
    EXPECT(REM_EALIGN, rem_rfaa(thread, words, 1, (uint64_t *)(void *)(bytes + 4), 1, 0));
    EXPECT(REM_EALIGN, rem_rfaa(thread, (uint64_t *)(void *)(bytes + 1), 1, words, 1, 0));
    EXPECT(REM_EALIGN, rem_put_value(thread, 1, (uint64_t *)(void *)(bytes + 1), 1, 0));
    EXPECT(REM_EALIGN, rem_compare_swap(thread, &value, 1, (uint64_t *)(void *)(bytes + 2), 0, 1));
    EXPECT(REM_EWORK, rem_put(thread, 1, words, words, 8, REM_WORK_IDS));
    EXPECT(REM_EWORK, rem_wait(thread, 1000));
    EXPECT(REM_EINVAL, rem_put(thread, 1, words, words, 0, 0));
    EXPECT(REM_EINVAL, rem_get(thread, words, 1, words, 0, 0));
    EXPECT(REM_EINVAL, rem_fetch_add(thread, NULL, 1, words, 1));
    TRY(rem_get_value(thread, &value, 1, words));
    CHECK(value == 0 && elsewhere == 0);
}

static void bad_lock_use(struct things *things, const struct lock_kind *kind, union any_lock *lock)
{
    rem_thread *thread = &things->thread, none = {0};
    union any_lock zeroed = {0};
    EXPECT(REM_EDETACHED, kind->acquire(&none, lock));
    EXPECT(REM_EDESTROYED, kind->acquire(thread, &zeroed));
    EXPECT(REM_EDESTROYED, kind->release(thread, &zeroed));
    EXPECT(REM_EDESTROYED, kind->try_acquire(thread, NULL));
    EXPECT(REM_ENOTHELD, kind->release(thread, lock));
    TRY(kind->acquire(thread, lock));
    EXPECT(REM_EHELD, kind->acquire(thread, lock));
    EXPECT(REM_EHELD, kind->try_acquire(thread, lock));
    EXPECT(REM_EHELD, kind->acquire_until(thread, lock, 0));
    EXPECT(REM_EHELD, rem_detach(thread));
    TRY(kind->release(thread, lock));
    EXPECT(REM_ENOTHELD, kind->release(thread, lock));
    TRY(kind->try_acquire(thread, lock));
    TRY(kind->release(thread, lock));
    TRY(kind->acquire_until(thread, lock, 0)); /* in the past: one attempt */
    TRY(kind->release(thread, lock));
}

/* Another thread's attempts at a lock that is held. */
static void busy_lock(rem_job *job, struct things *things, const struct lock_kind *kind, union any_lock *lock)
{
    rem_thread second;
    TRY(rem_attach(job, &second));
    TRY(kind->acquire(&things->thread, lock));
    EXPECT(REM_EBUSY, kind->try_acquire(&second, lock));
    EXPECT(REM_ENOTHELD, kind->release(&second, lock));
    uint64_t before = rem_clock();
    EXPECT(REM_ETIMEDOUT, kind->acquire_until(&second, lock, before + 5000000));
    CHECK(rem_clock() >= before + 5000000);
    EXPECT(REM_ETIMEDOUT, kind->acquire_until(&second, lock, 0));
    TRY(kind->release(&things->thread, lock));
    TRY(rem_gfence(&things->thread, REM_ALL_NODES));
    TRY(kind->try_acquire(&second, lock)); /* past the abandoned tickets */
    TRY(kind->release(&second, lock));
    TRY(kind->acquire(&second, lock));
    TRY(kind->release(&second, lock));
    TRY(rem_detach(&second));
    EXPECT(REM_EDETACHED, rem_detach(&second));
    EXPECT(REM_EDETACHED, kind->acquire(&second, lock));
}

static void locks(rem_job *job, struct things *things, const struct lock_kind *kind)
{
    union any_lock lock = {0};
    EXPECT(REM_ENODE, kind->init(job, &lock, 2));
    EXPECT(REM_ENODE, kind->init(job, &lock, -1));
    EXPECT(REM_EDESTROYED, kind->destroy(job, &lock));
    TRY(kind->init(job, &lock, 0));
    if (rem_node_self(job) == 0) {
        bad_lock_use(things, kind, &lock);
        busy_lock(job, things, kind, &lock);
    }
    TRY(rem_barrier(job));
    TRY(kind->destroy(job, &lock));
    EXPECT(REM_EDESTROYED, kind->acquire(&things->thread, &lock));
    EXPECT(REM_EDESTROYED, kind->release(&things->thread, &lock));
    EXPECT(REM_EDESTROYED, kind->destroy(job, &lock));
}

static void collectives(rem_job *job)
{
    void *pointer = NULL;
    int self = rem_node_self(job);
    EXPECT(REM_EINVAL, rem_alloc(job, 0, &pointer));
    EXPECT(REM_EINVAL, rem_alloc(job, 8, NULL));
    EXPECT(REM_ECOLLECTIVE, rem_alloc(job, self == 0 ? 64 : 128, &pointer));
    EXPECT(REM_ENOMEM, rem_alloc(job, (size_t)1 << 40, &pointer));
    EXPECT(REM_ENOMEM, rem_alloc(job, SIZE_MAX, &pointer));
    EXPECT(REM_EINVAL, rem_free(job, NULL) == 0 ? REM_EINVAL : 0); /* null is allowed */
    TRY(rem_alloc(job, 100, &pointer));
    CHECK((uintptr_t)pointer % 64 == 0);
    memset(pointer, 1, 100);
    TRY(rem_free(job, pointer));
    EXPECT(REM_EINVAL, rem_free(job, pointer));
    TRY(rem_alloc(job, 100, &pointer));
    for (int i = 0; i < 100; i++)
        CHECK(((char *)pointer)[i] == 0);
    TRY(rem_free(job, pointer));
}

static int add_one(void *copy, void *argument)
{
    uint64_t *word = copy;
    *word += 1;
    return argument ? -1000 : 7;
}

static void objects(rem_job *job, rem_thread *thread)
{
    rem_object object = {0};
    rem_sc cells = {0};
    uint64_t value = 0;
    struct rem_part outside = {56, 16}, empty = {0, 0};
    EXPECT(REM_EDESTROYED, rem_object_call(thread, &object, add_one, NULL));
    EXPECT(REM_EINVAL, rem_object_init(job, &object, 0, 0));
    TRY(rem_object_init(job, &object, 64, 0));
    EXPECT(REM_EINVAL, rem_object_call(thread, &object, NULL, NULL));
    EXPECT(REM_EINVAL, rem_object_call_parts(thread, &object, add_one, NULL, &outside, 1));
    EXPECT(REM_EINVAL, rem_object_call_parts(thread, &object, add_one, NULL, &empty, 1));
    EXPECT(7, rem_object_call(thread, &object, add_one, NULL));
    EXPECT(-1000, rem_object_call(thread, &object, add_one, &value)); /* cancelled */
    TRY(rem_barrier(job));
    TRY(rem_object_destroy(job, &object));
    EXPECT(REM_EDESTROYED, rem_object_call(thread, &object, add_one, NULL));
    EXPECT(REM_EDESTROYED, rem_sc_read(thread, &cells, 0, &value));
    EXPECT(REM_ENODE, rem_sc_init(job, &cells, 4, 7));
    EXPECT(REM_EINVAL, rem_sc_init(job, &cells, 0, 0));
    TRY(rem_sc_init(job, &cells, 4, REM_SPREAD));
    EXPECT(REM_EINVAL, rem_sc_read(thread, &cells, 4, &value));
    EXPECT(REM_EINVAL, rem_sc_read(thread, &cells, 0, NULL));
    TRY(rem_barrier(job));
    TRY(rem_sc_destroy(job, &cells));
    EXPECT(REM_EDESTROYED, rem_sc_write(thread, &cells, 0, 1));
}

static void too_many_threads(rem_job *job)
{
    static rem_thread threads[2][REM_MAX_THREADS];
    int self = rem_node_self(job), limit = rem_thread_limit(job), count = 0, error;
    while ((error = rem_attach(job, &threads[self][count])) == 0)
        count++;
    CHECK(error == REM_ETHREADS && count == limit - 1); /* one was attached before */
    while (count-- > 0)
        TRY(rem_detach(&threads[self][count]));
    EXPECT(REM_EINVAL, rem_attach(job, NULL));
}

/* A job that could not be opened tells why. */
static void failed_openings(void)
{
    rem_job jobs[2], alone;
    const char *text = "";
    EXPECT(REM_EPROVIDER, rem_open_nodes(jobs, 2, &(struct rem_options){.provider = "carrier pigeon"}));
    CHECK(rem_failure(&jobs[0], NULL, NULL) == REM_EPROVIDER);
    CHECK(rem_failure(&jobs[1], NULL, &text) == REM_EPROVIDER && *text);
    if (getenv("REMORA_JOB") || getenv("REMORA_HEAP"))
        return;
    setenv("REMORA_HEAP", "large", 1);
    EXPECT(REM_EENVIRONMENT, rem_open(&alone));
    unsetenv("REMORA_HEAP");
    CHECK(rem_failure(&alone, NULL, &text) == REM_EENVIRONMENT);
    CHECK(strcmp(text, "REMORA_HEAP can't be `large'") == 0);
}

static void node(rem_job *job, int argc, char **argv)
{
    struct things things;
    void *memory;
    rem_job again;
    (void)argc, (void)argv;
    CHECK(rem_node_count(job) == 2);
    closed_and_detached();
    if (getenv("REMORA_JOB"))
        EXPECT(REM_EOPENED, rem_open(&again));
    TRY(rem_alloc(job, 64, &memory));
    things.words = memory;
    TRY(rem_attach(job, &things.thread));
    EXPECT(REM_EBUSY, rem_close(job)); /* threads are attached */
    if (rem_node_self(job) == 0)
        bad_operations(&things);
    TRY(rem_barrier(job));
    for (unsigned i = 0; i < lock_kind_count; i++)
        locks(job, &things, &lock_kinds[i]);
    collectives(job);
    objects(job, &things.thread);
    too_many_threads(job);
    TRY(rem_detach(&things.thread));
    CHECK(strcmp(rem_strerror(1), "unknown error") == 0 && strcmp(rem_strerror(-99), "unknown error") == 0);
    for (int code = 0; code >= REM_ESYSTEM; code--)
        CHECK(rem_strerror(code) && *rem_strerror(code));
}

int main(int argc, char **argv)
{
    failed_openings();
    return frame_run(node, argc, argv);
}
