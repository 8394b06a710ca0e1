/* Shared variables over wait. (Section 6 of the specification.) */
#include "tower/sv.h"
#include "job/node.h"

#define SV_MAGIC UINT64_C(0x7376736861726564)

int sv_broadcast(rem_thread *thread, uint64_t *word, rem_nodes nodes, unsigned work)
{
    for (; nodes; nodes &= nodes - 1) {
        struct fabric_op op;
        op_put(&op, __builtin_ctzll(nodes), word, word, sizeof *word);
        int error = thread_post(thread, &op, 1, 1, work);
        if (error)
            return error;
    }
    return 0;
}

int sv_fence(rem_thread *thread, rem_nodes nodes)
{
    uint64_t *private = thread->state->private;
    for (; nodes; nodes &= nodes - 1) {
        struct fabric_op op;
        op_get(&op, FABRIC_PRIVATE | FABRIC_KNOWN, private, __builtin_ctzll(nodes), thread->state->dummy,
               sizeof *private);
        int error = thread_post(thread, &op, 1, 1, WORK_FENCE);
        if (error)
            return error;
    }
    thread_wait(thread, WORK_FENCE);
    return thread_failure(thread);
}

int rem_gfence(rem_thread *thread, rem_nodes nodes)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    if (nodes == REM_ALL_NODES)
        nodes = all_nodes(thread);
    return nodes & ~all_nodes(thread) ? REM_ENODE : sv_fence(thread, nodes);
}

static int check(const rem_thread *thread, const rem_sv *variable)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    return variable && variable->magic == SV_MAGIC ? 0 : REM_EDESTROYED;
}

int rem_sv_read(rem_thread *thread, const rem_sv *variable, uint64_t *value)
{
    int error = check(thread, variable);
    if (error)
        return error;
    if (!value)
        return REM_EINVAL;
    *value = rem_load(thread, variable->word);
    return 0;
}

int rem_sv_write(rem_thread *thread, rem_sv *variable, uint64_t value)
{
    int error = check(thread, variable);
    if (error)
        return error;
    rem_store(thread, variable->word, value);
    return 0;
}

int rem_sv_broadcast(rem_thread *thread, rem_sv *variable, rem_nodes nodes, unsigned work)
{
    int error = check(thread, variable);
    if (error)
        return error;
    if (nodes == REM_ALL_NODES)
        nodes = all_nodes(thread);
    if (nodes & ~all_nodes(thread))
        return REM_ENODE;
    return work >= REM_WORK_IDS ? REM_EWORK : sv_broadcast(thread, variable->word, nodes, work);
}

int rem_sv_init(rem_job *job, rem_sv *variable)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!variable)
        return REM_EINVAL;
    void *word = NULL;
    int error = node_alloc(node, sizeof *variable->word, SV_MAGIC, &word);
    *variable = (rem_sv){.magic = error ? 0 : SV_MAGIC, .node = node, .word = word};
    return error;
}

int rem_sv_destroy(rem_job *job, rem_sv *variable)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!variable || variable->magic != SV_MAGIC)
        return REM_EDESTROYED;
    variable->magic = 0;
    return node_free(node, variable->word);
}
