/* The ofi provider's own, for its files; ofi.c explains it. */
#ifndef REMORA_FABRIC_OFI_H
#define REMORA_FABRIC_OFI_H

#include "fabric/fabric.h"

extern const struct fabric fabric_ofi;

#endif
