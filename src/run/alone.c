/* The provider weak with all nodes in this process: the threads are coroutines of the calling pthread, and an iteration is a
 * function of its seed. So it takes microseconds, and what was seen once can be seen again. */
#include "run/run_intern.h"

#include "base/arena.h"
#include "base/clock.h"
#include "fabric/weak.h"
#include "fabric/weak_options.h"
#include "tower/thread.h"

#include <stdlib.h>
#include <string.h>

enum { STACK = 64 << 10 };

bool run_is_alone(const struct run *run)
{
    return run->session->self < 0 && weak_takes_turns(&run->session->jobs[0]);
}

/* Before any thread is attached. */
int run_prepare_alone(struct run *run)
{
    run->runner = weak_runner_new(&run->session->jobs[0], run->test->n_threads, STACK);
    run->crew.alone = true;
    return run->runner ? 0 : REM_ENOMEM;
}

static void play(void *argument)
{
    crew_play(argument);
}

/* Of the bases that may be asked for, the option goes before the environment. The first iteration's seed is the base itself, so that one
 * iteration from that base replays any. */
static uint64_t seed_of(const struct run *run, uint64_t iteration)
{
    const char *text = getenv(ENVIRONMENT_WEAK);
    if (!run->options->seeded && text && strstr(text, "seed="))
        return weak_run_seed(run->runner, iteration);
    uint64_t state = run->options->seed + iteration * UINT64_C(0x9e3779b97f4a7c15);
    return iteration ? run_random(&state) : run->options->seed;
}

/* Of threads whose code was dropped where it stood nothing is kept. */
static void clean_up(struct run *run, enum weak_end end)
{
    for (unsigned i = 0; i < run->crew.n_workers; i++) {
        struct worker *w = run->crew.workers[i];
        if (end == WEAK_STUCK)
            w->held = w->thread.held = 0;
        else
            worker_release(w);
        thread_wait_all(&w->thread);
    }
    if (end == WEAK_STUCK)
        run_reset_locks(run);
}

static void play_once(struct run *run, const struct weak_body *bodies)
{
    uint32_t instance = crew_instance(run->seed, 0, run->instances.count);
    run_reset(run);
    for (unsigned i = 0; i < run->crew.n_workers; i++)
        crew_set_out(run->crew.workers[i], instance);
    enum weak_end end = weak_run(run->runner, run->seed, bodies, run->crew.n_workers);
    clean_up(run, end);
    run_count(run);
}

/* Of the outcomes that the model forbids. */
static void tell_replays(struct run *run)
{
    struct run_result *result = run->result;
    histogram_sort(result->seen);
    result->replays = ARENA_ARRAY(run->arena, char *, result->seen->count);
    for (size_t i = 0; i < result->seen->count; i++) {
        if (outcomes_has(run->verdict->states, histogram_row(result->seen, i)))
            continue;
        char text[200];
        weak_run_replay(run->runner, result->seen->firsts[i], text, sizeof text);
        result->replays[i] = arena_strdup(run->arena, text);
    }
}

void run_alone(struct run *run)
{
    struct weak_body *bodies = ARENA_ARRAY(run->arena, struct weak_body, run->crew.n_workers);
    for (unsigned i = 0; i < run->crew.n_workers; i++) {
        struct worker *w = run->crew.workers[i];
        bodies[i] = (struct weak_body){w->thread.state->link, play, w};
    }
    double start = now();
    run->size = 1;
    run->result->seed = seed_of(run, 0);
    for (uint64_t i = 0;; i++) {
        run->result->end = run_ended(run, start);
        if (run->result->end != RUN_GOES_ON)
            break;
        run->seed = seed_of(run, i);
        play_once(run, bodies);
        if (atomic_load(&run->crew.failure) != 0) {
            run->result->end = RUN_FAILED;
            break;
        }
    }
    run->result->seconds = now() - start;
    tell_replays(run);
}

void run_forget_alone(struct run *run)
{
    weak_runner_free(run->runner);
}
