/* The node's server: a thread that executes what others ask of this node's memory, so that nobody waits for the node
 * to call in. (Section 2 of the specification: the network card at the target.)
 *
 * It sleeps until something comes, and then looks out for more for a moment (REMORA_OFI_WATCH), since waking up takes
 * longer than all the rest; but not where it would keep a program from computing. Messages of a queue pair are executed in the order of their numbers:
 * libfabric is asked to deliver them so, and one that comes out of its turn all the same is held until its turn. */
#include "fabric/ofi_intern.h"
#include "job/futex.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECEIVES = 128,
    BATCH = 16,
    SERVER_NAP = 50000,
    SLEEP_LIMIT = 100 /* milliseconds */,
    PUSHED = 500000, /* nanoseconds */
    MODESTY = 200000000
};

/* A thread of another node. */
struct peer {
    fi_addr_t address; /* FI_ADDR_NOTAVAIL: it has not introduced itself */
    uint64_t expected; /* the number of its next message */
};

struct list {
    struct ofi_slot *first, **end;
};

struct ofi_server {
    struct fabric_node *link;
    pthread_t id;
    bool started;
    atomic_bool stop;
    struct list waiting;     /* received, to be executed */
    struct list held;        /* received before their turn */
    struct list dry;         /* libfabric did not take them back for receiving */
    struct ofi_slot *unsent; /* a reply that libfabric has not taken yet */
    size_t unsent_size;
    fi_addr_t unsent_to;
    uint64_t watch_until;           /* looks without a rest until then */
    uint64_t modest_until;          /* until then, only for a moment after each sleep */
    uint64_t looked;                /* when it did last */
    atomic_uint executed, sleepers; /* server_nap */
    struct peer peers[];
};

static void append(struct list *list, struct ofi_slot *slot)
{
    slot->next = NULL;
    *list->end = slot;
    list->end = &slot->next;
}

static struct ofi_slot *take_first(struct list *list)
{
    struct ofi_slot *slot = list->first;
    list->first = slot->next;
    if (!list->first)
        list->end = &list->first;
    return slot;
}

static void receive_again(struct ofi_server *server, struct ofi_slot *slot)
{
    if (port_receive(&server->link->port, slot) != 0)
        append(&server->dry, slot);
}

/* ---- One message ---- */

static const struct message_head *head_of(const struct ofi_slot *slot)
{
    return (const struct message_head *)(const void *)slot->data;
}

static bool is_ours(const struct ofi_server *server, const struct ofi_slot *slot)
{
    const struct message_head *head = head_of(slot);
    unsigned senders = server->link->node->nodes * server->link->threads;
    return slot->size >= sizeof *head && head->secret == server->link->secret && head->sender < senders;
}

/* Inside the heap, and where it must be, aligned. Senders have checked; this is for what no sender sends. */
static bool is_sound(const struct ofi_server *server, const struct message_item *item, size_t left)
{
    size_t size = item->kind == FABRIC_PUT || item->kind == FABRIC_GET ? item->size : sizeof(uint64_t);
    size_t heap = server->link->node->heap_size;
    bool word = item->kind != FABRIC_PUT && item->kind != FABRIC_GET;
    return size <= heap && item->offset <= heap - size && operand_size(item) <= left &&
           !(word && item->offset % 8);
}

/* The bytes of results. */
static size_t execute_items(struct ofi_server *server, const struct ofi_slot *slot, unsigned char *results)
{
    const unsigned char *at = slot->data + sizeof(struct message_head), *end = slot->data + slot->size;
    size_t done = 0;
    for (unsigned i = 0; i < head_of(slot)->count; i++) {
        struct message_item item;
        if ((size_t)(end - at) < sizeof item)
            break;
        memcpy(&item, at, sizeof item);
        at += sizeof item;
        if (!is_sound(server, &item, (size_t)(end - at)) ||
            done + result_size(&item) > OFI_BUFFER - sizeof(struct message_head))
            break;
        ofi_execute(server->link->node->home, &item, at, results + done);
        at += operand_size(&item);
        done += result_size(&item);
    }
    return done;
}

static void greet(struct ofi_server *server, struct peer *peer, const struct ofi_slot *slot)
{
    unsigned char name[OFI_NAME] = {0};
    size_t size = slot->size - sizeof(struct message_head);
    memcpy(name, slot->data + sizeof(struct message_head), size < OFI_NAME ? size : OFI_NAME);
    if (fi_av_insert(server->link->port.av, name, 1, &peer->address, 0, NULL) != 1)
        peer->address = FI_ADDR_NOTAVAIL;
}

static bool send_unsent(struct ofi_server *server)
{
    ssize_t result = port_send(&server->link->port, server->unsent, server->unsent_size, server->unsent_to);
    if (result == -FI_EAGAIN)
        return false;
    if (result != 0) /* the asker is gone */
        port_give(&server->link->port, server->unsent);
    server->unsent = NULL;
    return true;
}

static void reply(struct ofi_server *server, struct peer *peer, const struct message_head *asked,
                  struct ofi_slot *slot, size_t results)
{
    struct message_head head = {.secret = server->link->secret,
                                .sender = server->link->node->self,
                                .kind = MESSAGE_REPLY,
                                .number = asked->number};
    memcpy(slot->data, &head, sizeof head);
    server->unsent = slot;
    server->unsent_size = sizeof head + results;
    server->unsent_to = peer->address;
    send_unsent(server);
}

static void wake_sleepers(struct ofi_server *server)
{
    if (atomic_load(&server->sleepers) == 0)
        return;
    atomic_fetch_add(&server->executed, 1);
    futex_wake(&server->executed, INT_MAX);
}

static void execute(struct ofi_server *server, struct peer *peer, const struct ofi_slot *slot,
                    struct ofi_slot *answer)
{
    const struct message_head *head = head_of(slot);
    OFI_RECEIVES(server->link->node);
    size_t results = execute_items(server, slot, answer->data + sizeof *head);
    OFI_SENDS(server->link->node);
    wake_sleepers(server);
    if (peer->address != FI_ADDR_NOTAVAIL && (results || head->kind == MESSAGE_CONFIRM))
        reply(server, peer, head, answer, results);
    else
        port_give(&server->link->port, answer);
}

/* False: not now, for want of room for the reply. */
static bool handle(struct ofi_server *server, struct ofi_slot *slot)
{
    const struct message_head *head = head_of(slot);
    if (!is_ours(server, slot)) {
        receive_again(server, slot);
        return true;
    }
    struct peer *peer = &server->peers[head->sender];
    if (head->number != peer->expected) {
        append(&server->held, slot);
        return true;
    }
    struct ofi_slot *answer = server->unsent ? NULL : port_take(&server->link->port);
    if (!answer)
        return false;
    peer->expected++;
    if (head->kind == MESSAGE_HELLO) {
        greet(server, peer, slot);
        port_give(&server->link->port, answer);
    } else {
        execute(server, peer, slot, answer);
    }
    receive_again(server, slot);
    return true;
}

/* Messages that were early are looked at again after each that was not. */
static void requeue_held(struct ofi_server *server)
{
    if (!server->held.first)
        return;
    *server->held.end = server->waiting.first;
    if (!server->waiting.first)
        server->waiting.end = server->held.end;
    server->waiting.first = server->held.first;
    server->held = (struct list){NULL, &server->held.first};
}

static void work_off(struct ofi_server *server)
{
    if (server->unsent && !send_unsent(server))
        return;
    while (server->waiting.first) {
        struct ofi_slot *slot = server->waiting.first;
        uint64_t number = head_of(slot)->number;
        unsigned sender = head_of(slot)->sender;
        bool in_turn = is_ours(server, slot) && server->peers[sender].expected == number;
        take_first(&server->waiting);
        if (!handle(server, slot)) {
            slot->next = server->waiting.first;
            server->waiting.first = slot;
            if (!slot->next)
                server->waiting.end = &slot->next;
            return;
        }
        if (in_turn)
            requeue_held(server);
    }
}

/* ---- What libfabric brings ---- */

static void take_completion(struct ofi_server *server, const struct fi_cq_msg_entry *entry)
{
    struct ofi_slot *slot = entry->op_context;
    if (slot->context.use == SLOT_SEND) {
        port_give(&server->link->port, slot);
        return;
    }
    slot->size = entry->len;
    append(&server->waiting, slot);
}

/* Of one that asks: it has died, or gone. The launcher or its own neighbours know better than this node. */
static void take_error(struct ofi_server *server)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(server->link->port.cq, &entry, 0) != 1 || !entry.op_context)
        return;
    struct ofi_slot *slot = entry.op_context;
    if (slot->context.use == SLOT_SEND) {
        port_give(&server->link->port, slot);
    } else if (entry.err != FI_ECANCELED) {
        append(&server->dry, slot);
    }
}

static void refill(struct ofi_server *server)
{
    struct list dry = server->dry;
    if (!dry.first)
        return;
    server->dry = (struct list){NULL, &server->dry.first};
    while (dry.first) {
        struct ofi_slot *slot = dry.first;
        dry.first = slot->next;
        receive_again(server, slot);
    }
}

static bool is_stuck(const struct ofi_server *server)
{
    return server->unsent || server->waiting.first || server->dry.first;
}

/* ---- Rest ---- */

/* Who is pushed aside for long while it only watches takes the processor from somebody who computes, and will get it back
 * late: it had better sleep now and then, since a sleeper that is woken gets it at once. (Others who wake for a moment
 * don't count.) */
static void notice_pushes(struct ofi_server *server, uint64_t now)
{
    if (server->watch_until && now - server->looked > PUSHED) {
        server->modest_until = now + MODESTY;
        server->watch_until = 0;
    }
    server->looked = now;
}

static void sleep_until_called(struct ofi_server *server)
{
    struct ofi_port *port = &server->link->port;
    struct fid *queue = &port->cq->fid;
    struct pollfd called = {.fd = port->wait, .events = POLLIN};
    if (port->wait < 0)
        nanosleep(&(struct timespec){0, SERVER_NAP}, NULL);
    else if (fi_trywait(server->link->fabric, &queue, 1) != 0 || poll(&called, 1, SLEEP_LIMIT) > 0) {
        server->looked = rem_clock();
        server->watch_until = server->looked + server->link->watch;
    }
}

static ssize_t look(struct ofi_server *server, struct fi_cq_msg_entry *entries, bool may_rest)
{
    ssize_t result = fi_cq_read(server->link->port.cq, entries, BATCH);
    uint64_t now = rem_clock();
    notice_pushes(server, now);
    if (result > 0 && now >= server->modest_until)
        server->watch_until = now + server->link->watch;
    if (result != -FI_EAGAIN || !may_rest || now < server->watch_until)
        return result;
    server->watch_until = 0;
    sleep_until_called(server);
    return result;
}

static void *serve(void *argument)
{
    struct ofi_server *server = argument;
    struct fi_cq_msg_entry entries[BATCH];
    while (!atomic_load_explicit(&server->stop, memory_order_acquire)) {
        ssize_t count = look(server, entries, !is_stuck(server));
        for (ssize_t i = 0; i < count; i++)
            take_completion(server, &entries[i]);
        if (count == -FI_EAVAIL)
            take_error(server);
        refill(server);
        work_off(server);
    }
    return NULL;
}

/* ---- From outside ---- */

int server_start(struct fabric_node *link)
{
    unsigned peers = link->node->nodes * link->threads;
    struct ofi_server *server = calloc(1, sizeof *server + peers * sizeof *server->peers);
    if (!server) {
        job_fail(link->node, REM_ENOMEM, link->node->self, NULL);
        return REM_ENOMEM;
    }
    server->link = link;
    server->waiting.end = &server->waiting.first;
    server->held.end = &server->held.first;
    server->dry.end = &server->dry.first;
    for (unsigned i = 0; i < peers; i++)
        server->peers[i].address = FI_ADDR_NOTAVAIL;
    for (unsigned i = 0; i < RECEIVES; i++)
        receive_again(server, port_take(&link->port));
    link->server = server;
    server->started = pthread_create(&server->id, NULL, serve, server) == 0;
    if (server->started)
        return 0;
    job_fail(link->node, REM_ENOMEM, link->node->self, NULL);
    return REM_ENOMEM;
}

void server_stop(struct fabric_node *link)
{
    struct ofi_server *server = link->server;
    if (!server)
        return;
    if (server->started) {
        atomic_store_explicit(&server->stop, true, memory_order_release);
        if (link->port.wait >= 0)
            fi_cq_signal(link->port.cq);
        pthread_join(server->id, NULL);
    }
    link->server = NULL;
    free(server);
}

unsigned server_announce(struct fabric_node *link)
{
    atomic_fetch_add(&link->server->sleepers, 1);
    return atomic_load(&link->server->executed);
}

void server_retract(struct fabric_node *link)
{
    atomic_fetch_sub(&link->server->sleepers, 1);
}

unsigned server_nap(struct fabric_node *link, unsigned seen, uint64_t nanoseconds)
{
    futex_wait(&link->server->executed, seen, nanoseconds);
    return atomic_load(&link->server->executed);
}

void server_wake(struct fabric_node *link)
{
    wake_sleepers(link->server);
}
