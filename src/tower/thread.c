/* Attaching: a pthread becomes a thread of the model. */
#include "tower/thread.h"
#include "job/node.h"
#include "tower/sv.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { NEXT_PAUSE_CALLS = UINT8_MAX /* of rem_thread.pauses: the next pause calls rem_yield_ */ };

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
    if (thread->owes & REM_OWES_CALL)
        thread->pauses = NEXT_PAUSE_CALLS;
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
    thread->owes = 0;
    node_give_slot(state->node, thread->slot);
    free(state);
    return error;
}

void rem_drain_(rem_thread *thread)
{
    if (thread && thread->state)
        thread->state->fabric->drain(thread->state->link);
}

_Static_assert((int)REM_LOAD_ == FABRIC_LOAD && (int)REM_STORE_ == FABRIC_STORE &&
                   (int)REM_CAS_ == FABRIC_CAS && (int)REM_FAA_ == FABRIC_FAA &&
                   (int)REM_XCHG_ == FABRIC_XCHG,
               "wait.h and fabric.h number the accesses alike");

/* Either all accesses are the transport's, or a load must drain first. */
uint64_t rem_access_(rem_thread *thread, unsigned access, uint64_t *word, uint64_t expected, uint64_t value)
{
    const struct rem_thread_state *state = thread->state;
    if (thread->owes & REM_OWES_CALL)
        return state->fabric->access(state->link, (enum fabric_access)access, word, expected, value);
    rem_drain_(thread);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Where all accesses are the transport's so are pauses, every one of them. */
void rem_yield_(rem_thread *thread)
{
    if (!(thread->owes & REM_OWES_CALL)) {
        sched_yield();
        return;
    }
    thread->pauses = NEXT_PAUSE_CALLS;
    thread->state->fabric->access(thread->state->link, FABRIC_PAUSE, NULL, 0, 0);
}
