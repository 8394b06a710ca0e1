/* What must cost nothing: a waiter that waits long uses no processor time; a thread that only posts, for ever, needs no more
 * memory; the uncontended paths make no system call (a process that may make none runs them).
 *
 * usage: thrift_test */
#include "frame.h"
#include "locks.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double processor_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void waiter(rem_job *job, rem_thread *thread, unsigned number, void *argument)
{
    union any_lock *locks = argument;
    for (unsigned i = 0; i < lock_kind_count; i++) {
        if (number == 0)
            TRY(lock_kinds[i].acquire(thread, &locks[i]));
        TRY(number == 0 ? rem_barrier(job) : 0);
        if (number == 0) {
            usleep(600000);
            TRY(lock_kinds[i].release(thread, &locks[i]));
            TRY(rem_barrier(job));
            continue;
        }
        usleep(200000);
        double before = processor_time();
        TRY(lock_kinds[i].acquire(thread, &locks[i]));
        double used = processor_time() - before;
        TRY(lock_kinds[i].release(thread, &locks[i]));
        printf("%s: waited 0.4 s with %.1f ms of processor time\n", lock_kinds[i].name, used * 1e3);
        CHECK(used < 0.04);
        usleep(300000);
    }
}

static void long_waits(rem_job *job)
{
    union any_lock locks[8];
    for (unsigned i = 0; i < lock_kind_count; i++)
        TRY(lock_kinds[i].init(job, &locks[i], 0));
    frame_threads(job, 2, waiter, locks);
    for (unsigned i = 0; i < lock_kind_count; i++)
        TRY(lock_kinds[i].destroy(job, &locks[i]));
}

static void posts_only(rem_thread *thread, uint64_t *words)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (unsigned long i = frame_scaled(5000000); i > 0; i--)
        TRY(rem_put(thread, 0, &words[1], &words[0], 8, (unsigned)(i % REM_WORK_IDS)));
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 1024); /* KiB */
    uint64_t start = rem_clock();
    TRY(rem_wait(thread, 0));
    CHECK(rem_clock() - start < 1000000000);
}

static void work_quietly(rem_thread *thread, uint64_t *words, union any_lock *locks, rem_sc *sc, rem_sv *sv)
{
    uint64_t value;
    for (int i = 0; i < 1000; i++) {
        TRY(rem_put(thread, 0, &words[1], &words[0], 8, 0));
        TRY(rem_get(thread, &words[1], 0, &words[0], 8, 0));
        TRY(rem_rfaa(thread, &words[1], 0, &words[0], 1, 0));
        TRY(rem_wait(thread, 0));
        TRY(rem_fetch_add(thread, &value, 0, &words[0], 1));
        TRY(rem_sv_broadcast(thread, sv, REM_ALL_NODES, 1));
        TRY(rem_gfence(thread, REM_ALL_NODES));
        TRY(rem_sc_write(thread, sc, 0, value));
        TRY(rem_sc_read(thread, sc, 0, &value));
        for (unsigned k = 0; k < lock_kind_count; k++) {
            TRY(lock_kinds[k].acquire(thread, &locks[k]));
            TRY(lock_kinds[k].release(thread, &locks[k]));
            TRY(lock_kinds[k].try_acquire(thread, &locks[k]));
            TRY(lock_kinds[k].release(thread, &locks[k]));
        }
    }
}

/* In strict mode every system call but read, write and exit kills the process. */
static void no_system_calls(rem_job *job, rem_thread *thread, uint64_t *words)
{
    union any_lock locks[8];
    rem_sc sc;
    rem_sv sv;
    int status;
    for (unsigned i = 0; i < lock_kind_count; i++)
        TRY(lock_kinds[i].init(job, &locks[i], 0));
    TRY(rem_sc_init(job, &sc, 1, 0));
    TRY(rem_sv_init(job, &sv));
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        work_quietly(thread, words, locks, &sc, &sv);
        syscall(SYS_exit, 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void attach_cost(rem_job *job)
{
    rem_thread thread;
    uint64_t start = rem_clock();
    for (int i = 0; i < 1000; i++) {
        TRY(rem_attach(job, &thread));
        TRY(rem_detach(&thread));
    }
    printf("attach and detach: %.2f us\n", (double)(rem_clock() - start) * 1e-6);
}

static void node(rem_job *job, int argc, char **argv)
{
    rem_thread thread;
    void *memory;
    (void)argc, (void)argv;
    CHECK(rem_node_count(job) == 1);
    TRY(rem_alloc(job, 64, &memory));
    TRY(rem_attach(job, &thread));
    posts_only(&thread, memory);
    no_system_calls(job, &thread, memory);
    attach_cost(job);
    TRY(rem_detach(&thread));
    long_waits(job);
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
