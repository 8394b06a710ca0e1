/* The list of providers. */
#include "fabric/fabric.h"
#include "fabric/shm.h"

#include <string.h>

static const struct fabric *const all[] = {&fabric_shm, NULL};

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
