/* Endpoints and their buffers. Each has a domain of its own, so that no two threads meet inside libfabric. */
#include "fabric/ofi_intern.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int open_queue(struct ofi_port *port, bool waits)
{
    struct fi_cq_attr attributes = {
        .format = FI_CQ_FORMAT_MSG, .size = 4 * port->count, .wait_obj = FI_WAIT_FD};
    port->wait = -1;
    if (waits && fi_cq_open(port->domain, &attributes, &port->cq, NULL) == 0) {
        if (fi_control(&port->cq->fid, FI_GETWAIT, &port->wait) != 0)
            port->wait = -1;
        return 0;
    }
    attributes.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(port->domain, &attributes, &port->cq, NULL);
}

static int open_endpoint(struct ofi_port *port, struct fid_fabric *fabric, struct fi_info *info, bool waits)
{
    struct fi_av_attr names = {.type = FI_AV_TABLE};
    int error = fi_domain(fabric, info, &port->domain, NULL);
    if (!error)
        error = fi_endpoint(port->domain, info, &port->ep, NULL);
    if (!error)
        error = fi_av_open(port->domain, &names, &port->av, NULL);
    if (!error)
        error = open_queue(port, waits);
    if (!error)
        error = fi_ep_bind(port->ep, &port->av->fid, 0);
    if (!error)
        error = fi_ep_bind(port->ep, &port->cq->fid, FI_TRANSMIT | FI_RECV);
    return error ? error : fi_enable(port->ep);
}

static int make_slots(struct ofi_port *port, const struct fi_info *info)
{
    size_t size = (size_t)port->count * OFI_BUFFER;
    port->slots = calloc(port->count, sizeof *port->slots);
    port->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!port->slots || port->memory == MAP_FAILED) {
        port->memory = NULL;
        return -FI_ENOMEM;
    }
    for (unsigned i = 0; i < port->count; i++) {
        port->slots[i].data = port->memory + (size_t)i * OFI_BUFFER;
        port_give(port, &port->slots[i]);
    }
    if (!(info->domain_attr->mr_mode & FI_MR_LOCAL))
        return 0;
    int error =
        fi_mr_reg(port->domain, port->memory, size, FI_SEND | FI_RECV | FI_READ, 0, 0, 0, &port->mr, NULL);
    if (!error)
        port->descriptor = fi_mr_desc(port->mr);
    return error;
}

int port_open(struct ofi_port *port, struct fid_fabric *fabric, struct fi_info *info, unsigned slots,
              bool waits)
{
    port->count = slots;
    port->inject = info->tx_attr->inject_size;
    int error = open_endpoint(port, fabric, info, waits);
    if (!error)
        error = make_slots(port, info);
    if (error)
        port_close(port);
    return error;
}

static void shut(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

void port_close(struct ofi_port *port)
{
    shut(port->ep ? &port->ep->fid : NULL);
    shut(port->mr ? &port->mr->fid : NULL);
    shut(port->cq ? &port->cq->fid : NULL);
    shut(port->av ? &port->av->fid : NULL);
    shut(port->domain ? &port->domain->fid : NULL);
    if (port->memory)
        munmap(port->memory, (size_t)port->count * OFI_BUFFER);
    free(port->slots);
    memset(port, 0, sizeof *port);
}

struct ofi_slot *port_take(struct ofi_port *port)
{
    struct ofi_slot *slot = port->free;
    if (slot)
        port->free = slot->next;
    return slot;
}

void port_give(struct ofi_port *port, struct ofi_slot *slot)
{
    slot->context.use = SLOT_FREE;
    slot->next = port->free;
    port->free = slot;
}

ssize_t port_receive(struct ofi_port *port, struct ofi_slot *slot)
{
    slot->context.use = SLOT_RECEIVE;
    return fi_recv(port->ep, slot->data, OFI_BUFFER, port->descriptor, FI_ADDR_UNSPEC, &slot->context);
}

ssize_t port_send(struct ofi_port *port, struct ofi_slot *slot, size_t size, fi_addr_t to)
{
    if (size <= port->inject) {
        ssize_t result = fi_inject(port->ep, slot->data, size, to);
        if (result == 0)
            port_give(port, slot);
        return result;
    }
    slot->context.use = SLOT_SEND;
    return fi_send(port->ep, slot->data, size, port->descriptor, to, &slot->context);
}
