/* What all nodes do together: barrier and exchange through the control block, and symmetric allocation on top of
 * any wire. */
#include "job/futex.h"
#include "job/node.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

enum { BARRIER_SPINS = 200, BARRIER_YIELDS = 50, BARRIER_NAP = 50000000u };

static bool crowd_is_whole(const struct rem_node *node)
{
    const struct control *control = node->control;
    return atomic_load_explicit(&control->failed, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&control->left, memory_order_relaxed) == 0;
}

static int gone(const struct rem_node *node)
{
    int failure = node_failure(node);
    return failure ? failure : REM_EDEAD;
}

static void barrier_idle(struct rem_node *node, unsigned generation, unsigned round)
{
    if (node->in_collective && node->in_collective(node))
        return;
    if (round < BARRIER_SPINS)
        __builtin_ia32_pause();
    else if (round < BARRIER_SPINS + BARRIER_YIELDS)
        sched_yield();
    else
        futex_wait(&node->control->generation, generation, BARRIER_NAP);
}

/* The last to arrive opens the next generation. A node that finds another one gone still looks whether its
 * own generation was complete, since the other may have left right after it. */
static int control_barrier(struct rem_node *node)
{
    struct control *control = node->control;
    unsigned generation = atomic_load(&control->generation);
    if (!crowd_is_whole(node)) /* from now on for ever: who has given up is still counted as arrived */
        return gone(node);
    if (atomic_fetch_add(&control->arrived, 1) + 1 == node->nodes) {
        atomic_store(&control->arrived, 0);
        atomic_store(&control->generation, generation + 1);
        if (node->nodes > 1)
            futex_wake(&control->generation, INT_MAX);
        return 0;
    }
    for (unsigned round = 0;; round++) {
        if (atomic_load(&control->generation) != generation)
            return 0;
        if (!crowd_is_whole(node))
            return atomic_load(&control->generation) != generation ? 0 : gone(node);
        barrier_idle(node, generation, round);
    }
}

/* Every node shows a piece; the second barrier keeps the pieces until all have looked. */
static int control_exchange(struct rem_node *node, const void *mine, size_t size, void *all)
{
    unsigned char(*slate)[SLATE] = node->control->slate;
    for (size_t done = 0; done < size; done += SLATE) {
        size_t piece = size - done < SLATE ? size - done : SLATE;
        memcpy(slate[node->self], (const char *)mine + done, piece);
        int error = control_barrier(node);
        if (error)
            return error;
        for (unsigned n = 0; n < node->nodes; n++)
            memcpy((char *)all + n * size + done, slate[n], piece);
        error = control_barrier(node);
        if (error)
            return error;
    }
    return 0;
}

const struct wire wire_control = {
    .name = "shared memory", .exchange = control_exchange, .barrier = control_barrier};

int node_barrier(struct rem_node *node)
{
    if (node->before_collective)
        node->before_collective(node);
    return node->wire->barrier(node);
}

int node_agree(struct rem_node *node, uint64_t token)
{
    uint64_t all[REM_MAX_NODES];
    if (node->before_collective)
        node->before_collective(node);
    int error = node->wire->exchange(node, &token, sizeof token, all);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        if (all[n] != token)
            error = REM_ECOLLECTIVE;
    return error;
}

/* Only what has been used before needs zeroing: a fresh file reads as zero. */
static int take_block(struct rem_node *node, size_t size, void **pointer)
{
    size_t top = atomic_load_explicit(&node->heap.top, memory_order_relaxed), offset;
    int error = heap_take(&node->heap, size, &offset);
    if (error)
        return error;
    if (offset < top)
        memset(node->home + offset, 0, size < top - offset ? size : top - offset);
    *pointer = node->home + offset;
    return 0;
}

int node_alloc(struct rem_node *node, size_t size, uint64_t token, void **pointer)
{
    if (!node_enter_collective(node))
        return REM_EBUSY;
    int error = node_agree(node, (uint64_t)size * UINT64_C(0x9e3779b97f4a7c15) + token);
    if (!error)
        error = take_block(node, size, pointer);
    if (!error)
        error = node_barrier(node);
    node_leave_collective(node);
    return error;
}

static int give_block(struct rem_node *node, void *pointer)
{
    size_t size;
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)node->home;
    return offset >= node->heap_size ? REM_EINVAL : heap_give(&node->heap, offset, &size);
}

int node_free(struct rem_node *node, void *pointer)
{
    if (!node_enter_collective(node))
        return REM_EBUSY;
    int error = node_agree(node, pointer ? (uint64_t)((char *)pointer - node->home) : UINT64_MAX);
    if (!error && pointer)
        error = give_block(node, pointer);
    node_leave_collective(node);
    return error;
}

int rem_alloc(rem_job *job, size_t size, void **pointer)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    return size == 0 || !pointer ? REM_EINVAL : node_alloc(node, size, 0, pointer);
}

int rem_free(rem_job *job, void *pointer)
{
    struct rem_node *node = node_of(job);
    return node ? node_free(node, pointer) : REM_ECLOSED;
}

int rem_barrier(rem_job *job)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!node_enter_collective(node))
        return REM_EBUSY;
    int error = node_barrier(node);
    node_leave_collective(node);
    return error;
}
