/* Which of libfabric's providers and interfaces a job uses. docs/ofi.md has the table. */
#include "fabric/ofi_intern.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The automatic choice, best first. `net` is never in it: see docs/ofi.md. */
static const char *const everywhere[] = {"cxi",           "efa",         "opx",     "psm3", "psm2",
                                         "verbs;ofi_rxm", "tcp;ofi_rxm", "sockets", NULL};
static const char *const here[] = {"tcp;ofi_rxm", "sockets", "shm", NULL};

static const struct {
    const char *given, *meant;
} short_names[] = {{"tcp", "tcp;ofi_rxm"}, {"verbs", "verbs;ofi_rxm"}, {"udp", "udp;ofi_rxd"}};

static const char *full_name(const char *name)
{
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strcmp(name, short_names[i].given) == 0)
            return short_names[i].meant;
    return name;
}

/* What is asked for: messages in the order of sending, and remote reads. Everything else is built on these. */
static struct fi_info *hints_for(const char *provider)
{
    struct fi_info *hints = fi_allocinfo();
    if (!hints)
        return NULL;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->size = hints->rx_attr->size = OFI_QUEUE; /* not more: rxm sets aside 16 KiB for each */
    hints->fabric_attr->prov_name = strdup(provider);
    return hints;
}

static bool is_loopback(const struct fi_info *info)
{
    const struct sockaddr *address = info->src_addr;
    if (!address || (info->addr_format != FI_SOCKADDR && info->addr_format != FI_SOCKADDR_IN))
        return false;
    return address->sa_family == AF_INET &&
           ntohl(((const struct sockaddr_in *)info->src_addr)->sin_addr.s_addr) >> 24 == 127;
}

static bool is_internet(const struct fi_info *info)
{
    return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
           info->addr_format == FI_SOCKADDR_IN6;
}

static bool is_ipv4(const struct fi_info *info)
{
    const struct sockaddr *address = info->src_addr;
    return address && address->sa_family == AF_INET;
}

/* The interface's name or its address in digits. */
static bool is_called(const struct fi_info *info, const char *interface)
{
    char digits[INET_ADDRSTRLEN];
    if (info->domain_attr->name && strcmp(info->domain_attr->name, interface) == 0)
        return !is_internet(info) || is_ipv4(info);
    return is_internet(info) && is_ipv4(info) &&
           inet_ntop(AF_INET, &((const struct sockaddr_in *)info->src_addr)->sin_addr, digits,
                     sizeof digits) &&
           strcmp(digits, interface) == 0;
}

/* Addresses of a network are IPv4: loopback when nobody else need reach it, and never when somebody must. */
static bool suits(const struct fi_info *info, bool one_machine, const char *interface)
{
    if (interface)
        return is_called(info, interface);
    if (!is_internet(info))
        return true;
    return is_ipv4(info) && is_loopback(info) == one_machine;
}

static struct fi_info *find(const char *provider, bool one_machine, const char *interface)
{
    struct fi_info *hints = hints_for(provider), *all = NULL, *found = NULL;
    if (hints && fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &all) == 0) {
        for (struct fi_info *info = all; info && !found; info = info->next)
            if (suits(info, one_machine, interface))
                found = fi_dupinfo(info);
        fi_freeinfo(all);
    }
    if (hints)
        fi_freeinfo(hints);
    return found;
}

struct fi_info *ofi_choose(bool one_machine, char *text, size_t size)
{
    const char *name = getenv("REMORA_OFI_PROVIDER"), *interface = getenv("REMORA_OFI_INTERFACE");
    const char *given[] = {name && *name ? full_name(name) : NULL, NULL};
    const char *const *names = given[0] ? given : one_machine ? here : everywhere;
    interface = interface && *interface ? interface : NULL;
    struct fi_info *info = NULL;
    for (; *names && !info; names++)
        info = find(*names, one_machine, interface);
    if (!info)
        snprintf(
            text, size, "libfabric has no %s here%s%s that passes messages in order and reads remote memory",
            given[0] ? given[0] : "provider", interface ? " on interface " : "", interface ? interface : "");
    return info;
}
