/* Opening and closing the ofi provider on a node: choice of provider, the port that serves, registration of the heap,
 * exchange of addresses and keys. */
#include "fabric/ofi_intern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { SERVER_SLOTS = 192 };

enum { LAUNCHER_NAPS = 50, LAUNCHER_NAP = 1000000 };

/* Who loses a connection may be the first to notice that a node has died; but if there is a launcher, it knows. */
static void let_launcher_speak(struct rem_node *node)
{
    for (unsigned i = 0; i < LAUNCHER_NAPS && node_failure(node) == 0; i++)
        nanosleep(&(struct timespec){0, LAUNCHER_NAP}, NULL);
}

/* The names for a connection that the other side has left are many; all others are here. */
static int kind_of(long error)
{
    switch (-error) {
    case FI_ENOMEM:
        return REM_ENOMEM;
    case FI_ETIMEDOUT:
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
    case FI_EIO:
        return REM_EUNREACHABLE;
    case FI_EINVAL:
    case FI_EACCES:
    case FI_EPERM:
    case FI_EOPNOTSUPP:
    case FI_ENOSYS:
    case FI_EMSGSIZE:
    case FI_ETOOSMALL:
    case FI_ETRUNC:
    case FI_ENOKEY:
    case FI_EADDRNOTAVAIL:
    case FI_EADDRINUSE:
    case FI_EMFILE:
        return REM_ETRANSPORT;
    default:
        return REM_EDEAD;
    }
}

void ofi_fail(struct rem_node *node, unsigned peer, const char *doing, long error)
{
    char text[FAILURE_TEXT];
    const struct fi_info *info = node->link ? node->link->info : NULL;
    snprintf(text, sizeof text, "libfabric%s%s: %s, node %u: %s", info ? " " : "",
             info ? info->fabric_attr->prov_name : "", doing, peer, fi_strerror((int)-error));
    int code = kind_of(error);
    if (code == REM_EDEAD)
        let_launcher_speak(node);
    job_fail(node, code, peer, text);
}

/* Two processes with the same bytes reach each other over loopback. */
struct place {
    char boot[40];
    uint64_t network;
};

static void find_place(struct place *place)
{
    struct stat status;
    memset(place, 0, sizeof *place);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        if (!fgets(place->boot, sizeof place->boot, file))
            place->boot[0] = '\0';
        fclose(file);
    }
    if (stat("/proc/self/ns/net", &status) == 0)
        place->network = (uint64_t)status.st_ino;
}

static int learn_whether_one_machine(struct rem_node *node, bool *one)
{
    struct place mine, all[REM_MAX_NODES];
    find_place(&mine);
    int error = node->wire->exchange(node, &mine, sizeof mine, all);
    *one = true;
    for (unsigned n = 0; n < node->nodes && !error; n++)
        *one = *one && memcmp(&all[n], &mine, sizeof mine) == 0;
    return error;
}

/* A key that nobody can guess; a provider that makes its own, or has no room for one, gives less. */
static int register_heap(struct fabric_node *link, uint64_t *key)
{
    const struct fi_domain_attr *domain = link->info->domain_attr;
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -FI_EOTHER;
    if (domain->mr_key_size < sizeof random)
        random &= (UINT64_C(1) << 8 * domain->mr_key_size) - 1;
    int error = fi_mr_reg(link->port.domain, link->node->home, link->node->heap_size, FI_REMOTE_READ, 0,
                          random, 0, &link->heap, NULL);
    if (!error && domain->mr_mode & FI_MR_ENDPOINT) {
        error = fi_mr_bind(link->heap, &link->port.ep->fid, 0);
        error = error ? error : fi_mr_enable(link->heap);
    }
    *key = error ? 0 : fi_mr_key(link->heap);
    return error;
}

static int fill_card(struct fabric_node *link, struct ofi_card *card)
{
    size_t size = sizeof card->name;
    memset(card, 0, sizeof *card);
    snprintf(card->provider, sizeof card->provider, "%s", link->info->fabric_attr->prov_name);
    int error = fi_getname(&link->port.ep->fid, card->name, &size);
    card->name_size = size;
    if (link->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
        card->base = (uint64_t)(uintptr_t)link->node->home;
    return error ? error : register_heap(link, &card->key);
}

static int exchange_cards(struct fabric_node *link, const struct ofi_card *mine)
{
    struct rem_node *node = link->node;
    int error = node->wire->exchange(node, mine, sizeof *mine, link->card);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        if (strcmp(link->card[n].provider, mine->provider) != 0) {
            char text[FAILURE_TEXT];
            snprintf(text, sizeof text,
                     "nodes %u and %u chose libfabric's %s and %s: set REMORA_OFI_PROVIDER", node->self, n,
                     mine->provider, link->card[n].provider);
            job_fail(node, error = REM_EPROVIDER, n, text);
        }
    return error;
}

static int open_port(struct fabric_node *link)
{
    struct ofi_card mine;
    const char *step = "fabric";
    int error = fi_fabric(link->info->fabric_attr, &link->fabric, NULL);
    if (!error) {
        step = "endpoint";
        error = port_open(&link->port, link->fabric, link->info, SERVER_SLOTS, true);
    }
    if (!error) {
        step = "registration of the heap";
        error = fill_card(link, &mine);
    }
    if (error) {
        ofi_fail(link->node, link->node->self, step, error);
        return node_failure(link->node);
    }
    return exchange_cards(link, &mine);
}

enum { WATCH = 100 /* microseconds */, WATCH_MOST = 1000000 };

static uint64_t watch_from_environment(void)
{
    const char *text = getenv("REMORA_OFI_WATCH");
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : WATCH;
    if (text && (end == text || *end || value > WATCH_MOST))
        value = WATCH;
    return value * UINT64_C(1000);
}

static int set_up(struct fabric_node *link)
{
    struct rem_node *node = link->node;
    char text[FAILURE_TEXT] = "";
    bool one_machine;
    int error = learn_whether_one_machine(node, &one_machine);
    if (error)
        return error;
    link->info = ofi_choose(one_machine, text, sizeof text);
    if (!link->info) {
        job_fail(node, REM_EPROVIDER, node->self, text);
        return REM_EPROVIDER;
    }
    link->watch = watch_from_environment();
    memcpy(&link->secret, node->control->secret, sizeof link->secret);
    error = open_port(link);
    if (!error)
        error = server_start(link);
    if (!error)
        error = deputy_start(link);
    return error ? error : node->wire->barrier(node);
}

static void tear_down(struct fabric_node *link)
{
    deputy_stop(link);
    server_stop(link);
    for (unsigned i = 0; i < link->threads; i++)
        if (link->kept[i])
            thread_free(link->kept[i]);
    if (link->heap)
        fi_close(&link->heap->fid);
    port_close(&link->port);
    if (link->fabric)
        fi_close(&link->fabric->fid);
    if (link->info)
        fi_freeinfo(link->info);
    pthread_mutex_destroy(&link->mutex);
    link->node->link = NULL;
    free(link);
}

int ofi_open(struct rem_node *node)
{
    struct fabric_node *link = calloc(1, sizeof *link);
    if (!link) {
        job_fail(node, REM_ENOMEM, node->self, NULL);
        return REM_ENOMEM;
    }
    link->node = node;
    link->threads = node->threads + NODE_INNER_THREADS;
    pthread_mutex_init(&link->mutex, NULL);
    node->link = link;
    int error = set_up(link);
    if (error)
        tear_down(link);
    return error;
}

void ofi_close(struct rem_node *node)
{
    tear_down(node->link);
}
