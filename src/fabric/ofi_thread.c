/* A thread's side of the ofi provider: its endpoint, its queue pairs, what comes back. (Section 2 of the specification:
 * wbL, polls.)
 *
 * Results are stored by the thread itself, or its deputy, in the order of posting: queue_land moves those whose turn it is, and only
 * what has landed is a completion. Then a locked instruction, so that no later load overtakes the store of a result. */
#include "fabric/ofi_intern.h"
#include "fabric/words.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD_SLOTS = 48, THREAD_RECEIVES = 32, BATCH = 8 };

/* ---- Landing ---- */

static void land_piece(struct fabric_thread *thread, struct ofi_slot *slot)
{
    words_copy(slot->local, slot->data + slot->shift, slot->size);
    port_give(&thread->port, slot);
}

/* Is all of it stored. */
static bool land_entry(struct fabric_thread *thread, struct ofi_entry *entry)
{
    while (entry->held) {
        struct ofi_slot *slot = entry->held;
        entry->held = slot->next;
        land_piece(thread, slot);
    }
    if (!entry->ready)
        return false;
    if (entry->size)
        words_copy(entry->local, (char *)entry->words + entry->shift, entry->size);
    return true;
}

void queue_land(struct fabric_thread *thread, struct ofi_queue *queue)
{
    bool stored = false;
    while (queue->landed != queue->posted) {
        struct ofi_entry *entry = &queue->ring[queue->landed % OFI_DEPTH];
        stored = stored || entry->size || entry->held;
        if (!land_entry(thread, entry))
            break;
        queue->landed++;
        atomic_fetch_sub_explicit(&thread->unlanded, 1, memory_order_relaxed);
    }
    if (stored)
        atomic_exchange(&thread->landing, 0);
}

/* ---- What comes ---- */

static void take_results(struct ofi_queue *queue, uint64_t number, const unsigned char *at,
                         const unsigned char *end)
{
    for (uint64_t i = queue->landed; i != queue->posted; i++) {
        struct ofi_entry *entry = &queue->ring[i % OFI_DEPTH];
        size_t size = (entry->shift + entry->size + 7) / 8 * 8;
        if (entry->number != number || entry->ready || (size_t)(end - at) < size)
            continue;
        memcpy(entry->words, at, size);
        at += size;
        entry->ready = true;
    }
}

static void take_reply(struct fabric_thread *thread, const struct ofi_slot *slot)
{
    struct message_head head;
    if (slot->size < sizeof head)
        return;
    memcpy(&head, slot->data, sizeof head);
    struct ofi_queue *queue = head.sender < thread->node->nodes ? thread->queue[head.sender] : NULL;
    if (head.secret != thread->link->secret || head.kind != MESSAGE_REPLY || !queue)
        return;
    thread->replies--;
    if (queue->confirmed <= head.number)
        queue->confirmed = head.number + 1;
    take_results(queue, head.number, slot->data + sizeof head, slot->data + slot->size);
    queue_land(thread, queue);
}

static void take_piece(struct fabric_thread *thread, struct ofi_slot *slot)
{
    struct ofi_queue *queue = thread->queue[slot->context.node];
    struct ofi_entry *entry = slot->entry;
    queue->reads--;
    entry->pieces--;
    entry->ready = entry->whole && entry->pieces == 0;
    slot->next = entry->held;
    entry->held = slot;
    queue_land(thread, queue);
}

static void take_words(struct fabric_thread *thread, struct ofi_entry *entry)
{
    struct ofi_queue *queue = thread->queue[entry->context.node];
    queue->reads--;
    entry->ready = true;
    queue_land(thread, queue);
}

static void take_completion(struct fabric_thread *thread, const struct fi_cq_msg_entry *completion)
{
    OFI_RECEIVES(thread->node);
    struct ofi_slot *slot = completion->op_context;
    switch (slot->context.use) {
    case SLOT_RECEIVE:
        slot->size = completion->len;
        take_reply(thread, slot);
        ssize_t result = port_receive(&thread->port, slot);
        if (result != 0)
            ofi_fail(thread->node, thread->node->self, "receive", result);
        break;
    case SLOT_SEND:
        port_give(&thread->port, slot);
        break;
    case SLOT_READ:
        take_piece(thread, slot);
        break;
    case ENTRY_READ:
        take_words(thread, completion->op_context);
        break;
    case SLOT_FREE:
        break;
    }
}

static void take_error(struct fabric_thread *thread)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(thread->port.cq, &entry, 0) != 1)
        return;
    const struct ofi_context *context = entry.op_context;
    unsigned peer = context && context->use != SLOT_RECEIVE ? context->node : thread->node->self;
    const char *doing = !context                       ? "completion"
                        : context->use == SLOT_RECEIVE ? "receive"
                        : context->use == SLOT_SEND    ? "send"
                                                       : "remote read";
    ofi_fail(thread->node, peer, doing, -entry.err);
}

unsigned thread_progress(struct fabric_thread *thread)
{
    struct fi_cq_msg_entry completions[BATCH];
    ssize_t count = fi_cq_read(thread->port.cq, completions, BATCH);
    for (ssize_t i = 0; i < count; i++)
        take_completion(thread, &completions[i]);
    if (count == -FI_EAVAIL)
        take_error(thread);
    else if (count < 0 && count != -FI_EAGAIN)
        ofi_fail(thread->node, thread->node->self, "completion queue", count);
    return count > 0 ? (unsigned)count : 0;
}

/* ---- Waiting for libfabric ---- */

enum {
    ROUNDS_A_CLOCK = 64, /* looks between two looks at the clock */
    SPIN = 500000,       /* nanoseconds of looking before the first nap: an answer takes some ten thousand */
    NAP = 20000,
    PAUSE = 1000000000 /* who comes so late was not waiting */
};

/* Looking again at once is what makes an answer quick; the server that is to give it sleeps until it is asked, and a
 * sleeper that wakes up gets the processor from who only looks. */
bool thread_wait_step(struct fabric_thread *thread, struct ofi_wait *wait, unsigned peer)
{
    if (thread_progress(thread)) {
        wait->rounds = 0;
        return true;
    }
    if (__atomic_load_n(thread->failed, __ATOMIC_RELAXED))
        return false;
    if (++wait->rounds % ROUNDS_A_CLOCK != 0)
        return true;
    uint64_t patience = thread->node->control->patience, now = rem_clock();
    if (wait->rounds == ROUNDS_A_CLOCK || now - wait->last > PAUSE)
        wait->since = now;
    wait->last = now;
    if (patience && now - wait->since > patience)
        ofi_fail(thread->node, peer, "no answer", -FI_ETIMEDOUT);
    if (now - wait->since > SPIN) {
        wait->rounds = 2 * ROUNDS_A_CLOCK - 1;
        nanosleep(&(struct timespec){0, NAP}, NULL);
    }
    return true;
}

struct ofi_slot *thread_take_slot(struct fabric_thread *thread, unsigned peer)
{
    struct ofi_wait wait = {0};
    struct ofi_slot *slot;
    while (!(slot = port_take(&thread->port)))
        if (!thread_wait_step(thread, &wait, peer))
            return NULL;
    return slot;
}

/* ---- Queues ---- */

/* The first message to the node: where its server finds this thread. */
static ssize_t write_hello(const struct fabric_thread *thread, struct ofi_slot *slot, unsigned node,
                           size_t *size)
{
    struct message_head head = {.secret = thread->link->secret,
                                .sender = ofi_thread_number(thread->link, thread->node->self, thread->index),
                                .kind = MESSAGE_HELLO};
    size_t name = OFI_NAME;
    memcpy(slot->data, &head, sizeof head);
    int error = fi_getname(&thread->port.ep->fid, slot->data + sizeof head, &name);
    slot->context.node = node;
    *size = sizeof head + (name + 7) / 8 * 8;
    return error;
}

static bool say_hello(struct fabric_thread *thread, struct ofi_queue *queue, unsigned node)
{
    struct ofi_slot *slot = thread_take_slot(thread, node);
    if (!slot)
        return false;
    size_t size;
    struct ofi_wait wait = {0};
    ssize_t result = write_hello(thread, slot, node, &size);
    if (result == 0)
        while ((result = port_send(&thread->port, slot, size, queue->to)) == -FI_EAGAIN)
            if (!thread_wait_step(thread, &wait, node))
                return false;
    if (result != 0)
        ofi_fail(thread->node, node, "greeting", result);
    queue->sent = 1;
    return result == 0;
}

static void drop_queue(struct ofi_queue *queue)
{
    if (queue->mr)
        fi_close(&queue->mr->fid);
    free(queue);
}

static int register_queue(struct fabric_thread *thread, struct ofi_queue *queue)
{
    if (!(thread->link->info->domain_attr->mr_mode & FI_MR_LOCAL))
        return 0;
    int error = fi_mr_reg(thread->port.domain, queue, sizeof *queue, FI_READ, 0, 0, 0, &queue->mr, NULL);
    if (!error)
        queue->descriptor = fi_mr_desc(queue->mr);
    return error;
}

struct ofi_queue *thread_queue(struct fabric_thread *thread, unsigned node)
{
    if (thread->queue[node])
        return thread->queue[node];
    struct ofi_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        job_fail(thread->node, REM_ENOMEM, node, NULL);
        return NULL;
    }
    queue->node = node;
    int error = register_queue(thread, queue);
    if (!error && fi_av_insert(thread->port.av, thread->link->card[node].name, 1, &queue->to, 0, NULL) != 1)
        error = -FI_EADDRNOTAVAIL;
    if (error)
        ofi_fail(thread->node, node, "address", error);
    if (error || !say_hello(thread, queue, node)) {
        drop_queue(queue);
        return NULL;
    }
    thread->queue[node] = queue;
    return queue;
}

/* ---- Attaching ---- */

void thread_free(struct fabric_thread *thread)
{
    for (unsigned n = 0; n < REM_MAX_NODES; n++)
        if (thread->queue[n])
            drop_queue(thread->queue[n]);
    port_close(&thread->port);
    free(thread);
}

static int new_thread(struct fabric_node *link, unsigned index)
{
    struct fabric_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return REM_ENOMEM;
    thread->node = link->node;
    thread->link = link;
    thread->index = index;
    thread->failed = (const unsigned *)&link->node->control->failed;
    ssize_t error = port_open(&thread->port, link->fabric, link->info, THREAD_SLOTS, false);
    for (unsigned i = 0; i < THREAD_RECEIVES && !error; i++)
        error = port_receive(&thread->port, port_take(&thread->port));
    if (error) {
        ofi_fail(link->node, link->node->self, "endpoint of a thread", error);
        port_close(&thread->port);
        free(thread);
        return node_failure(link->node);
    }
    __atomic_store_n(&link->kept[index], thread, __ATOMIC_RELEASE);
    return 0;
}

/* A thread that detaches leaves its endpoint to the next: the others know it by then. */
int thread_attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **result,
                  struct fabric_signals *signals)
{
    struct fabric_node *link = node->link;
    pthread_mutex_lock(&link->mutex);
    unsigned index = 0;
    while (index < link->threads && link->taken[index])
        index++;
    int error = index == link->threads ? REM_ETHREADS : link->kept[index] ? 0 : new_thread(link, index);
    if (!error)
        link->taken[index] = 1;
    pthread_mutex_unlock(&link->mutex);
    if (error)
        return error;
    static const unsigned nobody = 0;
    *result = link->kept[index];
    (*result)->owes = owes;
    *signals = (struct fabric_signals){(*result)->failed, &nobody};
    return 0;
}

void thread_detach(struct fabric_thread *thread)
{
    struct fabric_node *link = thread->link;
    thread_lock(thread);
    hold_release(thread);
    thread_unlock(thread);
    pthread_mutex_lock(&link->mutex);
    link->taken[thread->index] = 0;
    pthread_mutex_unlock(&link->mutex);
}
