/* The list of providers. Those whose library the build did not find are left out; and all but shm where the
 * library is compiled for the model. */
#include "fabric/fabric.h"
#include "fabric/ofi.h"
#include "fabric/shm.h"
#include "fabric/verbs.h"
#include "fabric/weak.h"

#include <string.h>

static const struct fabric *const all[] = {
    &fabric_shm,
#ifndef REMORA_SHM_ALONE
#ifdef REMORA_HAVE_VERBS
    &fabric_verbs,
#endif
#ifdef REMORA_HAVE_OFI
    &fabric_ofi,
#endif
    &fabric_weak,
#endif
    NULL};

const struct fabric *const *fabric_all(void)
{
    return all;
}

const struct fabric *fabric_find(const char *name)
{
    if (!name)
        return all[0];
    for (const struct fabric *const *fabric = all; *fabric; fabric++)
        if (strcmp((*fabric)->traits.name, name) == 0)
            return *fabric;
    return NULL;
}
