/* Executes a thread's flat code by calls of libremora.
 *
 * Waiting. What a thread waits for may never come: that run is stuck in the model. A thread that waits in the
 * test's own loop (await, do … until, poll) says so by its phase, counts its looks, and looks at `give_up`. One
 * that waits inside a lock can't. But between two looks a lock calls the provider's `wait`, which is counted here;
 * and it looks at the word behind rem_thread.failure, which here is `call_off`: the call then returns
 * REM_ETIMEDOUT, and leaves a lock that must be reset, since its ticket will never be let go. */
#include "run/worker.h"

#include "litmus/operators.h"
#include "run/crew.h"
#include "tower/thread.h"

#include <sched.h>
#include <time.h>

/* ---- Pauses ---- */

/* Who yields over and over keeps a processor busy, and there are schedulers (Linux 6.18) under which the threads that it
 * waits for then don't run for seconds. */
enum { YIELDS = 50, NAP = 20000 /* nanoseconds */ };

static bool pause_slowly(struct worker *w, enum waiting waits)
{
    unsigned phase = atomic_load_explicit(&w->phase, memory_order_relaxed);
    if (phase % 2 == 0) {
        atomic_store_explicit(&w->waits, waits, memory_order_relaxed);
        atomic_store_explicit(&w->phase, phase + 1, memory_order_release);
    }
    atomic_store_explicit(&w->seen, atomic_load_explicit(&w->seen, memory_order_relaxed) + 1,
                          memory_order_release);
    if (waits != WAITS_AT_GATE && atomic_load_explicit(&w->give_up, memory_order_acquire) == w->position)
        return false;
    if (atomic_load_explicit(&w->crew->failure, memory_order_relaxed) != 0)
        return false;
    if (w->looks - w->crew->spins < YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, NAP}, NULL);
    return true;
}

bool worker_pause(struct worker *w, enum waiting waits)
{
    if (w->crew->alone) {
        rem_pause(&w->thread);
        return true;
    }
    if (__builtin_expect(++w->looks < w->crew->spins, 1)) {
        __builtin_ia32_pause();
        return true;
    }
    return pause_slowly(w, waits);
}

void worker_paused(struct worker *w)
{
    w->looks = 0;
    unsigned phase = atomic_load_explicit(&w->phase, memory_order_relaxed);
    if (phase % 2)
        atomic_store_explicit(&w->phase, phase + 1, memory_order_release);
}

/* Whose pthread this is, for a provider's `wait`, which is not told. */
static _Thread_local struct worker *self;

static void counted_wait(struct fabric_thread *link, struct idle *idle, uint64_t distance)
{
    atomic_store_explicit(&self->seen, atomic_load_explicit(&self->seen, memory_order_relaxed) + 1,
                          memory_order_release);
    self->crew->instances->session->fabric->wait(link, idle, distance);
}

void worker_enter(struct worker *w)
{
    self = w;
    w->fabric = *w->thread.state->fabric;
    w->fabric.wait = counted_wait;
    w->thread.state->fabric = &w->fabric;
    w->thread.failure = (const volatile unsigned *)&w->call_off;
}

void worker_leave(struct worker *w)
{
    w->thread.state->fabric = w->crew->instances->session->fabric;
    self = NULL;
}

/* Around a call that may wait inside the library. */
static void enter_call(struct worker *w)
{
    atomic_store_explicit(&w->waits, WAITS_INSIDE, memory_order_relaxed);
    atomic_store_explicit(&w->phase, atomic_load_explicit(&w->phase, memory_order_relaxed) + 1,
                          memory_order_release);
}

static int leave_call(struct worker *w, int error)
{
    worker_paused(w);
    return error;
}

void worker_lag(struct worker *w)
{
    if (!w->skew)
        return;
    uint64_t random = worker_random(w);
    if (w->crew->crowded && random % 4 == 0)
        sched_yield();
    for (uint64_t i = (random >> 8) % w->skew; i; i--)
        __asm__ volatile("");
}

/* ---- Operations ---- */

static inline uint64_t *local_of(const struct worker *w, const struct instruction *i)
{
    return (uint64_t *)(void *)(w->words + i->local);
}

/* A symmetric pointer: it stands for the same offset on the other node. */
static inline uint64_t *remote_of(const struct worker *w, const struct instruction *i)
{
    return (uint64_t *)(void *)(w->words + i->remote);
}

static int post(struct worker *w, const struct instruction *i, const uint64_t *regs)
{
    unsigned work = w->work + i->work;
    int node = (int)i->node;
    switch (i->kind) {
    case CODE_PUT:
        return rem_put(&w->thread, node, remote_of(w, i), local_of(w, i), sizeof(uint64_t), work);
    case CODE_PUT_VALUE:
        return rem_put_value(&w->thread, node, remote_of(w, i), regs[i->a], work);
    case CODE_GET:
        return rem_get(&w->thread, local_of(w, i), node, remote_of(w, i), sizeof(uint64_t), work);
    case CODE_RCAS:
        return rem_rcas(&w->thread, local_of(w, i), node, remote_of(w, i), regs[i->a], regs[i->b], work);
    default:
        return rem_rfaa(&w->thread, local_of(w, i), node, remote_of(w, i), regs[i->a], work);
    }
}

/* RDMA_TSO has no work ids: poll takes completions in the order of posting, so each operation is remembered by
 * its number in the queue pair. */
static int post_polled(struct worker *w, const struct instruction *i, const uint64_t *regs)
{
    struct poll_queue *polls = &w->polls[i->node];
    const struct queue *queue = &w->thread.state->queue[i->node];
    uint64_t before = queue->posted;
    int error = post(w, i, regs);
    polls->number[polls->issued++] = queue->posted == before ? 0 : queue->posted;
    return error;
}

/* What an earlier iteration has left is taken on the way. */
static enum ending poll_one(struct worker *w, unsigned node)
{
    struct poll_queue *polls = &w->polls[node];
    if (polls->polled == polls->issued)
        return STUCK;
    struct rem_thread_state *state = w->thread.state;
    struct queue *queue = &state->queue[node];
    uint64_t number = polls->number[polls->polled++];
    bool goes_on = true;
    while (goes_on && queue->taken < number) {
        queue->taken += state->fabric->poll(state->link, node, 1);
        if (queue->taken < number)
            goes_on = worker_pause(w, WAITS_LOOKING);
    }
    worker_paused(w);
    return goes_on ? RAN : STUCK;
}

static enum ending await(struct worker *w, const struct instruction *i, uint64_t value)
{
    const uint64_t *word = local_of(w, i);
    bool goes_on = true;
    while (goes_on && !lm_apply(i->alu, rem_load(&w->thread, word), value))
        goes_on = worker_pause(w, WAITS_LOOKING);
    worker_paused(w);
    return goes_on ? RAN : STUCK;
}

static rem_sv variable_of(const struct worker *w, const struct instruction *i)
{
    rem_sv variable = w->instances->node[w->code->node].variable;
    variable.word = local_of(w, i);
    return variable;
}

static int acquire(struct worker *w, struct run_lock *lock)
{
    enter_call(w);
    return leave_call(w, lock->kind == LM_WLOCK   ? rem_wlock_acquire(&w->thread, &lock->weak)
                         : lock->kind == LM_SLOCK ? rem_slock_acquire(&w->thread, &lock->strong)
                                                  : rem_nlock_acquire(&w->thread, &lock->node));
}

static int release(struct worker *w, struct run_lock *lock)
{
    return lock->kind == LM_WLOCK   ? rem_wlock_release(&w->thread, &lock->weak)
           : lock->kind == LM_SLOCK ? rem_slock_release(&w->thread, &lock->strong)
                                    : rem_nlock_release(&w->thread, &lock->node);
}

static struct run_lock *lock_of(const struct worker *w, uint32_t number)
{
    return instance_lock(w->instances, w->code->node, number, w->position);
}

static int lock_step(struct worker *w, const struct instruction *i)
{
    uint64_t bit = UINT64_C(1) << i->object;
    struct run_lock *lock = lock_of(w, i->object);
    int error = i->kind == CODE_ACQUIRE ? acquire(w, lock) : release(w, lock);
    if (!error)
        w->held ^= bit;
    return error;
}

static int sc_step(struct worker *w, const struct instruction *i, uint64_t *regs)
{
    rem_sc *array = &w->instances->node[w->code->node].scs[i->object];
    enter_call(w);
    switch (i->kind) {
    case CODE_SC_READ:
        return leave_call(w, rem_sc_read(&w->thread, array, w->instance, &regs[i->dst]));
    case CODE_SC_WRITE:
        return leave_call(w, rem_sc_write(&w->thread, array, w->instance, regs[i->a]));
    case CODE_SC_CAS:
        return leave_call(w,
                          rem_sc_cas(&w->thread, array, w->instance, &regs[i->dst], regs[i->a], regs[i->b]));
    default:
        return leave_call(w, rem_sc_faa(&w->thread, array, w->instance, &regs[i->dst], regs[i->a]));
    }
}

static int sv_step(struct worker *w, const struct instruction *i, uint64_t *regs)
{
    rem_sv variable = variable_of(w, i);
    switch (i->kind) {
    case CODE_SV_READ:
        return rem_sv_read(&w->thread, &variable, &regs[i->dst]);
    case CODE_SV_WRITE:
        return rem_sv_write(&w->thread, &variable, regs[i->a]);
    default:
        return rem_sv_broadcast(&w->thread, &variable, i->nodes, w->work + i->work);
    }
}

/* ---- The loop ---- */

static enum ending fail(struct worker *w, int error)
{
    if (error == REM_ETIMEDOUT) {
        w->gave_up_inside = true;
        return STUCK;
    }
    w->error = error;
    return FAILED;
}

/* The rarer instructions. */
static enum ending run_other(struct worker *w, const struct instruction *i, uint64_t *regs)
{
    int error;
    switch (i->kind) {
    case CODE_AWAIT:
        return await(w, i, regs[i->a]);
    case CODE_POLL:
        return poll_one(w, i->node);
    case CODE_RFENCE:
        error = rem_rfence(&w->thread, (int)i->node);
        break;
    case CODE_GFENCE:
        error = rem_gfence(&w->thread, i->nodes);
        break;
    case CODE_SV_READ:
    case CODE_SV_WRITE:
    case CODE_BCAST:
        error = sv_step(w, i, regs);
        break;
    case CODE_ACQUIRE:
    case CODE_RELEASE:
        error = lock_step(w, i);
        break;
    default:
        error = sc_step(w, i, regs);
        break;
    }
    return error ? fail(w, error) : RAN;
}

enum ending worker_run(struct worker *w)
{
    const struct instruction *code = w->code->code, *i = code;
    const struct instruction *pause_at = &code[w->pause_at];
    uint64_t *regs = w->regs;
    bool tso = w->polls != NULL;
    rem_thread *thread = &w->thread;
    enum ending ending;
    int error;
    for (;; i++) {
        if (__builtin_expect(i == pause_at, 0))
            worker_lag(w);
        switch ((enum code_kind)i->kind) {
        case CODE_END:
            return RAN;
        case CODE_MOVE:
            regs[i->dst] = regs[i->a];
            break;
        case CODE_UNARY:
        case CODE_BINARY:
            regs[i->dst] = lm_apply(i->alu, regs[i->a], regs[i->b]);
            break;
        case CODE_BRANCH:
            if (!regs[i->a])
                i = &code[i->target] - 1;
            break;
        case CODE_GOTO:
            i = &code[i->target] - 1;
            break;
        case CODE_ASSUME:
            if (!regs[i->a])
                return DROPPED;
            break;
        case CODE_UNTIL:
            if (regs[i->a]) {
                worker_paused(w);
            } else if (worker_pause(w, WAITS_LOOKING)) {
                i = &code[i->target] - 1;
            } else {
                worker_paused(w);
                return STUCK;
            }
            break;
        case CODE_LOAD:
            regs[i->dst] = rem_load(thread, local_of(w, i));
            break;
        case CODE_STORE:
            rem_store(thread, local_of(w, i), regs[i->a]);
            break;
        case CODE_CAS:
            regs[i->dst] = rem_cas(thread, local_of(w, i), regs[i->a], regs[i->b]);
            break;
        case CODE_FAA:
            regs[i->dst] = rem_faa(thread, local_of(w, i), regs[i->a]);
            break;
        case CODE_XCHG:
            regs[i->dst] = rem_xchg(thread, local_of(w, i), regs[i->a]);
            break;
        case CODE_MFENCE:
            rem_mfence(thread);
            break;
        case CODE_PUT:
        case CODE_PUT_VALUE:
        case CODE_GET:
        case CODE_RCAS:
        case CODE_RFAA:
            error = tso ? post_polled(w, i, regs) : post(w, i, regs);
            if (error)
                return fail(w, error);
            break;
        case CODE_WAIT:
            error = rem_wait(thread, w->work + i->work);
            if (error)
                return fail(w, error);
            break;
        default:
            ending = run_other(w, i, regs);
            if (ending != RAN)
                return ending;
            break;
        }
    }
}

void worker_release(struct worker *w)
{
    for (; w->held; w->held &= w->held - 1) {
        int error = release(w, lock_of(w, (uint32_t)__builtin_ctzll(w->held)));
        if (error && error != REM_ETIMEDOUT && error != REM_ENOTHELD)
            w->error = error;
    }
}
