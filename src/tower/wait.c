/* RDMA-WAIT over RDMA-TSO: remote operations with work ids. (Section 5 of the specification.) */
#include "tower/thread.h"

/* Takes completions until the `number`th operation towards the node has completed. */
static void take_until(struct rem_thread_state *state, unsigned node, uint64_t number)
{
    struct queue *queue = &state->queue[node];
    while (queue->taken < number) {
        uint64_t wanted = number - queue->taken;
        queue->taken +=
            state->fabric->poll(state->link, node, wanted > 1u << 30 ? 1u << 30 : (unsigned)wanted);
    }
}

int thread_post_slowly(rem_thread *thread, const struct fabric_op *ops, unsigned count, unsigned completions,
                       unsigned work, int result)
{
    struct rem_thread_state *state = thread->state;
    unsigned node = ops[0].node;
    struct queue *queue = &state->queue[node];
    while (result == FABRIC_AGAIN) {
        take_until(state, node, queue->taken + 1);
        result = state->fabric->post(state->link, ops, count);
    }
    if (result != 0)
        return result == FABRIC_DONE ? 0 : result;
    if (completions == 0) /* a fence: nothing will come that a wait could be for */
        return 0;
    queue->posted += completions;
    state->last[node][work] = queue->posted;
    state->touched[work] |= UINT64_C(1) << node;
    thread->busy = 1;
    return 0;
}

int thread_wait_slowly(rem_thread *thread, unsigned work)
{
    struct rem_thread_state *state = thread->state;
    for (uint64_t nodes = state->touched[work]; nodes; nodes &= nodes - 1) {
        unsigned node = (unsigned)__builtin_ctzll(nodes);
        take_until(state, node, state->last[node][work]);
    }
    state->touched[work] = 0;
    uint64_t others = 0;
    for (unsigned other = 0; other < WORKS; other++)
        others |= state->touched[other];
    thread->busy = others != 0;
    return thread_failure(thread);
}

void thread_wait_all(rem_thread *thread)
{
    struct rem_thread_state *state = thread->state;
    for (unsigned node = 0; node < state->nodes; node++)
        take_until(state, node, state->queue[node].posted);
}

static inline int check_call(const rem_thread *thread, int node, unsigned work)
{
    if (__builtin_expect(!thread || !thread->state, 0))
        return REM_EDETACHED;
    if (__builtin_expect((unsigned)node >= thread->state->nodes, 0))
        return REM_ENODE;
    return work >= REM_WORK_IDS ? REM_EWORK : 0;
}

static inline int check_word(const rem_thread *thread, int node, const void *target, unsigned work)
{
    int error = check_call(thread, node, work);
    return error ? error : is_aligned(target) ? 0 : REM_EALIGN;
}

int rem_put(rem_thread *thread, int node, void *target, const void *source, size_t size, unsigned work)
{
    int error = check_call(thread, node, work);
    if (error)
        return error;
    if (size == 0)
        return REM_EINVAL;
    struct fabric_op op;
    op_put(&op, node, target, source, size);
    return thread_post(thread, &op, 1, 1, work);
}

int rem_put_value(rem_thread *thread, int node, uint64_t *target, uint64_t value, unsigned work)
{
    int error = check_word(thread, node, target, work);
    if (error)
        return error;
    struct fabric_op op;
    op_put_value(&op, 0, node, target, value);
    return thread_post(thread, &op, 1, 1, work);
}

int rem_get(rem_thread *thread, void *target, int node, const void *source, size_t size, unsigned work)
{
    int error = check_call(thread, node, work);
    if (error)
        return error;
    if (size == 0)
        return REM_EINVAL;
    struct fabric_op op;
    op_get(&op, 0, target, node, source, size);
    return thread_post(thread, &op, 1, 1, work);
}

int rem_rcas(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t expected,
             uint64_t desired, unsigned work)
{
    int error = check_word(thread, node, target, work);
    if (error)
        return error;
    if (!is_aligned(old))
        return REM_EALIGN;
    struct fabric_op op;
    op_rcas(&op, 0, old, node, target, expected, desired);
    return thread_post(thread, &op, 1, 1, work);
}

int rem_rfaa(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t add, unsigned work)
{
    int error = check_word(thread, node, target, work);
    if (error)
        return error;
    if (!is_aligned(old))
        return REM_EALIGN;
    struct fabric_op op;
    op_rfaa(&op, 0, old, node, target, add);
    return thread_post(thread, &op, 1, 1, work);
}

int rem_rfence(rem_thread *thread, int node)
{
    int error = check_call(thread, node, 0);
    if (error)
        return error;
    struct fabric_op op;
    op_rfence(&op, node);
    return thread_post(thread, &op, 1, 0, WORK_LOCK);
}

int rem_wait(rem_thread *thread, unsigned work)
{
    if (__builtin_expect(!thread || !thread->state, 0))
        return REM_EDETACHED;
    if (work >= REM_WORK_IDS)
        return REM_EWORK;
    thread_wait(thread, work);
    return thread_failure(thread);
}

/* The operation, its wait, and the value that it left in the private place. */
static int run_for_value(rem_thread *thread, const struct fabric_op *op, uint64_t *value)
{
    int error = thread_run(thread, op, 1, 1, WORK_VALUE);
    if (error)
        return error;
    *value = load_private(thread, op->local);
    return thread_failure(thread);
}

int rem_get_value(rem_thread *thread, uint64_t *value, int node, const uint64_t *source)
{
    int error = check_word(thread, node, source, 0);
    if (error)
        return error;
    struct fabric_op op;
    op_get(&op, FABRIC_PRIVATE, thread->state->private, node, source, sizeof *source);
    return value ? run_for_value(thread, &op, value) : REM_EINVAL;
}

int rem_fetch_add(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t add)
{
    int error = check_word(thread, node, target, 0);
    if (error)
        return error;
    struct fabric_op op;
    op_rfaa(&op, FABRIC_PRIVATE, thread->state->private, node, target, add);
    return old ? run_for_value(thread, &op, old) : REM_EINVAL;
}

int rem_compare_swap(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t expected,
                     uint64_t desired)
{
    int error = check_word(thread, node, target, 0);
    if (error)
        return error;
    struct fabric_op op;
    op_rcas(&op, FABRIC_PRIVATE, thread->state->private, node, target, expected, desired);
    return old ? run_for_value(thread, &op, old) : REM_EINVAL;
}
