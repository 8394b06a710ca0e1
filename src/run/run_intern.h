/* What the files of a run share: one litmus test on one provider. */
#ifndef REMORA_RUN_RUN_INTERN_H
#define REMORA_RUN_RUN_INTERN_H

#include "run/run.h"

struct weak_runner;

/* Where a column of the outcome is found. */
struct column {
    enum { IN_RESULT, IN_MEMORY, IN_SC } kind;
    unsigned thread, node;
    size_t offset; /* of the word in the row, of the word in the instance; number of the sc location */
};

/* What a batch has left: of each node its words, of each thread its results. */
struct final {
    char *words[REM_MAX_NODES], *results[REM_MAX_NODES];
    uint64_t **scs;
};

struct run {
    struct arena *arena;
    const struct lm_test *test;
    const struct verdict *verdict;
    const struct run_options *options;
    struct session *session;
    struct test_code *code;
    struct instances instances;
    struct crew crew;
    struct weak_runner *runner; /* null unless the run is alone */
    rem_thread thread;          /* of who leads, on the own node */
    unsigned self;
    struct column *columns;
    uint32_t **shown; /* of each thread the registers that go into its results */
    unsigned *n_shown;
    uint64_t batch, size, seed; /* of the batch */
    bool gave_up;               /* a waiter has, perhaps inside a lock: it may have left locks taken */
    struct final final;
    uint64_t *row;
    size_t allowed_seen;
    bool seen_forbidden;
    struct run_result *result;
};

/* state.c: the instances of the batch to come in the initial state; locks made new; the outcomes of the batch that
 * has ended counted. */
void run_reset(struct run *run);
void run_reset_locks(struct run *run);
void run_count(struct run *run);
void run_make_final(struct run *run);

/* batches.c: with a pthread for each thread of the test. all_gone: the threads that are played here have ended. */
void run_in_batches(struct run *run);
bool run_all_gone(void *run);

/* Whether to stop, and why: RUN_GOES_ON if not. */
enum run_end run_ended(const struct run *run, double start);
uint64_t run_random(uint64_t *random);

/* alone.c: on the provider weak, all threads on the calling pthread, every iteration a function of its seed. */
bool run_is_alone(const struct run *run);
int run_prepare_alone(struct run *run);
void run_alone(struct run *run);
void run_forget_alone(struct run *run); /* when its threads are detached */

#endif
