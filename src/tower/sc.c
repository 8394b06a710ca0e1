/* Sequentially consistent locations over nlock and wait. (Section 8 of the specification.)
 *
 *   read:  acquire(l_x); get(in, x, d);            release(l_x); wait(d); return in
 *   write: acquire(l_x); put(x, v);                release(l_x)
 *   cas:   acquire(l_x); rcas(in, x, e, v, d);     release(l_x); wait(d); return in
 *   faa:   acquire(l_x); rfaa(in, x, v, d);        release(l_x); wait(d); return in
 *
 * The value written is inline data. `in` is one word for each thread, not for each location, since the wait
 * comes before the call returns; the same holds for the place at the lock. */
#include "job/node.h"
#include "tower/nlock.h"

#include <remora/sc.h>

#define SC_MAGIC UINT64_C(0x7363)

/* A location and its lock, on one line of the node where it lives. */
struct rem_sc_cell {
    uint64_t lock[2]; /* TICKET_NEXT, TICKET_SERVING */
    uint64_t value;
    uint64_t rest[5];
};

static int check(const rem_thread *thread, const rem_sc *array, size_t index, const void *result)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    if (!array || array->magic != SC_MAGIC)
        return REM_EDESTROYED;
    return index < array->count && result ? 0 : REM_EINVAL;
}

static int home_of(const rem_sc *array, size_t index)
{
    return array->home == REM_SPREAD ? (int)(index % array->node->nodes) : array->home;
}

static struct rem_ticket *place_of(rem_thread *thread)
{
    return (struct rem_ticket *)(void *)thread->state->private;
}

/* One operation under the location's lock; `in` has its result, if there is one, after a wait. */
static inline int run(rem_thread *thread, const rem_sc *array, size_t index, const struct fabric_op *op)
{
    struct rem_sc_cell *cell = &array->cells[index];
    struct rem_ticket_lock lock = {.words = cell->lock,
                                   .home = home_of(array, index),
                                   .key = (uint64_t)((char *)cell - array->node->home)};
    uint64_t ticket;
    int error = nlock_enter(thread, &lock, place_of(thread), &ticket);
    if (__builtin_expect(error, 0))
        return error;
    error = thread_post(thread, op, 1, 1, WORK_VALUE);
    nlock_leave(thread, &lock, ticket + 1);
    return error;
}

static int run_for_value(rem_thread *thread, const rem_sc *array, size_t index, const struct fabric_op *op,
                         uint64_t *result)
{
    int error = run(thread, array, index, op);
    if (__builtin_expect(error, 0))
        return error;
    error = thread_wait(thread, WORK_VALUE);
    *result = load_private(thread, &place_of(thread)->mark);
    return error;
}

int rem_sc_read(rem_thread *thread, rem_sc *array, size_t index, uint64_t *value)
{
    int error = check(thread, array, index, value);
    if (error)
        return error;
    uint64_t *in = &place_of(thread)->mark;
    struct fabric_op op;
    op_get(&op, FABRIC_PRIVATE | FABRIC_KNOWN, in, home_of(array, index), &array->cells[index].value,
           sizeof *in);
    return run_for_value(thread, array, index, &op, value);
}

int rem_sc_write(rem_thread *thread, rem_sc *array, size_t index, uint64_t value)
{
    int error = check(thread, array, index, &value);
    if (error)
        return error;
    struct fabric_op op;
    op_put_value(&op, FABRIC_KNOWN, home_of(array, index), &array->cells[index].value, value);
    return run(thread, array, index, &op);
}

int rem_sc_cas(rem_thread *thread, rem_sc *array, size_t index, uint64_t *old, uint64_t expected,
               uint64_t desired)
{
    int error = check(thread, array, index, old);
    if (error)
        return error;
    uint64_t *in = &place_of(thread)->mark;
    struct fabric_op op;
    op_rcas(&op, FABRIC_PRIVATE | FABRIC_KNOWN, in, home_of(array, index), &array->cells[index].value,
            expected, desired);
    return run_for_value(thread, array, index, &op, old);
}

int rem_sc_faa(rem_thread *thread, rem_sc *array, size_t index, uint64_t *old, uint64_t add)
{
    int error = check(thread, array, index, old);
    if (error)
        return error;
    uint64_t *in = &place_of(thread)->mark;
    struct fabric_op op;
    op_rfaa(&op, FABRIC_PRIVATE | FABRIC_KNOWN, in, home_of(array, index), &array->cells[index].value, add);
    return run_for_value(thread, array, index, &op, old);
}

int rem_sc_init(rem_job *job, rem_sc *array, size_t count, int home)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!array || count == 0 || count > SIZE_MAX / sizeof(struct rem_sc_cell))
        return REM_EINVAL;
    if (home != REM_SPREAD && (home < 0 || (unsigned)home >= node->nodes))
        return REM_ENODE;
    void *cells = NULL;
    int error = node_alloc(node, count * sizeof(struct rem_sc_cell), SC_MAGIC + (uint64_t)(home + 1), &cells);
    *array =
        (rem_sc){.magic = error ? 0 : SC_MAGIC, .node = node, .cells = cells, .count = count, .home = home};
    return error;
}

int rem_sc_destroy(rem_job *job, rem_sc *array)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!array || array->magic != SC_MAGIC)
        return REM_EDESTROYED;
    array->magic = 0;
    return node_free(node, array->cells);
}
