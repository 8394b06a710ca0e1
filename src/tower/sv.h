/* The global fence, for the layers above. */
#ifndef REMORA_TOWER_SV_H
#define REMORA_TOWER_SV_H

#include "tower/thread.h"

#include <remora/sv.h>

static inline rem_nodes all_nodes(const rem_thread *thread)
{
    return REM_ALL_NODES >> (64 - thread->state->nodes);
}

/* bcast of the word at the symmetric address, from the own copy to those on `nodes`. */
int sv_broadcast(rem_thread *thread, uint64_t *word, rem_nodes nodes, unsigned work);

/* gfence. */
int sv_fence(rem_thread *thread, rem_nodes nodes);

#endif
