/* Opening and closing the verbs provider. Every node opens its device, registers its heap and makes its queue pairs;
 * the nodes tell each other where they are; each connects, and tries its own atomics; and when all say that they have, the
 * transport is open. What fails on one node is told to all in the same exchanges, so that nobody waits for it. */
#include "fabric/verbs_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- The node's own part ---- */

static void destroy(struct fabric_node *link)
{
    verbs_free_threads(link);
    if (link->mr)
        ibv_dereg_mr(link->mr);
    if (link->pd)
        ibv_dealloc_pd(link->pd);
    verbs_close_device(&link->device);
    free(link);
}

static int register_heap(struct fabric_node *link, size_t size, struct verbs_trouble *trouble)
{
    unsigned access =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    if (link->options.relaxed)
        access |= IBV_ACCESS_RELAXED_ORDERING;
    link->pd = ibv_alloc_pd(link->device.context);
    link->mr = link->pd ? ibv_reg_mr(link->pd, link->home, size, access) : NULL;
    if (link->mr)
        return 0;
    return verbs_trouble(trouble, REM_EPROVIDER, "%s does not register a heap of %zu KiB: %s%s",
                         link->device.name, size / 1024, strerror(errno),
                         errno == ENOMEM || errno == EPERM ? " (see ulimit -l)" : "");
}

static uint32_t power_of_two_up_to(uint32_t most)
{
    uint32_t power = 1;
    while (power <= most / 2)
        power *= 2;
    return power;
}

/* As asked for, or as the device can, of 128. All completions of a thread go to one queue. */
static int settle_depth(struct fabric_node *link, struct verbs_trouble *trouble)
{
    const struct ibv_device_attr *can = &link->device.attributes;
    uint32_t requests = (uint32_t)can->max_qp_wr, entries = (uint32_t)can->max_cqe / link->nodes;
    uint32_t most = power_of_two_up_to(requests < entries ? requests : entries);
    uint32_t wish = link->options.depth == VERBS_ANY ? 128 : (uint32_t)link->options.depth;
    link->depth = link->options.depth == VERBS_ANY && most < wish ? most : wish;
    if (link->depth >= VERBS_LEAST_DEPTH && link->depth <= most)
        return 0;
    return verbs_trouble(trouble, REM_EPROVIDER,
                         "%s has room for %u requests towards each of %u nodes, and %u are needed",
                         link->device.name, most, link->nodes,
                         link->depth < VERBS_LEAST_DEPTH ? VERBS_LEAST_DEPTH : link->depth);
}

/* A card says that a peer is dead after (retry + 1) timeouts, or up to four times that. One that has not in four times as long again
 * has lost the operation. */
static uint64_t patience(const struct verbs_options *options)
{
    return 16 * ((uint64_t)options->retry + 1) * (UINT64_C(4096) << options->timeout);
}

static int set_up(struct fabric_node *link, const struct rem_node *node, struct verbs_trouble *trouble)
{
    int error = verbs_read_options(&link->options, trouble);
    if (!error)
        error = verbs_open_device(&link->device, &link->options, node->self, trouble);
    link->patience = patience(&link->options);
    if (!error)
        error = settle_depth(link, trouble);
    if (!error)
        error = register_heap(link, node->heap_size, trouble);
    if (!error)
        error = verbs_make_threads(link, trouble);
    for (unsigned t = 0; t < link->threads && !error; t++) {
        link->thread[t]->node = link->node;
        link->thread[t]->top = &link->node->heap.top;
    }
    return error;
}

/* ---- Addresses ---- */

static uint16_t at_once(const struct fabric_node *link, int device)
{
    int most = device < link->options.reads ? device : link->options.reads;
    return (uint16_t)(most > 0 ? most : 1);
}

static void describe(const struct fabric_node *link, struct verbs_address *mine)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint32_t)rem_clock();
    const struct verbs_device *device = &link->device;
    mine->base = (uintptr_t)link->home;
    mine->rkey = link->mr->rkey;
    mine->psn = random & 0xffffff;
    mine->gid = device->gid;
    mine->lid = device->port_attributes.lid;
    mine->mtu = (uint16_t)device->mtu;
    mine->ethernet = device->ethernet;
    mine->initiates = at_once(link, device->attributes.max_qp_init_rd_atom);
    mine->answers = at_once(link, device->attributes.max_qp_rd_atom);
}

/* What a node gives: its address, then the numbers of its queue pairs by thread and node. */
static size_t card_size(const struct fabric_node *link)
{
    return sizeof(struct verbs_address) + (size_t)link->threads * link->nodes * sizeof(uint32_t);
}

static struct verbs_address *card_of(const struct fabric_node *link, char *cards, unsigned n)
{
    return (struct verbs_address *)(void *)(cards + n * card_size(link));
}

static void write_card(const struct fabric_node *link, struct verbs_address *mine)
{
    uint32_t *numbers = (uint32_t *)(void *)(mine + 1);
    describe(link, mine);
    for (unsigned t = 0; t < link->threads; t++)
        for (unsigned n = 0; n < link->nodes; n++)
            numbers[t * link->nodes + n] = link->thread[t]->queue[n].qp->qp_num;
}

/* All hear of the first node in trouble, and have its words. */
static int share_trouble(struct rem_node *node, unsigned peer, const struct verbs_trouble *trouble)
{
    if (trouble->code)
        job_fail(node, trouble->code, peer, trouble->text);
    return trouble->code;
}

/* ---- Opening ---- */

static int connect_all(struct fabric_node *link, struct rem_node *node, char *cards,
                       struct verbs_trouble *trouble)
{
    struct verbs_address *mine = card_of(link, cards, node->self);
    int error = 0;
    for (unsigned n = 0; n < node->nodes && !error; n++) {
        struct verbs_address *peer = card_of(link, cards, n);
        error = verbs_connect(link, mine, n, peer, (uint32_t *)(void *)(peer + 1), trouble);
    }
    return error ? error : verbs_self_test(link, trouble);
}

/* Tells the others how it went here: the first trouble of all. */
static int agree(struct rem_node *node, const struct verbs_trouble *trouble)
{
    struct verbs_trouble *all = calloc(node->nodes, sizeof *all);
    if (!all)
        return REM_ENOMEM;
    int error = node->wire->exchange(node, trouble, sizeof *trouble, all);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        error = share_trouble(node, n, &all[n]);
    free(all);
    return error;
}

static int meet(struct fabric_node *link, struct rem_node *node, struct verbs_address *mine, char *cards)
{
    int error = node->wire->exchange(node, mine, card_size(link), cards);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        error = share_trouble(node, n, &card_of(link, cards, n)->trouble);
    if (error)
        return error;
    struct verbs_trouble trouble = {0};
    connect_all(link, node, cards, &trouble);
    return agree(node, &trouble);
}

static struct fabric_node *new_link(struct rem_node *node)
{
    unsigned threads = node->threads + (node->memory ? 0 : NODE_INNER_THREADS);
    struct fabric_node *link = calloc(1, sizeof *link + threads * sizeof link->thread[0]);
    if (!link)
        return NULL;
    link->node = node;
    link->home = node->home;
    link->self = node->self;
    link->nodes = node->nodes;
    link->threads = threads;
    return link;
}

/* To the others, whatever has happened here. */
static int open_link(struct fabric_node *link, struct rem_node *node, struct verbs_address *mine, char *cards)
{
    if (set_up(link, node, &mine->trouble) == 0)
        write_card(link, mine);
    return meet(link, node, mine, cards);
}

int verbs_open(struct rem_node *node)
{
    struct fabric_node *link = new_link(node);
    struct verbs_address *mine = link ? calloc(1, card_size(link)) : NULL;
    char *cards = link ? calloc(node->nodes, card_size(link)) : NULL;
    int error = mine && cards ? open_link(link, node, mine, cards) : REM_ENOMEM;
    if (error == REM_ENOMEM)
        job_fail(node, error, node->self, NULL);
    free(mine);
    free(cards);
    if (error && link)
        destroy(link);
    node->link = error ? NULL : link;
    return error;
}

void verbs_close(struct rem_node *node)
{
    destroy(node->link);
    node->link = NULL;
}
