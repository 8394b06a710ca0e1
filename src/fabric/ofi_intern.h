/* The ofi provider's parts: a port is an endpoint with its buffers; a node has one that serves, each thread one
 * that asks. */
#ifndef REMORA_FABRIC_OFI_INTERN_H
#define REMORA_FABRIC_OFI_INTERN_H

#include "fabric/ofi_message.h"
#include "job/node.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

/* What one thread sends and another receives happens in this order, which the thread sanitizer can't see: it goes
 * through the kernel. One name for all of a job: the nodes of one process share the control block. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define OFI_UNDER_TSAN
#endif
#endif
#if defined __SANITIZE_THREAD__ || defined OFI_UNDER_TSAN
#include <sanitizer/tsan_interface.h>
#define OFI_SENDS(node) __tsan_release((node)->control)
#define OFI_RECEIVES(node) __tsan_acquire((node)->control)
#else
#define OFI_SENDS(node) ((void)(node))
#define OFI_RECEIVES(node) ((void)(node))
#endif

enum {
    OFI_PAYLOAD = 4096, /* bytes of a put that go into one message, and of a get into one read */
    OFI_BUFFER = OFI_PAYLOAD + 128,
    OFI_QUEUE = 128, /* operations that an endpoint can have outstanding in each direction */
    OFI_NAME = 256,  /* bytes of an endpoint's address, at most */
    OFI_PROVIDER_NAME = 32
};

/* ---- Choosing (ofi_choose.c) ---- */

/* The provider and interface for the node: null if there is none, and why in `text`. one_machine: all nodes of the
 * job are on it. */
struct fi_info *ofi_choose(bool one_machine, char *text, size_t size);

/* ---- Ports (ofi_port.c) ---- */

enum slot_use { SLOT_FREE, SLOT_RECEIVE, SLOT_SEND, SLOT_READ, ENTRY_READ };

/* What libfabric gives back with a completion; its own words first. */
struct ofi_context {
    struct fi_context2 words;
    enum slot_use use;
    unsigned node; /* that it was for */
};

/* A buffer. */
struct ofi_slot {
    struct ofi_context context;
    struct ofi_slot *next;
    struct ofi_entry *entry; /* SLOT_READ: the get that it is a piece of, and where the piece goes */
    char *local;
    size_t size; /* bytes received, or read, from data + shift on */
    size_t shift;
    unsigned char *data; /* OFI_BUFFER bytes */
};

struct ofi_port {
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_mr *mr; /* of the slots, where the provider wants it */
    void *descriptor;
    size_t inject;
    int wait; /* a descriptor that becomes readable when there is something to do; -1: there is none */
    struct ofi_slot *slots, *free;
    unsigned count;
    unsigned char *memory;
};

/* 0 or a negative errno of libfabric's. `waits`: somebody will want to sleep until something comes. */
int port_open(struct ofi_port *port, struct fid_fabric *fabric, struct fi_info *info, unsigned slots,
              bool waits);
void port_close(struct ofi_port *port);

struct ofi_slot *port_take(struct ofi_port *port); /* null: none is free */
void port_give(struct ofi_port *port, struct ofi_slot *slot);
ssize_t port_receive(struct ofi_port *port, struct ofi_slot *slot);

/* Sends the slot's first `size` bytes. On success the port gives the slot back by itself (SLOT_SEND completes). */
ssize_t port_send(struct ofi_port *port, struct ofi_slot *slot, size_t size, fi_addr_t to);

/* ---- The node (ofi_node.c) ---- */

/* What nodes tell each other. */
struct ofi_card {
    char provider[OFI_PROVIDER_NAME];
    unsigned char name[OFI_NAME];
    uint64_t name_size, key, base; /* base: what the first byte of the heap is called in remote reads */
};

struct fabric_node {
    struct rem_node *node;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_mr *heap; /* for remote reads */
    uint64_t secret;
    uint64_t watch;   /* nanoseconds that the server looks out for more after something has come */
    unsigned threads; /* the most that may be attached here */
    struct ofi_port port;
    struct ofi_server *server;
    struct ofi_deputy *deputy;
    struct ofi_card card[REM_MAX_NODES];
    pthread_mutex_t mutex;
    unsigned char taken[REM_MAX_THREADS + NODE_INNER_THREADS];
    struct fabric_thread
        *kept[REM_MAX_THREADS + NODE_INNER_THREADS]; /* of threads that have been attached before */
};

int ofi_open(struct rem_node *node);
void ofi_close(struct rem_node *node);

/* The job fails by what libfabric says. */
void ofi_fail(struct rem_node *node, unsigned peer, const char *doing, long error);

static inline unsigned ofi_thread_number(const struct fabric_node *link, unsigned node, unsigned index)
{
    return node * link->threads + index;
}

/* ---- Serving (ofi_serve.c) ---- */

int server_start(struct fabric_node *link);

void server_stop(struct fabric_node *link);

/* Somebody in this process waits for a word of this node's heap to change. announce, look once more, nap: it ends when
 * something has been executed since the last of these calls, or after that time. server_wake: something has been
 * executed, by another than the server. */
unsigned server_announce(struct fabric_node *link);
unsigned server_nap(struct fabric_node *link, unsigned seen, uint64_t nanoseconds);
void server_retract(struct fabric_node *link);
void server_wake(struct fabric_node *link);

/* ---- Executing (ofi_execute.c) ---- */

/* Executes the item on the heap; its result, if it has one, goes to `result`. */
void ofi_execute(char *heap, const struct message_item *item, const unsigned char *operand,
                 unsigned char *result);

/* ---- Threads (ofi_thread.c) ---- */

enum { OFI_DEPTH = 64, OFI_WORDS = 9 };

/* An operation of a queue pair. */
struct ofi_entry {
    struct ofi_context context;
    bool ready;            /* its result is here, or it has none */
    bool whole;            /* a long get: all pieces have been asked for */
    unsigned pieces;       /* that have not come */
    struct ofi_slot *held; /* that came before their turn */
    uint64_t number;       /* of the message that it went in, if it awaits a reply; else NO_MESSAGE */
    char *local;
    size_t size, shift; /* the result: `size` bytes at words + shift */
    uint64_t words[OFI_WORDS];
};

#define NO_MESSAGE UINT64_MAX

/* posted >= landed >= taken: counters of operations; the ring holds those from `taken` to `posted`. */
struct ofi_queue {
    unsigned node;
    fi_addr_t to;
    uint64_t posted, landed, taken;
    uint64_t sent, confirmed; /* messages; the node has executed all below `confirmed` */
    unsigned reads;           /* remote reads that have not come back */
    bool fence;               /* an rfence stands before the next operation */

    /* The message that is being filled, or held back. */
    struct ofi_slot *slot; /* null: none */
    size_t size;
    uint16_t count;
    bool answered;       /* it has results */
    uint64_t held_since; /* when its first put was posted, if nothing but puts is in it */
    uint64_t put_at;     /* when the last post ended, if it was of puts */
    unsigned score;      /* how often a post has followed a put at once, of late */
    struct fid_mr *mr;
    void *descriptor;
    struct ofi_entry ring[OFI_DEPTH];
};

/* A wait for something that only thread_progress brings. Zero it. */
struct ofi_wait {
    unsigned rounds;
    uint64_t since, last; /* when the waiting, and its last step, was */
};

struct fabric_thread {
    unsigned char *owes;
    struct rem_node *node;
    struct fabric_node *link;
    unsigned index;
    unsigned replies;                 /* messages that have not been answered */
    struct ofi_wait polls;            /* since something came */
    atomic_bool locked;               /* ofi_deputy.c */
    atomic_uint calls;                /* of the thread itself, counted for the deputy */
    atomic_uint unlanded;             /* operations */
    unsigned calls_seen;              /* the deputy's */
    _Atomic(struct ofi_queue *) held; /* whose message is held back */
    struct ofi_queue *put;            /* the last post was of puts, towards this one */
    bool looked_far;                  /* has posted since the last wait */
    const unsigned *failed;
    uint64_t drain; /* words for locked instructions: the thread's own, and of who lands results */
    atomic_uint landing;
    struct ofi_port port;
    struct ofi_queue *queue[REM_MAX_NODES];
};

int thread_attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **thread,
                  struct fabric_signals *signals);
void thread_detach(struct fabric_thread *thread);
void thread_free(struct fabric_thread *thread);

/* The queue towards the node, made if it is not there yet; null: no memory, and the job has failed. */
struct ofi_queue *thread_queue(struct fabric_thread *thread, unsigned node);

/* Takes what has come: how much. */
unsigned thread_progress(struct fabric_thread *thread);

/* A look at what has come, and a rest if it is nothing; false: the job has failed. */
bool thread_wait_step(struct fabric_thread *thread, struct ofi_wait *wait, unsigned peer);

/* A buffer of the port's, once one is free: what is under way towards other nodes may have them all. Null: the job
 * has failed. */
struct ofi_slot *thread_take_slot(struct fabric_thread *thread, unsigned peer);

/* Moves results whose turn it is to where they belong. */
void queue_land(struct fabric_thread *thread, struct ofi_queue *queue);

/* ---- Posting (ofi_post.c) ---- */

/* Sends the queue's message, waiting for room; false: the job has failed. draft_try: if there is room. */
bool draft_send(struct fabric_thread *thread, struct ofi_queue *queue);
bool draft_try(struct fabric_thread *thread, struct ofi_queue *queue);

int thread_post_chain(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count);

/* ---- Holding back (ofi_hold.c) ---- */

/* With the thread locked. before: a post towards the queue begins. after: it was of puts only, which are sent or held.
 * release: the thread does something else. False: the job has failed. expire: the thread has done nothing for a while. */
bool hold_before(struct fabric_thread *thread, struct ofi_queue *queue);
bool hold_after(struct fabric_thread *thread, struct ofi_queue *queue);
bool hold_release(struct fabric_thread *thread);
void hold_expire(struct fabric_thread *thread);

/* ---- The deputy (ofi_deputy.c) ---- */

/* A call of the thread's own begins and ends. */
void thread_lock(struct fabric_thread *thread);
void thread_unlock(struct fabric_thread *thread);

int deputy_start(struct fabric_node *link);
void deputy_stop(struct fabric_node *link);

/* There is something that may need it. */
void deputy_call(struct fabric_node *link);

#endif
