/* The verbs provider: RDMA-TSO as network cards make it. (Section 2 of the specification.)
 *
 * A thread has one reliable-connected queue pair towards each node, the own one included; so QP[t][n] is one. What the
 * card and x86 promise gives every rule of section 3 but these, which are made here:
 *
 *   rfence      nF is the fence flag of the next work request: it does not start before every earlier get and atomic
 *               of the queue pair has completed. (If the CPU knows that they have, no flag is needed.) Earlier puts need not
 *               have: their nlR is done, since requests start in order and a put is read when it is sent, and their nrW
 *               stays before whatever follows it towards the same node. (ippo has nrW, naW, nlW before nF; but none of them is in Inst, so that shows only through
 *               events that precede them, and these precede nF too.)
 *   nlR by CPU  Inlined data is read by the CPU at the post, earlier than the card would. For a value (PUT_VALUE)
 *               there is no nlR. For a put of memory it must not be too early:
 *               - lW before nlR (row B): the store buffer is drained first, if it may hold a store (`owes`);
 *               - nlR before nlR (row F): only if every put that the card reads itself has completed;
 *               - nF before nlR (row L): only if every get and atomic before the last fence has completed.
 *               The last two are `inline_after`. Otherwise, and if it is not whole words, the card reads the source.
 *
 * The rest, by row of the tables. CPU before anything (A–E): a load is done before later stores, and posting is
 * stores; ibv_post_send orders earlier stores before the card is told (x86 keeps the order of stores to
 * write-back memory and to an uncached doorbell; before a write-combining doorbell the library executes sfence). P before
 * a load: x86 keeps the order of loads, the entry of the completion queue is read first, and the card writes it
 * after the data. F–K within a queue pair: requests start, travel, and are executed in order; a read or atomic on the
 * way to memory pushes earlier writes before it (PCI Express, without relaxed ordering); results of reads and atomics arrive in order.
 * docs/verbs.md has the table. An mfence is a locked instruction, and rem_load needs nothing: no remote operation passes
 * through this CPU's store buffer.
 *
 * Accounts. Completions are asked for when somebody will probably wait (gets, atomics, puts of memory), and else once for a
 * quarter of the queue. If a thread waits all the same for a put of which no completion is due, an empty write is
 * posted behind it, which asks for one; the next puts of values then ask themselves. */
#include "fabric/verbs.h"
#include "fabric/verbs_link.h"

#include <remora/wait.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum {
    PROMPT = 32,
    COMPLETIONS_AT_ONCE = 16,
    EMPTY_POLLS = 2000, /* in a row, before the processor is offered to others */
    LOOKS = 64          /* so many at least before patience is at its end */
};

static void drain(struct fabric_thread *thread)
{
    __atomic_exchange_n(&thread->drain, 0, __ATOMIC_SEQ_CST);
    *thread->owes = 0;
}

/* ---- Failure ---- */

/* All operations of the queue pair count as completed; what happens to them is told by the failure. */
static void break_queue(struct verbs_queue *queue, uint32_t mask)
{
    for (; queue->completed < queue->posted; queue->completed++)
        queue->ready += queue->ends[queue->completed & mask];
    queue->signalled = queue->posted;
    queue->broken = true;
}

static int failure_of(const struct fabric_thread *thread)
{
    int code = node_failure(thread->node);
    return code ? code : REM_ETRANSPORT;
}

static void fail_completion(struct fabric_thread *thread, struct verbs_queue *queue,
                            enum ibv_wc_status status)
{
    char text[FAILURE_TEXT];
    bool silent = status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR;
    const struct verbs_options *options = &thread->link->options;
    if (silent)
        snprintf(text, sizeof text, "node %u does not answer: %s (%s, timeout %d, %d tries more)",
                 queue->node, ibv_wc_status_str(status), thread->link->device.name, options->timeout,
                 options->retry);
    else
        snprintf(text, sizeof text, "an operation towards node %u failed: %s (%s)", queue->node,
                 ibv_wc_status_str(status), thread->link->device.name);
    break_queue(queue, thread->mask);
    job_fail(thread->node, silent ? REM_EUNREACHABLE : REM_ETRANSPORT, queue->node, text);
}

/* The card neither answers nor gives up. Whatever it still has of the queue pair must not happen later, so that ends. */
static void give_up(struct fabric_thread *thread, struct verbs_queue *queue)
{
    char text[FAILURE_TEXT];
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    snprintf(text, sizeof text, "node %u does not answer: nothing has completed for %.1f s (%s)", queue->node,
             (double)thread->link->patience * 1e-9, thread->link->device.name);
    ibv_modify_qp(queue->qp, &error, IBV_QP_STATE);
    break_queue(queue, thread->mask);
    job_fail(thread->node, REM_EUNREACHABLE, queue->node, text);
}

static int fail_post(struct fabric_thread *thread, struct verbs_queue *queue, int error)
{
    char text[FAILURE_TEXT];
    snprintf(text, sizeof text, "%s takes no operation towards node %u: %s", thread->link->device.name,
             queue->node, strerror(error));
    break_queue(queue, thread->mask);
    job_fail(thread->node, REM_ETRANSPORT, queue->node, text);
    return failure_of(thread);
}

/* ---- Completions ---- */

/* A request's name tells which it is of which queue pair. */
static inline uint64_t name_of(const struct verbs_queue *queue, uint64_t number)
{
    return number << 8 | queue->node;
}

static inline void complete(struct fabric_thread *thread, const struct ibv_wc *completion)
{
    struct verbs_queue *queue = &thread->queue[completion->wr_id & 0xff];
    if (__builtin_expect(queue->broken, 0))
        return;
    if (__builtin_expect(completion->status != IBV_WC_SUCCESS, 0)) {
        fail_completion(thread, queue, completion->status);
        return;
    }
    for (uint64_t end = (completion->wr_id >> 8) + 1; queue->completed < end; queue->completed++)
        queue->ready += queue->ends[queue->completed & thread->mask];
}

static inline void take_completions(struct fabric_thread *thread)
{
    struct ibv_wc completions[COMPLETIONS_AT_ONCE];
    int count = ibv_poll_cq(thread->cq, COMPLETIONS_AT_ONCE, completions);
    if (count > 0)
        thread->empty = 0;
    for (int i = 0; i < count; i++)
        complete(thread, &completions[i]);
}

static inline bool is_due(const struct verbs_queue *queue)
{
    return queue->signalled > queue->completed;
}

/* An empty write, for its completion. */
static __attribute__((noinline)) void post_marker(struct fabric_thread *thread, struct verbs_queue *queue)
{
    struct ibv_send_wr *bad, marker = {.wr_id = name_of(queue, queue->posted),
                                       .opcode = IBV_WR_RDMA_WRITE,
                                       .send_flags = IBV_SEND_SIGNALED};
    marker.wr.rdma.remote_addr = (uintptr_t)(thread->home + queue->distance);
    marker.wr.rdma.rkey = queue->rkey;
    queue->ends[queue->posted & thread->mask] = 0;
    int error = ibv_post_send(queue->qp, &marker, &bad);
    if (error) {
        fail_post(thread, queue, error);
        return;
    }
    queue->signalled = ++queue->posted;
    queue->prompt = PROMPT;
}

/* The job has lost the node: no answer is worth waiting for. */
static bool is_lost(const struct fabric_thread *thread, const struct verbs_queue *queue)
{
    unsigned word = atomic_load_explicit(&thread->node->control->failed, memory_order_relaxed);
    return word != 0 && failure_node(word) == queue->node;
}

/* The time without a completion is added up of short pieces: when this process itself stands still, nobody is late. */
static void lose_patience(struct fabric_thread *thread, struct verbs_queue *queue)
{
    uint64_t now = rem_clock(), piece = now - thread->looked, longest = thread->link->patience / LOOKS;
    thread->looked = now;
    if (queue->seen != queue->completed) {
        queue->seen = queue->completed;
        queue->waited = 0;
    }
    if (queue->completed != queue->posted)
        queue->waited += piece < longest ? piece : longest;
    if (queue->waited > thread->link->patience)
        give_up(thread, queue);
}

/* Nothing has completed: is there still hope, and does somebody else need the processor? */
static void look_around(struct fabric_thread *thread, struct verbs_queue *queue)
{
    if (is_lost(thread, queue)) {
        break_queue(queue, thread->mask);
    } else if (++thread->empty > EMPTY_POLLS) {
        sched_yield();
        lose_patience(thread, queue);
    }
}

static unsigned poll(struct fabric_thread *thread, unsigned node, unsigned most)
{
    struct verbs_queue *queue = &thread->queue[node];
    if (!queue->ready) {
        if (!is_due(queue) && queue->posted != queue->completed)
            post_marker(thread, queue);
        take_completions(thread);
        if (!queue->ready)
            look_around(thread, queue);
    }
    unsigned taken = queue->ready < most ? (unsigned)queue->ready : most;
    queue->ready -= taken;
    return taken;
}

/* ---- Posting ---- */

static inline bool is_registered(const struct fabric_thread *thread, const void *pointer, size_t size)
{
    size_t top = atomic_load_explicit(thread->top, memory_order_relaxed);
    return size <= top && (uintptr_t)pointer - (uintptr_t)thread->home <= top - size;
}

static inline bool has_size(const struct fabric_op *op)
{
    return op->kind == FABRIC_PUT || op->kind == FABRIC_GET;
}

static inline int check(const struct fabric_thread *thread, const struct fabric_op *op)
{
    if (op->flags & FABRIC_KNOWN || op->kind == FABRIC_RFENCE)
        return 0;
    size_t size = has_size(op) ? op->size : sizeof(uint64_t);
    if (!is_registered(thread, op->remote, size))
        return REM_EADDRESS;
    return op->kind == FABRIC_PUT_VALUE || is_registered(thread, op->local, size) ? 0 : REM_ELOCAL;
}

/* Requests being made, before they are posted: `posted` is what the queue's will be. */
struct chain {
    struct verbs_queue *queue;
    unsigned count;
    uint64_t posted;
    bool signal;
    struct ibv_send_wr request[VERBS_CHAIN];
    struct ibv_sge place[VERBS_CHAIN];
};

static inline bool may_inline(const struct fabric_thread *thread, const struct verbs_queue *queue,
                              const struct fabric_op *op)
{
    return op->size <= thread->inline_size && (((uintptr_t)op->local | op->size) & 7) == 0 &&
           queue->completed >= queue->inline_after;
}

/* Word by word, since each must be read whole. */
static uint64_t *copy_source(struct fabric_thread *thread, unsigned place, const struct fabric_op *op)
{
    uint64_t *copy = &thread->copies[place * (VERBS_INLINE_MAX / sizeof(uint64_t))];
    const uint64_t *source = op->local;
    if (*thread->owes)
        drain(thread);
    for (size_t i = 0; i < op->size / sizeof *copy; i++)
        copy[i] = __atomic_load_n(&source[i], __ATOMIC_ACQUIRE);
    return copy;
}

/* A fence, and a source that the card reads, keep the CPU from reading later sources early. */
static inline unsigned fence_flag(struct verbs_queue *queue, const struct fabric_op *op)
{
    if (__builtin_expect(!queue->fence, 1) && !(op->flags & FABRIC_FENCED))
        return 0;
    queue->fence = false;
    if (queue->completed >= queue->last_read)
        return 0;
    if (queue->inline_after < queue->last_read)
        queue->inline_after = queue->last_read;
    return IBV_SEND_FENCE;
}

static inline void add_write(struct fabric_thread *thread, struct chain *chain, struct ibv_send_wr *request,
                             struct ibv_sge *place, const struct fabric_op *op)
{
    struct verbs_queue *queue = chain->queue;
    request->opcode = IBV_WR_RDMA_WRITE;
    place->length = (uint32_t)op->size;
    chain->signal = true;
    if (may_inline(thread, queue, op)) {
        place->addr = (uintptr_t)copy_source(thread, chain->count, op);
        request->send_flags |= IBV_SEND_INLINE;
    } else {
        queue->inline_after = chain->posted + 1;
    }
}

static inline void add_value(struct fabric_thread *thread, struct chain *chain, struct ibv_send_wr *request,
                             struct ibv_sge *place, const struct fabric_op *op)
{
    struct verbs_queue *queue = chain->queue;
    request->opcode = IBV_WR_RDMA_WRITE;
    if (queue->prompt) {
        queue->prompt--;
        chain->signal = true;
    }
    if (__builtin_expect(!queue->values, 1)) {
        place->addr = (uintptr_t)&op->value;
        request->send_flags |= IBV_SEND_INLINE;
        return;
    }
    uint64_t *value = &queue->values[chain->posted & thread->mask];
    *value = op->value;
    place->addr = (uintptr_t)value;
    place->lkey = thread->values_lkey;
}

static inline void add_atomic(struct chain *chain, struct ibv_send_wr *request, const struct fabric_op *op)
{
    uint64_t remote = request->wr.rdma.remote_addr;
    bool swap = op->kind == FABRIC_RCAS;
    request->opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
    request->wr.atomic.remote_addr = remote;
    request->wr.atomic.rkey = chain->queue->rkey;
    request->wr.atomic.compare_add = swap ? op->expected : op->value;
    request->wr.atomic.swap = op->value;
    chain->queue->last_read = chain->posted + 1;
    chain->signal = true;
}

static inline void add(struct fabric_thread *thread, struct chain *chain, const struct fabric_op *op)
{
    struct verbs_queue *queue = chain->queue;
    struct ibv_send_wr *request = &chain->request[chain->count];
    struct ibv_sge *place = &chain->place[chain->count];
    if (chain->count)
        chain->request[chain->count - 1].next = request;
    *place = (struct ibv_sge){(uintptr_t)op->local, sizeof(uint64_t), thread->lkey};
    request->wr_id = name_of(queue, chain->posted);
    request->next = NULL;
    request->sg_list = place;
    request->num_sge = 1;
    request->send_flags = fence_flag(queue, op);
    request->wr.rdma.remote_addr = (uint64_t)((intptr_t)op->remote + queue->distance);
    request->wr.rdma.rkey = queue->rkey;
    switch ((enum fabric_kind)op->kind) {
    case FABRIC_PUT:
        add_write(thread, chain, request, place, op);
        break;
    case FABRIC_PUT_VALUE:
        add_value(thread, chain, request, place, op);
        break;
    case FABRIC_GET:
        request->opcode = IBV_WR_RDMA_READ;
        place->length = (uint32_t)op->size;
        queue->last_read = chain->posted + 1;
        chain->signal = true;
        break;
    case FABRIC_RCAS:
    case FABRIC_RFAA:
        add_atomic(chain, request, op);
        break;
    case FABRIC_RFENCE:
        break;
    }
    queue->ends[chain->posted & thread->mask] = 1;
    chain->posted++;
    chain->count++;
}

/* One call for all, the last of which asks for the completion of all. */
static inline int submit(struct fabric_thread *thread, struct chain *chain)
{
    struct verbs_queue *queue = chain->queue;
    struct ibv_send_wr *bad;
    bool signal = chain->signal || chain->posted - queue->signalled >= thread->depth / 4;
    if (signal)
        chain->request[chain->count - 1].send_flags |= IBV_SEND_SIGNALED;
    int error = ibv_post_send(queue->qp, chain->request, &bad);
    if (__builtin_expect(error, 0))
        return fail_post(thread, queue, error);
    queue->posted = chain->posted;
    if (signal)
        queue->signalled = queue->posted;
    return 0;
}

static inline bool has_room(const struct fabric_thread *thread, const struct verbs_queue *queue,
                            unsigned count)
{
    return queue->posted + count - queue->completed <= thread->depth;
}

static bool make_room(struct fabric_thread *thread, struct verbs_queue *queue, unsigned count)
{
    if (!has_room(thread, queue, count))
        take_completions(thread);
    return has_room(thread, queue, count);
}

/* Takes completions until all requests before this one have completed. */
static int await(struct fabric_thread *thread, struct verbs_queue *queue, uint64_t number)
{
    while (queue->completed < number) {
        take_completions(thread);
        if (queue->completed < number)
            look_around(thread, queue);
    }
    return queue->broken ? failure_of(thread) : 0;
}

/* Until there is room for a request; and, for a device whose fence is no good, as long as the fence would hold it back. */
static int await_turn(struct fabric_thread *thread, struct verbs_queue *queue, const struct fabric_op *op)
{
    bool fenced = queue->fence || op->flags & FABRIC_FENCED;
    uint64_t number = queue->posted < thread->depth ? 0 : queue->posted + 1 - thread->depth;
    if (fenced && thread->forgets && number < queue->last_read)
        number = queue->last_read;
    return await(thread, queue, number);
}

/* One operation that is longer than a message, as several; only the last counts. */
static int post_pieces(struct fabric_thread *thread, struct verbs_queue *queue, struct fabric_op op)
{
    size_t rest = op.size;
    while (rest > 0) {
        int error = await_turn(thread, queue, &op);
        if (error)
            return error;
        struct chain chain = {.queue = queue, .posted = queue->posted};
        op.size = rest < thread->piece ? rest : thread->piece;
        rest -= op.size;
        add(thread, &chain, &op);
        queue->ends[queue->posted & thread->mask] = rest == 0;
        error = submit(thread, &chain);
        if (error)
            return error;
        op.flags &= (unsigned short)~FABRIC_FENCED;
        op.local = (char *)op.local + op.size;
        op.remote = (char *)op.remote + op.size;
    }
    return 0;
}

/* One by one, for what is too long for one call; waits for room, and for fences, if it must. */
static int post_slowly(struct fabric_thread *thread, struct verbs_queue *queue, const struct fabric_op *ops,
                       unsigned count)
{
    int error = 0;
    for (unsigned i = 0; i < count && !error; i++) {
        struct chain chain = {.queue = queue};
        if (ops[i].kind == FABRIC_RFENCE) {
            queue->fence = true;
        } else if (has_size(&ops[i])) {
            error = post_pieces(thread, queue, ops[i]);
        } else if (!(error = await_turn(thread, queue, &ops[i]))) {
            chain.posted = queue->posted;
            add(thread, &chain, &ops[i]);
            error = submit(thread, &chain);
        }
    }
    return error;
}

/* Would one of the operations need the fence flag? */
static __attribute__((noinline)) bool needs_fence(const struct verbs_queue *queue,
                                                  const struct fabric_op *ops, unsigned count)
{
    bool fence = queue->fence, reads = queue->completed < queue->last_read;
    for (unsigned i = 0; i < count; i++) {
        fence |= ops[i].kind == FABRIC_RFENCE || ops[i].flags & FABRIC_FENCED;
        if (fence && reads)
            return true;
        reads |= ops[i].kind == FABRIC_GET || ops[i].kind == FABRIC_RCAS || ops[i].kind == FABRIC_RFAA;
    }
    return false;
}

static int post(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    struct verbs_queue *queue = &thread->queue[ops->node];
    bool is_long = count > VERBS_CHAIN || (thread->forgets && needs_fence(queue, ops, count));
    for (unsigned i = 0; i < count; i++) {
        int error = check(thread, &ops[i]);
        if (error)
            return error;
        is_long |= has_size(&ops[i]) && ops[i].size > thread->piece;
    }
    if (__builtin_expect(queue->broken, 0))
        return failure_of(thread);
    if (__builtin_expect(!make_room(thread, queue, is_long ? 1 : count), 0))
        return queue->broken ? failure_of(thread) : FABRIC_AGAIN;
    if (__builtin_expect(is_long, 0))
        return post_slowly(thread, queue, ops, count);
    struct chain chain;
    chain.queue = queue;
    chain.count = 0;
    chain.posted = queue->posted;
    chain.signal = false;
    for (unsigned i = 0; i < count; i++)
        if (ops[i].kind == FABRIC_RFENCE)
            queue->fence = true;
        else
            add(thread, &chain, &ops[i]);
    return chain.count ? submit(thread, &chain) : FABRIC_DONE;
}

/* ---- Threads ---- */

static int attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **result,
                  struct fabric_signals *signals)
{
    static const unsigned nobody = 0;
    struct fabric_thread *thread = NULL;
    for (unsigned t = 0; t < node->link->threads && !thread; t++)
        if (!atomic_flag_test_and_set(&node->link->thread[t]->taken))
            thread = node->link->thread[t];
    if (!thread)
        return REM_ETHREADS;
    thread->owes = owes;
    *signals = (struct fabric_signals){(const unsigned *)&node->control->failed, &nobody};
    *result = thread;
    return 0;
}

static void detach(struct fabric_thread *thread)
{
    atomic_flag_clear(&thread->taken);
}

/* ---- Waiting ---- */

static void wait_step(struct fabric_thread *thread, struct idle *idle, uint64_t distance)
{
    node_idle(thread->node, idle, distance);
}

static void wait_end(struct fabric_thread *thread, struct idle *idle)
{
    node_idle_end(thread->node, idle);
}

/* The card writes the word some time after this, so nobody can be told. */
static void wake(struct fabric_thread *thread, uint64_t key, uint64_t value)
{
    (void)thread, (void)key, (void)value;
}

const struct fabric fabric_verbs = {
    .traits = {.name = "verbs",
               .brief = "InfiniBand, RoCE and Soft-RoCE by libibverbs; the network card executes"},
    .open = verbs_open,
    .close = verbs_close,
    .attach = attach,
    .detach = detach,
    .post = post,
    .poll = poll,
    .wait = wait_step,
    .wait_end = wait_end,
    .wake = wake,
    .drain = drain,
};
