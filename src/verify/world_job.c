/* What the library takes from src/job, as far as it needs any of it in a world: the nodes of one process, whose
 * collective calls need not wait for each other. */
#include "fabric/model.h"
#include "job/node.h"

int node_take_slot(struct rem_node *node)
{
    for (unsigned slot = 0; slot < node->threads; slot++)
        if (!node->slots[slot]) {
            node->slots[slot] = 1;
            node->attached++;
            if (node_threads(node, node->self) <= slot)
                atomic_store(&node->control->node[node->self].threads, slot + 1);
            return (int)slot;
        }
    return REM_ETHREADS;
}

void node_give_slot(struct rem_node *node, unsigned slot)
{
    node->slots[slot] = 0;
    node->attached--;
}

int node_alloc(struct rem_node *node, size_t size, uint64_t token, void **pointer)
{
    (void)token;
    size_t offset;
    int error = heap_take(&node->heap, size, &offset);
    if (!error)
        *pointer = node->home + offset;
    return error;
}

int node_free(struct rem_node *node, void *pointer)
{
    (void)node;
    (void)pointer;
    return 0;
}

int node_barrier(struct rem_node *node)
{
    (void)node;
    return 0;
}

int node_agree(struct rem_node *node, uint64_t token)
{
    (void)node;
    (void)token;
    return 0;
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

int rem_node_self(const rem_job *job)
{
    const struct rem_node *node = node_of(job);
    return node ? (int)node->self : REM_ECLOSED;
}

int rem_node_count(const rem_job *job)
{
    const struct rem_node *node = node_of(job);
    return node ? (int)node->nodes : REM_ECLOSED;
}

int rem_thread_limit(const rem_job *job)
{
    const struct rem_node *node = node_of(job);
    return node ? (int)node->threads : REM_ECLOSED;
}

void node_wake_sleepers(struct rem_node *node, uint64_t key, uint64_t value)
{
    (void)node;
    (void)key;
    (void)value;
}

void node_idle(struct rem_node *node, struct idle *idle, uint64_t distance)
{
    (void)node;
    (void)distance;
    model_self()->wait(model_self(), idle);
}

void node_idle_end(struct rem_node *node, struct idle *idle)
{
    (void)node;
    model_self()->wait_end(model_self(), idle);
}
