/* Opening and closing the verbs provider. Every node opens its device, registers its heap and makes its queue pairs;
 * the nodes tell each other where they are; each connects, and tries its own atomics; and when all say that they have, the
 * transport is open. What fails on one node is told to all in the same exchanges, so that nobody waits for it. */
#include "fabric/verbs_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Nodes of one process are closed one after another, but a node that has been closed must still answer: so what is
 * theirs is destroyed when the last has been closed. */
struct verbs_group {
    pthread_mutex_t mutex;
    unsigned open;
    struct fabric_node *closed;
};

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

static int set_up(struct fabric_node *link, const struct rem_node *node, struct verbs_trouble *trouble)
{
    int error = verbs_read_options(&link->options, trouble);
    if (!error)
        error = verbs_open_device(&link->device, &link->options, node->self, trouble);
    if (!error)
        error = settle_depth(link, trouble);
    if (!error)
        error = register_heap(link, node->heap_size, trouble);
    if (!error)
        error = verbs_make_threads(link, trouble);
    for (unsigned t = 0; t < node->threads && !error; t++) {
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
static size_t card_size(const struct rem_node *node)
{
    return sizeof(struct verbs_address) + (size_t)node->threads * node->nodes * sizeof(uint32_t);
}

static struct verbs_address *card_of(const struct rem_node *node, char *cards, unsigned n)
{
    return (struct verbs_address *)(void *)(cards + n * card_size(node));
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

static bool in_one_process(const struct rem_node *node)
{
    return node->mapping && atomic_load(&node->mapping->users) > 1;
}

static struct verbs_group *new_group(unsigned nodes)
{
    struct verbs_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    pthread_mutex_init(&group->mutex, NULL);
    group->open = nodes;
    return group;
}

/* ---- Opening ---- */

static int connect_all(struct fabric_node *link, struct rem_node *node, char *cards,
                       struct verbs_trouble *trouble)
{
    struct verbs_address *mine = card_of(node, cards, node->self);
    int error = 0;
    for (unsigned n = 0; n < node->nodes && !error; n++) {
        struct verbs_address *peer = card_of(node, cards, n);
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
    int error = node->wire->exchange(node, mine, card_size(node), cards);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        error = share_trouble(node, n, &card_of(node, cards, n)->trouble);
    if (error)
        return error;
    link->group = card_of(node, cards, 0)->group;
    struct verbs_trouble trouble = {0};
    connect_all(link, node, cards, &trouble);
    return agree(node, &trouble);
}

static struct fabric_node *new_link(struct rem_node *node)
{
    struct fabric_node *link = calloc(1, sizeof *link + node->threads * sizeof link->thread[0]);
    if (!link)
        return NULL;
    link->node = node;
    link->home = node->home;
    link->self = node->self;
    link->nodes = node->nodes;
    link->threads = node->threads;
    return link;
}

/* To the others, whatever has happened here. */
static int open_link(struct fabric_node *link, struct rem_node *node, struct verbs_address *mine, char *cards)
{
    if (set_up(link, node, &mine->trouble) == 0)
        write_card(link, mine);
    if (node->self == 0 && node->nodes > 1 && in_one_process(node) && !(mine->group = new_group(node->nodes)))
        verbs_trouble(&mine->trouble, REM_ENOMEM, "out of memory");
    int error = meet(link, node, mine, cards);
    if (error && mine->group && link->group != mine->group)
        free(mine->group);
    return error;
}

/* The node does without what it had, at once or when nobody in the process needs it any more. */
static void leave(struct fabric_node *link)
{
    struct verbs_group *group = link->group;
    if (!group) {
        destroy(link);
        return;
    }
    pthread_mutex_lock(&group->mutex);
    link->next = group->closed;
    group->closed = link;
    bool last = --group->open == 0;
    pthread_mutex_unlock(&group->mutex);
    if (!last)
        return;
    while ((link = group->closed)) {
        group->closed = link->next;
        destroy(link);
    }
    pthread_mutex_destroy(&group->mutex);
    free(group);
}

int verbs_open(struct rem_node *node)
{
    struct fabric_node *link = new_link(node);
    struct verbs_address *mine = calloc(1, card_size(node));
    char *cards = calloc(node->nodes, card_size(node));
    int error = link && mine && cards ? open_link(link, node, mine, cards) : REM_ENOMEM;
    if (error == REM_ENOMEM)
        job_fail(node, error, node->self, NULL);
    free(mine);
    free(cards);
    if (error && link)
        leave(link);
    node->link = error ? NULL : link;
    return error;
}

/* A node answers until all have come here; then nobody asks any more. */
void verbs_close(struct rem_node *node)
{
    if (!node->link->group && node->nodes > 1)
        node->wire->barrier(node);
    leave(node->link);
    node->link = NULL;
}
