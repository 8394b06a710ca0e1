/* The weak lock, for the strong one: lock-well-formedness is checked by the caller, who has found its place.
 */
#ifndef REMORA_TOWER_WLOCK_H
#define REMORA_TOWER_WLOCK_H

#include "tower/ticket.h"

enum wlock_way { WLOCK_WAIT, WLOCK_TRY, WLOCK_UNTIL };

int wlock_take(rem_thread *thread, rem_wlock *lock, enum wlock_way way, uint64_t deadline);
int wlock_give(rem_thread *thread, rem_wlock *lock);
int wlock_check_held(const rem_thread *thread, const rem_wlock *lock);
int wlock_init(struct rem_node *node, rem_wlock *lock, int home, uint64_t kind);
int wlock_destroy(struct rem_node *node, rem_wlock *lock);

#endif
