/* Runs of threads as coroutines; see weak.h. */
#include "fabric/weak.h"

#include "base/context.h"
#include "base/random.h"
#include "fabric/weak_turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum {
    GUARD = 4096,
    MOST_IDLE = 400,         /* looks of waiting threads without any change, until a run is stuck */
    MOST_CHOICES = 10000000, /* of a run, until it is said to be stuck */
};

struct weak_coroutine {
    struct weak_runner *runner;
    const struct weak_body *body;
    char *stack; /* a guard page, then the stack */
    void *pointer;
};

struct weak_runner {
    struct weak_pool *pool;
    unsigned threads;
    size_t stack;
    void *caller;
    enum weak_end end;
    struct weak_coroutine coroutines[];
};

static bool is_stuck(const struct weak_pool *pool)
{
    return pool->idle > MOST_IDLE || pool->choices > MOST_CHOICES;
}

static void switch_to(struct weak_runner *runner, void **save, struct fabric_thread *next)
{
    struct weak_coroutine *to = next ? next->context : NULL;
    context_switch(save, to ? to->pointer : runner->caller);
}

static void hand_over(struct fabric_thread *from, struct fabric_thread *to)
{
    struct weak_coroutine *coroutine = from->context;
    if (!coroutine) /* outside of a run */
        return;
    struct weak_runner *runner = coroutine->runner;
    if (is_stuck(from->pool)) {
        runner->end = WEAK_STUCK;
        to = NULL;
    }
    if (from != to)
        switch_to(runner, &coroutine->pointer, to);
}

static void run_body(void *argument)
{
    struct weak_coroutine *coroutine = argument;
    struct weak_runner *runner = coroutine->runner;
    coroutine->body->run(coroutine->body->argument);
    struct fabric_thread *next = weak_pool_choose(runner->pool);
    if (next)
        next->parked = false;
    runner->pool->holder = next;
    switch_to(runner, &coroutine->pointer, next);
}

enum weak_end weak_run(struct weak_runner *runner, uint64_t seed, const struct weak_body bodies[],
                       unsigned count)
{
    struct weak_pool *pool = runner->pool;
    weak_pool_start(pool, seed);
    runner->end = WEAK_DONE;
    for (unsigned i = 0; i < count && i < runner->threads; i++) {
        struct weak_coroutine *coroutine = &runner->coroutines[i];
        struct fabric_thread *thread = bodies[i].thread;
        coroutine->body = &bodies[i];
#ifdef __SANITIZE_ADDRESS__ /* code that was dropped where it stood has left its frames marked */
        __asan_unpoison_memory_region(coroutine->stack + GUARD, runner->stack);
#endif
        coroutine->pointer = context_new(coroutine->stack + GUARD + runner->stack, run_body, coroutine);
        thread->context = coroutine;
        thread->parked = true;
        thread->need = WEAK_TURN;
    }
    struct fabric_thread *first = weak_pool_choose(pool);
    pool->holder = first;
    if (first) {
        first->parked = false;
        switch_to(runner, &runner->caller, first);
    }
    for (unsigned i = 0; i < count && i < runner->threads; i++) {
        bodies[i].thread->parked = false;
        bodies[i].thread->context = NULL;
    }
    while (!weak_pool_is_silent(pool) && weak_pool_step(pool))
        ;
    return runner->end;
}

static bool make_stacks(struct weak_runner *runner)
{
    for (unsigned i = 0; i < runner->threads; i++) {
        struct weak_coroutine *coroutine = &runner->coroutines[i];
        coroutine->runner = runner;
        void *stack =
            mmap(NULL, GUARD + runner->stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED)
            return false;
        coroutine->stack = stack;
        if (mprotect(stack, GUARD, PROT_NONE) != 0)
            return false;
    }
    return true;
}

bool weak_takes_turns(const rem_job *job)
{
    const struct rem_node *node = node_of(job);
    return node && node->fabric == &fabric_weak && node->link->pool;
}

struct weak_runner *weak_runner_new(rem_job *job, unsigned threads, size_t stack)
{
    if (!weak_takes_turns(job))
        return NULL;
    struct weak_runner *runner = calloc(1, sizeof *runner + threads * sizeof *runner->coroutines);
    if (!runner)
        return NULL;
    runner->pool = job->node->link->pool;
    runner->threads = threads;
    runner->stack = (stack + GUARD - 1) & ~(size_t)(GUARD - 1);
    if (!make_stacks(runner)) {
        weak_runner_free(runner);
        return NULL;
    }
    weak_stop_watch(runner->pool);
    runner->pool->hand_over = hand_over;
    return runner;
}

void weak_runner_free(struct weak_runner *runner)
{
    for (unsigned i = 0; i < runner->threads; i++)
        if (runner->coroutines[i].stack)
            munmap(runner->coroutines[i].stack, GUARD + runner->stack);
    free(runner);
}

uint64_t weak_run_length(const struct weak_runner *runner)
{
    return runner->pool->choices;
}

uint64_t weak_run_seed(const struct weak_runner *runner, uint64_t iteration)
{
    uint64_t state = runner->pool->options.seed + iteration;
    return iteration ? random_next(&state) : runner->pool->options.seed;
}

int weak_run_replay(const struct weak_runner *runner, uint64_t seed, char *text, size_t size)
{
    struct weak_options options = runner->pool->options;
    options.seed = seed;
    int length = snprintf(text, size, "%s=", ENVIRONMENT_WEAK);
    if (length < 0 || (size_t)length >= size)
        return length;
    return length + weak_options_write(&options, text + length, size - (size_t)length);
}
