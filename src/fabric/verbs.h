/* libibverbs: InfiniBand, RoCE, Soft-RoCE. */
#ifndef REMORA_FABRIC_VERBS_H
#define REMORA_FABRIC_VERBS_H

#include "fabric/fabric.h"

extern const struct fabric fabric_verbs;

#endif
