/* Posting: a chain of operations becomes messages and remote reads. (Section 2 of the specification, rules 1 to 7.)
 *
 * Messages are executed in order, so whatever goes by message is ordered with all other messages of its queue pair,
 * more than the model asks. Remote reads, which libfabric executes by itself at the target and which are faster, are
 * for gets that need no order with messages before them:
 *
 *   message, then read   rules 6 and 3 demand that a get's remote read comes after earlier puts and atomics. So a get
 *                        is a read only if the target has confirmed all messages; a reply confirms what was sent
 *                        before what it answers. Else it is an item of a message; or, if it is long, a confirmation
 *                        is asked for and waited for.
 *   read, then message   a put or an atomic may overtake a get on the wire (rule 3).
 *   read, then read      the remote reads of two gets are not ordered.
 *   results              land in the order of posting (ofi_thread.c): rules 7 and 8.
 *   rfence               orders a get before what follows: the next operation waits for reads; and a put that has a
 *                        source to read waits for all results, since one may be its source (rules 1 and 2).
 *
 * The source of a put is read here, into the message (rule 2: at the latest when it stands behind no other put); so
 * a put is complete when it has been posted. That read follows earlier stores of the thread by a locked instruction,
 * as in shm.c. */
#include "fabric/ofi_intern.h"
#include "fabric/words.h"

#include <remora/wait.h>

#include <string.h>

enum { REPLIES_AT_ONCE = 24, GET_WORDS = 64, MESSAGE_LIMIT = OFI_BUFFER };

/* Where a chain goes. */
struct draft {
    struct fabric_thread *thread;
    struct ofi_queue *queue;
    unsigned node;
};

/* ---- Waiting inside a post ---- */

static bool wait_for_reads(struct draft *draft, bool results)
{
    struct ofi_queue *queue = draft->queue;
    struct ofi_wait wait = {0};
    while (queue->reads || (results && queue->landed != queue->posted))
        if (!thread_wait_step(draft->thread, &wait, draft->node))
            return false;
    return true;
}

/* ---- Messages ---- */

static void fill_head(const struct fabric_thread *thread, struct ofi_queue *queue, enum message_kind kind)
{
    struct message_head head = {.secret = thread->link->secret,
                                .sender = ofi_thread_number(thread->link, thread->node->self, thread->index),
                                .kind = (uint16_t)kind,
                                .count = queue->count,
                                .number = queue->sent};
    memcpy(queue->slot->data, &head, sizeof head);
    queue->slot->context.node = queue->node;
}

/* What libfabric says of it. */
static ssize_t hand_over(struct fabric_thread *thread, struct ofi_queue *queue, bool answered)
{
    OFI_SENDS(thread->node);
    ssize_t result = port_send(&thread->port, queue->slot, queue->size, queue->to);
    if (result == -FI_EAGAIN)
        return result;
    if (result != 0) {
        ofi_fail(thread->node, queue->node, "send", result);
        return result;
    }
    queue->slot = NULL;
    queue->held_since = 0;
    queue->sent++;
    thread->replies += answered;
    return 0;
}

static bool send_message(struct fabric_thread *thread, struct ofi_queue *queue, enum message_kind kind)
{
    bool answered = queue->answered || kind == MESSAGE_CONFIRM;
    struct ofi_wait wait = {0};
    fill_head(thread, queue, kind);
    while (answered && thread->replies >= REPLIES_AT_ONCE)
        if (!thread_wait_step(thread, &wait, queue->node))
            return false;
    ssize_t result;
    wait = (struct ofi_wait){0};
    while ((result = hand_over(thread, queue, answered)) == -FI_EAGAIN)
        if (!thread_wait_step(thread, &wait, queue->node))
            return false;
    return result == 0;
}

bool draft_send(struct fabric_thread *thread, struct ofi_queue *queue)
{
    return send_message(thread, queue, MESSAGE_OPERATIONS);
}

bool draft_try(struct fabric_thread *thread, struct ofi_queue *queue)
{
    fill_head(thread, queue, MESSAGE_OPERATIONS);
    return hand_over(thread, queue, false) != -FI_EAGAIN;
}

static bool begin_draft(struct draft *draft)
{
    struct ofi_queue *queue = draft->queue;
    queue->slot = thread_take_slot(draft->thread, draft->node);
    queue->size = sizeof(struct message_head);
    queue->count = 0;
    queue->answered = false;
    queue->held_since = 0;
    return queue->slot != NULL;
}

/* Room for the item and its operand: where the operand goes; null: the job has failed. */
static unsigned char *add_item(struct draft *draft, const struct message_item *item)
{
    struct ofi_queue *queue = draft->queue;
    size_t size = sizeof *item + operand_size(item);
    if (queue->slot && queue->size + size > MESSAGE_LIMIT && !draft_send(draft->thread, queue))
        return NULL;
    if (!queue->slot && !begin_draft(draft))
        return NULL;
    unsigned char *at = queue->slot->data + queue->size;
    memcpy(at, item, sizeof *item);
    queue->size += size;
    queue->count++;
    queue->answered = queue->answered || result_size(item) > 0;
    return at + sizeof *item;
}

static bool confirm(struct draft *draft)
{
    struct ofi_queue *queue = draft->queue;
    if (!queue->slot && queue->sent == queue->confirmed)
        return true;
    if (!queue->slot && !begin_draft(draft))
        return false;
    if (!send_message(draft->thread, queue, MESSAGE_CONFIRM))
        return false;
    struct ofi_wait wait = {0};
    while (queue->sent != queue->confirmed)
        if (!thread_wait_step(draft->thread, &wait, draft->node))
            return false;
    return true;
}

/* ---- Operations ---- */

static uint64_t offset_of(const struct draft *draft, const struct fabric_op *op)
{
    return (uint64_t)((char *)op->remote - draft->thread->node->home);
}

/* There is room: the post has made sure. */
static struct ofi_entry *new_entry(struct draft *draft)
{
    struct ofi_queue *queue = draft->queue;
    struct ofi_entry *entry = &queue->ring[queue->posted % OFI_DEPTH];
    entry->ready = true;
    entry->whole = false;
    entry->pieces = 0;
    entry->held = NULL;
    entry->number = NO_MESSAGE;
    entry->size = entry->shift = 0;
    queue->posted++;
    atomic_fetch_add_explicit(&draft->thread->unlanded, 1, memory_order_relaxed);
    return entry;
}

static void await_result(struct draft *draft, const struct fabric_op *op, size_t size, size_t shift)
{
    struct ofi_entry *entry = new_entry(draft);
    entry->ready = false;
    entry->number = draft->queue->sent;
    entry->local = op->local;
    entry->size = size;
    entry->shift = shift;
}

static bool post_put(struct draft *draft, const struct fabric_op *op)
{
    if (*draft->thread->owes)
        draft->thread->node->fabric->drain(draft->thread);
    uint64_t offset = offset_of(draft, op);
    const char *source = op->local;
    for (size_t done = 0; done < op->size;) {
        size_t piece = op->size - done < OFI_PAYLOAD ? op->size - done : OFI_PAYLOAD;
        struct message_item item = {.kind = FABRIC_PUT, .size = (uint32_t)piece, .offset = offset + done};
        unsigned char *operand = add_item(draft, &item);
        if (!operand)
            return false;
        words_copy(operand + item.offset % 8, source + done, piece);
        done += piece;
    }
    new_entry(draft);
    return true;
}

static bool post_value(struct draft *draft, const struct fabric_op *op)
{
    struct message_item item = {.kind = FABRIC_PUT_VALUE, .offset = offset_of(draft, op)};
    unsigned char *operand = add_item(draft, &item);
    if (!operand)
        return false;
    memcpy(operand, &op->value, sizeof op->value);
    new_entry(draft);
    return true;
}

static bool post_atomic(struct draft *draft, const struct fabric_op *op)
{
    struct message_item item = {.kind = op->kind, .offset = offset_of(draft, op)};
    unsigned char *operand = add_item(draft, &item);
    if (!operand)
        return false;
    if (op->kind == FABRIC_RCAS) {
        memcpy(operand, &op->expected, sizeof op->expected);
        operand += sizeof op->expected;
    }
    memcpy(operand, &op->value, sizeof op->value);
    await_result(draft, op, sizeof(uint64_t), 0);
    return true;
}

/* Asks for `size` bytes of the node's heap from `offset` on. */
static bool read_remote(struct draft *draft, void *to, size_t size, uint64_t offset, void *descriptor,
                        void *context)
{
    struct fabric_thread *thread = draft->thread;
    const struct ofi_card *card = &thread->link->card[draft->node];
    struct ofi_wait wait = {0};
    ssize_t result;
    while ((result = fi_read(thread->port.ep, to, size, descriptor, draft->queue->to, card->base + offset,
                             card->key, context)) == -FI_EAGAIN)
        if (!thread_wait_step(thread, &wait, draft->node))
            return false;
    if (result != 0)
        ofi_fail(thread->node, draft->node, "remote read", result);
    else
        draft->queue->reads++;
    return result == 0;
}

/* Whole words are asked for, also around bytes that nobody wants: the heap is made of whole words. */
static bool read_words(struct draft *draft, const struct fabric_op *op, uint64_t offset)
{
    size_t shift = offset % 8;
    await_result(draft, op, op->size, shift);
    struct ofi_entry *entry = &draft->queue->ring[(draft->queue->posted - 1) % OFI_DEPTH];
    entry->number = NO_MESSAGE;
    entry->context.use = ENTRY_READ;
    entry->context.node = draft->node;
    return read_remote(draft, entry->words, bytes_in_words(offset, op->size), offset - shift,
                       draft->queue->descriptor, &entry->context);
}

static bool read_pieces(struct draft *draft, const struct fabric_op *op, uint64_t offset)
{
    struct ofi_entry *entry = new_entry(draft);
    entry->ready = false;
    for (size_t done = 0; done < op->size;) {
        size_t piece = op->size - done < OFI_PAYLOAD ? op->size - done : OFI_PAYLOAD;
        struct ofi_slot *slot = thread_take_slot(draft->thread, draft->node);
        if (!slot)
            return false;
        slot->context.use = SLOT_READ;
        slot->context.node = draft->node;
        slot->entry = entry;
        slot->local = (char *)op->local + done;
        slot->size = piece;
        slot->shift = (offset + done) % 8;
        entry->pieces++;
        done += piece;
        entry->whole = done == op->size;
        if (!read_remote(draft, slot->data, bytes_in_words(offset + done - piece, piece),
                         offset + done - piece - slot->shift, draft->thread->port.descriptor, &slot->context))
            return false;
    }
    return true;
}

static bool post_get(struct draft *draft, const struct fabric_op *op, bool alone)
{
    uint64_t offset = offset_of(draft, op);
    bool quiet = !draft->queue->slot && draft->queue->sent == draft->queue->confirmed;
    if (op->size > GET_WORDS)
        return confirm(draft) && read_pieces(draft, op, offset);
    if (quiet && alone)
        return read_words(draft, op, offset);
    struct message_item item = {.kind = FABRIC_GET, .size = (uint32_t)op->size, .offset = offset};
    if (!add_item(draft, &item))
        return false;
    await_result(draft, op, op->size, offset % 8);
    return true;
}

static bool post_one(struct draft *draft, const struct fabric_op *op, bool alone)
{
    struct ofi_queue *queue = draft->queue;
    queue->fence = queue->fence || op->kind == FABRIC_RFENCE || op->flags & FABRIC_FENCED;
    if (op->kind == FABRIC_RFENCE)
        return true;
    if (queue->fence) {
        bool reads_source = op->kind == FABRIC_PUT && queue->landed != queue->posted;
        if (reads_source && queue->slot && !draft_send(draft->thread, queue))
            return false;
        if ((queue->reads || reads_source) && !wait_for_reads(draft, reads_source))
            return false;
        queue->fence = false;
    }
    switch ((enum fabric_kind)op->kind) {
    case FABRIC_PUT:
        return post_put(draft, op);
    case FABRIC_PUT_VALUE:
        return post_value(draft, op);
    case FABRIC_GET:
        return post_get(draft, op, alone);
    case FABRIC_RCAS:
    case FABRIC_RFAA:
        return post_atomic(draft, op);
    case FABRIC_RFENCE:
        break;
    }
    return true;
}

/* ---- The own node ---- */

/* A thread's operations towards its own node it executes itself, in order, each completely before the next. */
static void execute_here(struct fabric_thread *thread, const struct fabric_op *op)
{
    uint64_t *word = op->remote, old = op->expected;
    switch ((enum fabric_kind)op->kind) {
    case FABRIC_PUT:
        words_copy(op->remote, op->local, op->size);
        break;
    case FABRIC_PUT_VALUE:
        __atomic_store_n(word, op->value, __ATOMIC_RELEASE);
        break;
    case FABRIC_GET:
        words_copy(op->local, op->remote, op->size);
        break;
    case FABRIC_RCAS:
        __atomic_compare_exchange_n(word, &old, op->value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        __atomic_store_n((uint64_t *)op->local, old, __ATOMIC_RELEASE);
        break;
    case FABRIC_RFAA:
        old = __atomic_fetch_add(word, op->value, __ATOMIC_SEQ_CST);
        __atomic_store_n((uint64_t *)op->local, old, __ATOMIC_RELEASE);
        break;
    case FABRIC_RFENCE:
        break;
    }
    thread->node->fabric->drain(thread);
}

static int post_here(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    if (*thread->owes)
        thread->node->fabric->drain(thread);
    for (unsigned i = 0; i < count; i++)
        execute_here(thread, &ops[i]);
    server_wake(thread->link);
    return FABRIC_DONE;
}

/* ---- Chains ---- */

static bool is_registered(const struct fabric_thread *thread, const void *pointer, size_t size)
{
    size_t top = atomic_load_explicit(&thread->node->heap.top, memory_order_relaxed);
    return size <= top && (uintptr_t)pointer - (uintptr_t)thread->node->home <= top - size;
}

static int check(const struct fabric_thread *thread, const struct fabric_op *op)
{
    if (op->kind == FABRIC_RFENCE || op->flags & FABRIC_KNOWN)
        return 0;
    size_t size = op->kind == FABRIC_PUT || op->kind == FABRIC_GET ? op->size : sizeof(uint64_t);
    if (!is_registered(thread, op->remote, size))
        return REM_EADDRESS;
    return op->kind == FABRIC_PUT_VALUE || is_registered(thread, op->local, size) ? 0 : REM_ELOCAL;
}

static bool post_all(struct fabric_thread *thread, struct ofi_queue *queue, const struct fabric_op *ops,
                     unsigned count)
{
    struct draft draft = {.thread = thread, .queue = queue, .node = queue->node};
    bool results = false;
    for (unsigned i = 0; i < count; i++) {
        if (!post_one(&draft, &ops[i], count == 1))
            return false;
        results = results || has_result(ops[i].kind);
    }
    if (!results)
        return hold_after(thread, queue);
    return !queue->slot || draft_send(thread, queue);
}

static int post_far(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    struct ofi_queue *queue = thread_queue(thread, ops[0].node);
    if (!queue)
        return node_failure(thread->node);
    if (queue->posted - queue->taken + count > OFI_DEPTH) {
        thread_progress(thread);
        return FABRIC_AGAIN;
    }
    bool idle = queue->taken == queue->posted;
    if (!hold_before(thread, queue) || !post_all(thread, queue, ops, count))
        return 0; /* the job has failed, and polls say that all is done */
    queue_land(thread, queue);
    if (queue->landed != queue->posted)
        deputy_call(thread->link);
    if (!idle || queue->landed != queue->posted)
        return 0;
    queue->taken = queue->posted;
    return FABRIC_DONE;
}

int thread_post_chain(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int error = check(thread, &ops[i]);
        if (error)
            return error;
    }
    if (ops[0].node == thread->node->self)
        return post_here(thread, ops, count);
    if (__atomic_load_n(thread->failed, __ATOMIC_RELAXED))
        return node_failure(thread->node);
    thread->looked_far = true;
    thread_lock(thread);
    int result = post_far(thread, ops, count);
    thread_unlock(thread);
    return result;
}
