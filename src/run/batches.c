/* Batches of iterations: sets the memory to the initial state, lets the threads play, reads the final state, counts;
 * again and again. A batch begins when every thread has completed, waited for and globally fenced all that it did
 * in the one before, so its instances are quiet. */
#include "run/run_intern.h"

#include "base/clock.h"

enum { SMALLEST_BATCH = 16 };
#define BATCH_SECONDS 0.03

static int give_out(struct run *run, uint64_t batch)
{
    struct step_words *step = run->instances.node[run->self].step;
    rem_mfence(&run->thread);
    int error = rem_gfence(&run->thread, REM_ALL_NODES);
    for (int n = 0; n < (int)run->session->nodes && !error; n++) {
        rem_put_value(&run->thread, n, &step->size, run->size, 0);
        rem_put_value(&run->thread, n, &step->seed, run->seed, 0);
        error = rem_put_value(&run->thread, n, &step->go, batch, 0);
    }
    return error ? error : rem_gfence(&run->thread, REM_ALL_NODES);
}

static bool all_done(void *context)
{
    struct run *run = context;
    const struct step_words *step = run->instances.node[run->self].step;
    for (unsigned t = 0; t < run->test->n_threads; t++)
        if (rem_load(&run->thread, &step->done[t]) != run->batch)
            return false;
    return true;
}

bool run_all_gone(void *context)
{
    struct run *run = context;
    return atomic_load(&run->crew.gone) == run->crew.n_workers;
}

static bool play_batch(struct run *run)
{
    run_reset(run);
    run->batch++;
    int error = give_out(run, run->batch);
    if (error)
        atomic_store(&run->crew.failure, error);
    if (!crew_watch(&run->crew, all_done, run))
        return false;
    run_count(run);
    if (run->gave_up)
        run_reset_locks(run);
    return true;
}

static bool seen_enough(const struct run *run)
{
    return run->options->stop_early && run->verdict->completion == DONE &&
           (run->seen_forbidden || run->allowed_seen == outcomes_count(run->verdict->states));
}

enum run_end run_ended(const struct run *run, double start)
{
    if (run->result->iterations >= run->options->iterations)
        return RUN_DONE;
    if (atomic_load(run->options->stop))
        return RUN_INTERRUPTED;
    if (run->options->timeout > 0 && now() - start > run->options->timeout)
        return RUN_TIMEOUT;
    return seen_enough(run) ? RUN_EARLY : RUN_GOES_ON;
}

uint64_t run_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Batches that take about BATCH_SECONDS, so that who wants to stop need not wait. */
static uint64_t next_size(const struct run *run, double seconds)
{
    uint64_t size = run->size, left = run->options->iterations - run->result->iterations;
    if (seconds < BATCH_SECONDS / 2)
        size *= 2;
    else if (seconds > 2 * BATCH_SECONDS && size > 1)
        size /= 2;
    size = size < run->instances.count ? size : run->instances.count;
    return size < left ? size : left;
}

void run_in_batches(struct run *run)
{
    double start = now();
    uint64_t random = run->options->seed * UINT64_C(0x9e3779b97f4a7c15) + 0x1234567;
    struct run_result *result = run->result;
    run->size = SMALLEST_BATCH;
    double seconds = 0;
    for (;;) {
        result->end = run_ended(run, start);
        if (result->end != RUN_GOES_ON)
            break;
        run->size = next_size(run, seconds);
        run->seed = run_random(&random);
        double before = now();
        if (!play_batch(run)) {
            result->end = RUN_FAILED;
            break;
        }
        seconds = now() - before;
    }
    result->seconds = now() - start;
    int error = result->end == RUN_FAILED ? 0 : give_out(run, STEP_END);
    if (error)
        atomic_store(&run->crew.failure, error);
}
