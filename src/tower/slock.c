/* The strong lock over wlock and sv. (Section 7 of the specification.)
 *
 *   acquire: wlock.acquire
 *   release: gfence(all nodes); wlock.release */
#include "job/node.h"
#include "tower/sv.h"
#include "tower/wlock.h"

#define SLOCK_MAGIC UINT64_C(0x736c6f636b)

static int check(const rem_thread *thread, const rem_slock *lock)
{
    if (!thread || !thread->state)
        return REM_EDETACHED;
    return lock && lock->magic == SLOCK_MAGIC ? 0 : REM_EDESTROYED;
}

static int take(rem_thread *thread, rem_slock *lock, enum wlock_way way, uint64_t deadline)
{
    int error = check(thread, lock);
    return error ? error : wlock_take(thread, &lock->weak, way, deadline);
}

int rem_slock_acquire(rem_thread *thread, rem_slock *lock)
{
    return take(thread, lock, WLOCK_WAIT, NO_DEADLINE);
}

int rem_slock_try_acquire(rem_thread *thread, rem_slock *lock)
{
    return take(thread, lock, WLOCK_TRY, 0);
}

int rem_slock_acquire_until(rem_thread *thread, rem_slock *lock, uint64_t deadline)
{
    return take(thread, lock, WLOCK_UNTIL, deadline);
}

int rem_slock_release(rem_thread *thread, rem_slock *lock)
{
    int error = check(thread, lock);
    if (!error)
        error = wlock_check_held(thread, &lock->weak);
    if (!error)
        error = sv_fence(thread, all_nodes(thread));
    return error ? error : wlock_give(thread, &lock->weak);
}

int rem_slock_init(rem_job *job, rem_slock *lock, int home)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!lock)
        return REM_EINVAL;
    int error = wlock_init(node, &lock->weak, home, SLOCK_MAGIC);
    lock->magic = error ? 0 : SLOCK_MAGIC;
    return error;
}

int rem_slock_destroy(rem_job *job, rem_slock *lock)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    if (!lock || lock->magic != SLOCK_MAGIC)
        return REM_EDESTROYED;
    lock->magic = 0;
    return wlock_destroy(node, &lock->weak);
}
