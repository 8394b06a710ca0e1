/* Attaching: a pthread becomes a thread of the model. */
#include "tower/thread.h"
#include "job/node.h"
#include "tower/sv.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct rem_thread_state *new_state(struct rem_node *node, unsigned slot)
{
    size_t size = sizeof(struct rem_thread_state) + node->nodes * sizeof(uint64_t[WORKS]);
    struct rem_thread_state *state = aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
    if (!state)
        return NULL;
    memset(state, 0, size);
    state->fabric = fabric_find(node->control->provider[0] ? node->control->provider : NULL);
    state->node = node;
    state->nodes = node->nodes;
    state->index = node->self * node->threads + slot;
    state->private = (uint64_t *)(void *)(node->home + RESERVED_PRIVATE + slot * LINE);
    state->dummy = (uint64_t *)(void *)(node->home + RESERVED_DUMMY);
    return state;
}

static int fill(struct rem_node *node, rem_thread *thread, unsigned slot)
{
    thread->state = new_state(node, slot);
    if (!thread->state)
        return REM_ENOMEM;
    const struct fabric *fabric = thread->state->fabric;
    struct fabric_signals signals;
    int error =
        fabric ? fabric->attach(node, &thread->owes, &thread->state->link, &signals) : REM_EENVIRONMENT;
    if (error) {
        free(thread->state);
        thread->state = NULL;
        return error;
    }
    thread->state->post = fabric->post;
    thread->failure = signals.failure;
    thread->state->asleep = signals.asleep;
    return 0;
}

int rem_attach(rem_job *job, rem_thread *thread)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!thread)
        return REM_EINVAL;
    int slot = node_take_slot(node);
    if (slot < 0)
        return slot;
    *thread = (rem_thread){.slot = (unsigned)slot};
    int error = fill(node, thread, (unsigned)slot);
    if (error)
        node_give_slot(node, (unsigned)slot);
    return error;
}

/* The slot's next owner goes on with this one's private words and shared variables, so nothing may be under
 * way to them. */
int rem_detach(rem_thread *thread)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    if (thread->held)
        return REM_EHELD;
    struct rem_thread_state *state = thread->state;
    int error = sv_fence(thread, all_nodes(thread));
    thread_wait_all(thread);
    state->fabric->detach(state->link);
    thread->state = NULL;
    node_give_slot(state->node, thread->slot);
    free(state);
    return error;
}

void rem_drain_(rem_thread *thread)
{
    if (thread && thread->state)
        thread->state->fabric->drain(thread->state->link);
}

void rem_yield_(rem_thread *thread)
{
    (void)thread;
    sched_yield();
}
