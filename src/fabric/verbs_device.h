/* The RDMA device of a node: which one, which port, under which address, and what it can do. */
#ifndef REMORA_FABRIC_VERBS_DEVICE_H
#define REMORA_FABRIC_VERBS_DEVICE_H

#include "fabric/verbs_options.h"

#include <infiniband/verbs.h>

struct verbs_device {
    struct ibv_context *context;
    char name[IBV_SYSFS_NAME_MAX];
    struct ibv_device_attr attributes;
    struct ibv_port_attr port_attributes;
    uint8_t port;
    bool ethernet;
    bool forgets; /* Soft-RoCE: a fenced request of which a packet was lost may never be sent again */
    int gid_index;
    union ibv_gid gid;
    int mtu; /* bytes */
};

/* Opens the device of node `self`. 0, REM_EPROVIDER or REM_ENOMEM, and why. */
int verbs_open_device(struct verbs_device *device, const struct verbs_options *options, unsigned self,
                      struct verbs_trouble *trouble);
void verbs_close_device(struct verbs_device *device);

#endif
