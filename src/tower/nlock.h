/* The node lock's algorithm, for the layers that embed it: a ticket lock at `lock`, a place of the calling
 * thread. */
#ifndef REMORA_TOWER_NLOCK_H
#define REMORA_TOWER_NLOCK_H

#include "tower/ticket.h"

/* 0 and the ticket, or REM_EDEAD. */
int nlock_enter(rem_thread *thread, const struct rem_ticket_lock *lock, struct rem_ticket *place,
                uint64_t *ticket);

/* Serves ticket `next`: the one that entered, plus 1. */
void nlock_leave(rem_thread *thread, const struct rem_ticket_lock *lock, uint64_t next);

#endif
