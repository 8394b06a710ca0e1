/* The table of locks (locks.h). */
#include "frame.h"

#include "locks.h"

#define KIND(kind, member)                                                                                   \
    static int kind##_init(rem_job *job, union any_lock *lock, int home)                                     \
    {                                                                                                        \
        return rem_##kind##_init(job, lock ? &lock->member : NULL, home);                                    \
    }                                                                                                        \
    static int kind##_destroy(rem_job *job, union any_lock *lock)                                            \
    {                                                                                                        \
        return rem_##kind##_destroy(job, lock ? &lock->member : NULL);                                       \
    }                                                                                                        \
    static int kind##_acquire(rem_thread *thread, union any_lock *lock)                                      \
    {                                                                                                        \
        return rem_##kind##_acquire(thread, lock ? &lock->member : NULL);                                    \
    }                                                                                                        \
    static int kind##_try_acquire(rem_thread *thread, union any_lock *lock)                                  \
    {                                                                                                        \
        return rem_##kind##_try_acquire(thread, lock ? &lock->member : NULL);                                \
    }                                                                                                        \
    static int kind##_acquire_until(rem_thread *thread, union any_lock *lock, uint64_t deadline)             \
    {                                                                                                        \
        return rem_##kind##_acquire_until(thread, lock ? &lock->member : NULL, deadline);                    \
    }                                                                                                        \
    static int kind##_release(rem_thread *thread, union any_lock *lock)                                      \
    {                                                                                                        \
        return rem_##kind##_release(thread, lock ? &lock->member : NULL);                                    \
    }

KIND(wlock, weak)
KIND(slock, strong)
KIND(nlock, node)

#define ENTRY(kind)                                                                                          \
#kind, kind##_init, kind##_destroy, kind##_acquire, kind##_try_acquire, kind##_acquire_until,            \
        kind##_release

const struct lock_kind lock_kinds[] = {
    {ENTRY(wlock), false, false},
    {ENTRY(slock), true, true},
    {ENTRY(nlock), false, true},
};
const unsigned lock_kind_count = sizeof lock_kinds / sizeof *lock_kinds;

const struct lock_kind *lock_kind_named(const char *name)
{
    for (unsigned i = 0; i < lock_kind_count; i++)
        if (strcmp(lock_kinds[i].name, name) == 0)
            return &lock_kinds[i];
    return NULL;
}
