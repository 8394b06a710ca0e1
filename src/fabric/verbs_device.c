/* Choosing the RDMA device, its port and its address. The first device that has an active port is taken, unless
 * the environment names one. Of the addresses of an Ethernet port the best is RoCE v2 over IPv4, then over IPv6;
 * never a link-local one by itself, since it says nothing of who can be reached. */
#include "fabric/verbs_device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Addresses ---- */

static bool is_zero(const union ibv_gid *gid)
{
    return gid->global.subnet_prefix == 0 && gid->global.interface_id == 0;
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->raw, prefix, sizeof prefix) == 0;
}

static bool is_link_local(const union ibv_gid *gid)
{
    if (is_ipv4(gid))
        return gid->raw[12] == 169 && gid->raw[13] == 254;
    return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* How good an address is, 0 if it is not to be chosen. */
static int rank(const struct ibv_gid_entry *entry, bool ethernet)
{
    if (is_zero(&entry->gid))
        return 0;
    if (!ethernet)
        return entry->gid_index == 0 ? 2 : 1;
    if (is_link_local(&entry->gid))
        return 0;
    return (entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 0) + (is_ipv4(&entry->gid) ? 2 : 1);
}

static void choose_gid(struct verbs_device *device, const struct ibv_gid_entry *entries, ssize_t count,
                       int wanted)
{
    int best = 0;
    for (ssize_t i = 0; i < count; i++) {
        if (entries[i].port_num != device->port)
            continue;
        bool named = (int)entries[i].gid_index == wanted && !is_zero(&entries[i].gid);
        int value = wanted == VERBS_ANY ? rank(&entries[i], device->ethernet) : named;
        if (value <= best)
            continue;
        best = value;
        device->gid_index = (int)entries[i].gid_index;
        device->gid = entries[i].gid;
    }
}

static int find_gid(struct verbs_device *device, const struct verbs_options *options,
                    struct verbs_trouble *trouble)
{
    size_t most = (size_t)device->port_attributes.gid_tbl_len * device->attributes.phys_port_cnt;
    struct ibv_gid_entry *entries = calloc(most + 1, sizeof *entries);
    if (!entries)
        return verbs_trouble(trouble, REM_ENOMEM, "out of memory");
    ssize_t count = ibv_query_gid_table(device->context, entries, most, 0);
    device->gid_index = -1;
    choose_gid(device, entries, count, options->gid);
    free(entries);
    if (device->gid_index >= 0)
        return 0;
    if (options->gid != VERBS_ANY)
        return verbs_trouble(trouble, REM_EPROVIDER, "%s port %d has no address (GID) of index %d",
                             device->name, device->port, options->gid);
    return verbs_trouble(
        trouble, REM_EPROVIDER,
        "%s port %d has no address (GID) but link-local ones: give its interface an IP address", device->name,
        device->port);
}

/* ---- Ports ---- */

static const int mtu_bytes[] = {[IBV_MTU_256] = 256,
                                [IBV_MTU_512] = 512,
                                [IBV_MTU_1024] = 1024,
                                [IBV_MTU_2048] = 2048,
                                [IBV_MTU_4096] = 4096};

/* The port that is asked for, or the first active one; 0: none. */
static uint8_t find_port(struct verbs_device *device, const struct verbs_options *options)
{
    uint8_t first = options->port == VERBS_ANY ? 1 : (uint8_t)options->port;
    uint8_t last = options->port == VERBS_ANY ? device->attributes.phys_port_cnt : first;
    for (uint8_t port = first; port != 0 && port <= last; port++)
        if (ibv_query_port(device->context, port, &device->port_attributes) == 0 &&
            device->port_attributes.state == IBV_PORT_ACTIVE)
            return port;
    return 0;
}

static int set_up_port(struct verbs_device *device, const struct verbs_options *options,
                       struct verbs_trouble *trouble)
{
    device->port = find_port(device, options);
    if (device->port == 0)
        return options->port == VERBS_ANY
                   ? verbs_trouble(trouble, REM_EPROVIDER, "no port of %s is active", device->name)
                   : verbs_trouble(trouble, REM_EPROVIDER, "port %d of %s is not there or not active",
                                   options->port, device->name);
    device->ethernet = device->port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    device->mtu = mtu_bytes[device->port_attributes.active_mtu];
    if (options->mtu != VERBS_ANY && options->mtu > device->mtu)
        return verbs_trouble(trouble, REM_EPROVIDER, "REMORA_VERBS_MTU is %d, but port %d of %s has %d",
                             options->mtu, device->port, device->name, device->mtu);
    if (options->mtu != VERBS_ANY)
        device->mtu = options->mtu;
    return find_gid(device, options, trouble);
}

/* ---- Devices ---- */

#define SOFT_ROCE 0xffffff /* the vendor that it claims */

static int set_up(struct verbs_device *device, struct ibv_device *which, const struct verbs_options *options,
                  struct verbs_trouble *trouble)
{
    *device = (struct verbs_device){0};
    strncpy(device->name, ibv_get_device_name(which), sizeof device->name - 1);
    device->context = ibv_open_device(which);
    if (!device->context)
        return verbs_trouble(trouble, REM_EPROVIDER, "the device %s can't be opened: %s", device->name,
                             strerror(errno));
    int error = ibv_query_device(device->context, &device->attributes) == 0
                    ? set_up_port(device, options, trouble)
                    : verbs_trouble(trouble, REM_EPROVIDER, "the device %s does not say what it can do",
                                    device->name);
    device->forgets = device->attributes.vendor_id == SOFT_ROCE;
    if (!error && device->attributes.atomic_cap == IBV_ATOMIC_NONE)
        error =
            verbs_trouble(trouble, REM_EPROVIDER,
                          "the device %s has no remote atomics, which everything here needs", device->name);
    if (error)
        verbs_close_device(device);
    return error;
}

/* The name for the node in the list; `size`: of the buffer. */
static void name_for(const char *list, unsigned self, char *name, size_t size)
{
    unsigned count = 1;
    for (const char *c = list; *c; c++)
        count += *c == ',';
    for (unsigned i = self % count; i > 0; i--)
        list = strchr(list, ',') + 1;
    size_t length = strcspn(list, ",");
    length = length < size ? length : size - 1;
    memcpy(name, list, length);
    name[length] = '\0';
}

static int open_named(struct verbs_device *device, struct ibv_device **list, int count, const char *name,
                      const struct verbs_options *options, struct verbs_trouble *trouble)
{
    for (int i = 0; i < count; i++)
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            return set_up(device, list[i], options, trouble);
    return verbs_trouble(trouble, REM_EPROVIDER, "there is no RDMA device `%s' (the first of %d is `%s')",
                         name, count, ibv_get_device_name(list[0]));
}

/* If none works the trouble of the first is told. */
static int open_any(struct verbs_device *device, struct ibv_device **list, int count,
                    const struct verbs_options *options, struct verbs_trouble *trouble)
{
    struct verbs_trouble later;
    int error = set_up(device, list[0], options, trouble);
    for (int i = 1; i < count && error; i++)
        if (set_up(device, list[i], options, &later) == 0)
            error = 0;
    return error;
}

int verbs_open_device(struct verbs_device *device, const struct verbs_options *options, unsigned self,
                      struct verbs_trouble *trouble)
{
    int count = 0, error;
    char name[IBV_SYSFS_NAME_MAX];
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list || count == 0) {
        error = verbs_trouble(trouble, REM_EPROVIDER, "this machine has no RDMA device");
    } else if (options->device) {
        name_for(options->device, self, name, sizeof name);
        error = open_named(device, list, count, name, options, trouble);
    } else {
        error = open_any(device, list, count, options, trouble);
    }
    if (list)
        ibv_free_device_list(list);
    return error;
}

void verbs_close_device(struct verbs_device *device)
{
    if (device->context)
        ibv_close_device(device->context);
    device->context = NULL;
}
