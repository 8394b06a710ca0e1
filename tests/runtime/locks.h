/* One face for all the locks, so that one validator and one driver serve every one. */
#ifndef REMORA_TESTS_LOCKS_H
#define REMORA_TESTS_LOCKS_H

#include <remora/remora.h>

union any_lock {
    rem_wlock weak;
    rem_slock strong;
    rem_nlock node;
};

struct lock_kind {
    const char *name;
    int (*init)(rem_job *, union any_lock *, int home);
    int (*destroy)(rem_job *, union any_lock *);
    int (*acquire)(rem_thread *, union any_lock *);
    int (*try_acquire)(rem_thread *, union any_lock *);
    int (*acquire_until)(rem_thread *, union any_lock *, uint64_t deadline);
    int (*release)(rem_thread *, union any_lock *);
    bool fences_all;  /* a release completes remote operations towards every node */
    bool fences_home; /* … towards the home */
};

extern const struct lock_kind lock_kinds[];
extern const unsigned lock_kind_count;

const struct lock_kind *lock_kind_named(const char *name);

#endif
