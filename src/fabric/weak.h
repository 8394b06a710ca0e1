/* The weak provider, and what `remora run` asks of it: threads as coroutines of one pthread, so that an iteration takes
 * microseconds and depends on nothing but its seed. */
#ifndef REMORA_FABRIC_WEAK_H
#define REMORA_FABRIC_WEAK_H

#include "fabric/fabric.h"

#include <remora/job.h>

extern const struct fabric fabric_weak;

/* One thread's share of a run. */
struct weak_body {
    struct fabric_thread *thread; /* attached: rem_thread.state->link */
    void (*run)(void *argument);
    void *argument;
};

/* Whether it is a job of weak whose threads take turns: all nodes are in this process, and REMORA_WEAK does not say free. */
bool weak_takes_turns(const rem_job *job);

/* Such a job, whose nodes are all in this process (rem_open_nodes, provider "weak"), played on the calling pthread alone. */
struct weak_runner;

/* For runs of up to `threads` threads with stacks of `stack` bytes. Before any thread is attached. From then on the job's
 * threads, attached by this pthread, may be used by it only: within runs, and outside of them (to set up, to look at
 * results), where an operation of a thread just happens, as if the others stood still. Null if there is no memory, or if
 * the job is not of that kind. */
struct weak_runner *weak_runner_new(rem_job *job, unsigned threads, size_t stack);
void weak_runner_free(struct weak_runner *runner);

enum weak_end {
    WEAK_DONE, /* every thread has ended, and nothing is under way */
    WEAK_STUCK /* threads wait (rem_pause, a lock) for what will not come; nothing is under way. Their code has been dropped
                   where it stood, so what it held of the library, such as locks, is to be set up anew. */
};

/* Runs the bodies side by side to their ends, and until everything that they posted has landed; all that happens follows
 * from the seed (and the mode, REMORA_WEAK). A loop that waits must call rem_pause in every round, or an operation that
 * waits. Completions that the bodies have not waited for stay to be polled. */
enum weak_end weak_run(struct weak_runner *runner, uint64_t seed, const struct weak_body bodies[],
                       unsigned count);

/* The silent steps and choices of the last run. */
uint64_t weak_run_length(const struct weak_runner *runner);

/* The seed of the `iteration`th run, when the first's is what REMORA_WEAK says: iteration 0 of seed s is s itself, so
 * that REMORA_WEAK=seed=… and one iteration replay any. */
uint64_t weak_run_seed(const struct weak_runner *runner, uint64_t iteration);

/* "REMORA_WEAK=seed=7,mode=mix": what replays the run of that seed. Returns as snprintf. */
int weak_run_replay(const struct weak_runner *runner, uint64_t seed, char *text, size_t size);

#endif
