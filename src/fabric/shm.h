/* Shared memory: the nodes are processes of one machine. */
#ifndef REMORA_FABRIC_SHM_H
#define REMORA_FABRIC_SHM_H

#include "fabric/fabric.h"

extern const struct fabric fabric_shm;

#endif
