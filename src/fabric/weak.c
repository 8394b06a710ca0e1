/* The weak provider: the model as a transport. Every operation goes through the buffers of RDMA-TSO, and a seeded adversary
 * decides when each silent step happens. (Section 2 of the specification.)
 *
 *   weak_queue.c     the pipes, wbR and wbL, and the rules of the network card
 *   weak_pool.c      the adversary, and the store buffers' flushes
 *   weak_turns.c     threads of one process take turns, so that a seed stands for a run
 *   weak_progress.c  otherwise: silent steps while threads compute
 *   weak.c           the operations of threads: the CPU's steps
 *
 * Memory is the job's shared memory, one access for each step. A thread's stores and operations go into its store buffer,
 * since its flag REM_OWES_CALL makes the accesses of wait.h come here. What it accesses outside of the node's heap is
 * nobody's location: such an access is executed at once, with the store buffer empty. */
#include "fabric/weak.h"

#include "base/random.h"
#include "fabric/weak_turns.h"
#include "job/inner.h"

#include <remora/wait.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORD = sizeof(uint64_t),
    DEPTH = 64,          /* operations of a queue pair whose completions have not been taken */
    PIECES = 32,         /* of one operation */
    LONGEST_STALL = 4096 /* choices; between processes, microseconds */
};

/* --- posting --- */

struct pieces {
    unsigned n;
    struct weak_entry entries[PIECES + 2]; /* and a fence */
};

static bool is_registered(const struct fabric_thread *thread, const void *pointer, size_t size)
{
    size_t top = atomic_load_explicit(&thread->node->heap.top, memory_order_relaxed);
    return size <= top && (uintptr_t)pointer - (uintptr_t)thread->node->home <= top - size;
}

static size_t size_of(const struct fabric_op *op)
{
    return op->kind == FABRIC_PUT || op->kind == FABRIC_GET ? op->size : WORD;
}

static int check(const struct fabric_thread *thread, const struct fabric_op *op)
{
    if (op->kind == FABRIC_RFENCE)
        return 0;
    if (!is_registered(thread, op->remote, size_of(op)))
        return REM_EADDRESS;
    return op->kind == FABRIC_PUT_VALUE || is_registered(thread, op->local, size_of(op)) ? 0 : REM_ELOCAL;
}

static void add_fence(struct pieces *pieces, unsigned node)
{
    pieces->entries[pieces->n++] = (struct weak_entry){.kind = WEAK_FENCE, .node = (uint8_t)node};
}

static struct weak_entry word_entry(const struct fabric_op *op, void *remote)
{
    static const uint8_t kinds[] = {
        [FABRIC_PUT_VALUE] = WEAK_PUT_VALUE, [FABRIC_RCAS] = WEAK_RCAS, [FABRIC_RFAA] = WEAK_RFAA};
    return (struct weak_entry){.kind = kinds[op->kind],
                               .last = true,
                               .node = (uint8_t)op->node,
                               .size = WORD,
                               .local = op->kind == FABRIC_PUT_VALUE ? NULL : op->local,
                               .remote = remote,
                               .value.word = op->value,
                               .result.word = op->kind == FABRIC_RCAS ? op->expected : 0};
}

/* Words where both sides have whole ones; of large operations, so many at once that PIECES are enough. */
static bool cut(struct pieces *pieces, const struct fabric_op *op, char *remote)
{
    char *local = op->local;
    bool aligned = ((uintptr_t)local - (uintptr_t)remote) % WORD == 0;
    size_t lead = aligned ? (size_t)(-(uintptr_t)remote % WORD) : 0;
    lead = lead < op->size ? lead : op->size;
    size_t words = (op->size - lead + WORD - 1) / WORD, many = (words + PIECES - 1) / PIECES * WORD;
    bool put = op->kind == FABRIC_PUT;
    for (size_t at = 0, size; at < op->size; at += size) {
        size = at < lead ? lead : op->size - at < many ? op->size - at : many;
        struct weak_entry *entry = &pieces->entries[pieces->n];
        *entry = (struct weak_entry){.kind = put ? WEAK_PUT : WEAK_GET,
                                     .node = (uint8_t)op->node,
                                     .size = (uint32_t)size,
                                     .local = local + at,
                                     .remote = remote + at};
        union weak_value *buffer = put ? &entry->value : &entry->result;
        if (size > WORD && !(buffer->bytes = malloc(size)))
            return false;
        pieces->n++;
    }
    return true;
}

static void discard(struct pieces *pieces)
{
    for (unsigned i = 0; i < pieces->n; i++) {
        struct weak_entry *entry = &pieces->entries[i];
        if (entry->size > WORD)
            free(entry->kind == WEAK_PUT ? entry->value.bytes : entry->result.bytes);
    }
}

static void shuffle(struct pieces *pieces, unsigned first, uint64_t *random)
{
    for (unsigned i = pieces->n; i > first + 1; i--) {
        unsigned other = first + random_below(random, i - first);
        struct weak_entry entry = pieces->entries[i - 1];
        pieces->entries[i - 1] = pieces->entries[other];
        pieces->entries[other] = entry;
    }
    pieces->entries[pieces->n - 1].last = true;
}

/* The entries of one operation; false if there is no memory. */
static bool make_pieces(struct fabric_thread *thread, const struct fabric_op *op, struct pieces *pieces)
{
    char *remote = (char *)op->remote + thread->distance[op->node];
    pieces->n = 0;
    if (op->kind == FABRIC_RFENCE || op->flags & FABRIC_FENCED)
        add_fence(pieces, op->node);
    unsigned first = pieces->n;
    if (op->kind == FABRIC_RFENCE)
        return true;
    if (op->kind != FABRIC_PUT && op->kind != FABRIC_GET) {
        pieces->entries[pieces->n++] = word_entry(op, remote);
        return true;
    }
    if (!cut(pieces, op, remote)) {
        discard(pieces);
        return false;
    }
    shuffle(pieces, first, &thread->pool->random);
    return true;
}

static bool happens(struct weak_pool *pool, const struct weak_chance *chance)
{
    if (chance->count)
        return pool->operations == chance->count;
    return chance->probability > 0 &&
           (double)(random_next(&pool->random) >> 11) * 0x1p-53 < chance->probability;
}

/* The node of the thread. Among processes, the real thing. */
static void die(struct fabric_thread *thread)
{
    struct weak_pool *pool = thread->pool;
    if (!pool->together)
        kill(getpid(), SIGKILL);
    pool->dead |= UINT64_C(1) << thread->node->self;
    weak_tell(thread, thread->node->self, WEAK_DEATH);
}

static void inject_faults(struct fabric_thread *thread, const struct fabric_op *op, struct pieces *pieces)
{
    struct weak_pool *pool = thread->pool;
    const struct weak_options *options = &pool->options;
    enum weak_fault fault = WEAK_NO_FAULT;
    if (op->kind == FABRIC_RFENCE)
        return;
    pool->operations++;
    if (happens(pool, &options->delay))
        thread->queues[op->node].stalled =
            weak_stall_clock(pool) + 1 + random_below(&pool->random, LONGEST_STALL);
    if (options->seed % thread->node->nodes == thread->node->self && happens(pool, &options->death))
        die(thread);
    if (happens(pool, &options->error))
        fault = WEAK_ERROR;
    if (pool->dead >> op->node & 1)
        fault = WEAK_DEATH;
    for (unsigned i = 0; i < pieces->n; i++)
        pieces->entries[i].lost = (uint8_t)fault;
}

static int post_one(struct fabric_thread *thread, const struct fabric_op *op)
{
    struct weak_queue *queue = &thread->queues[op->node];
    struct pieces pieces;
    if (!make_pieces(thread, op, &pieces))
        return REM_ENOMEM;
    if (thread->pool->options.faults)
        inject_faults(thread, op, &pieces);
    thread->room = pieces.n;
    if (thread->buffer.count + pieces.n > WEAK_RING)
        weak_wait(thread, WEAK_ROOM);
    for (unsigned i = 0; i < pieces.n; i++)
        *weak_append(&thread->buffer) = pieces.entries[i];
    queue->outstanding += op->kind != FABRIC_RFENCE;
    weak_issue(thread);
    return 0;
}

/* On an error nothing has been posted, so all is asked before. */
static int may_post(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    struct weak_queue *queue = &thread->queues[ops[0].node];
    if (!queue->pipe.entries && !weak_queue_set_up(queue))
        return REM_ENOMEM;
    int error = 0;
    for (unsigned i = 0; i < count && !error; i++)
        error = ops[i].flags & FABRIC_KNOWN ? 0 : check(thread, &ops[i]);
    return error ? error : queue->outstanding + count > DEPTH ? FABRIC_AGAIN : 0;
}

/* Nothing waits for turns here unless the store buffer is full: posting is a step of the thread's own. */
static int post(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    weak_enter(thread);
    int result = may_post(thread, ops, count);
    for (unsigned i = 0; i < count && result == 0; i++)
        result = post_one(thread, &ops[i]);
    weak_leave(thread);
    if (!thread->pool->together)
        weak_wake_progress(thread->node->link);
    return result;
}

static unsigned poll(struct fabric_thread *thread, unsigned node, unsigned most)
{
    struct weak_queue *queue = &thread->queues[node];
    weak_enter(thread);
    thread->towards = node;
    weak_wait(thread, WEAK_COMPLETION);
    if (queue->ready == 0 && WEAK_MUTANT_ANY)
        queue->ready +=
            WEAK_MUTANT(M_POLL_NEVER_BLOCKS) || (WEAK_MUTANT(M_POLL_PASSES_LW) && weak_queue_overlook(queue));
    unsigned taken = queue->ready < most ? queue->ready : most;
    queue->ready -= taken;
    queue->outstanding -= taken;
    weak_leave(thread);
    return taken;
}

/* --- the CPU --- */

static bool is_in_heap(const struct fabric_thread *thread, const uint64_t *word)
{
    return (uintptr_t)word - (uintptr_t)thread->node->home < thread->node->heap_size;
}

static uint64_t load(struct fabric_thread *thread, const uint64_t *word)
{
    weak_wait(thread, WEAK_TURN);
    for (uint32_t i = thread->buffer.count; i > 0 && !WEAK_MUTANT(M_LOAD_NOT_FORWARDED); i--) {
        const struct weak_entry *entry = weak_at(&thread->buffer, i - 1);
        if (entry->kind == WEAK_STORE && entry->remote == word)
            return entry->value.word;
    }
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(struct fabric_thread *thread, uint64_t *word, uint64_t value)
{
    if (!is_in_heap(thread, word)) {
        weak_wait(thread, WEAK_DRAINED);
        thread->pool->version += __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST) != value;
        return;
    }
    thread->room = 1;
    if (thread->buffer.count == WEAK_RING)
        weak_wait(thread, WEAK_ROOM);
    *weak_append(&thread->buffer) =
        (struct weak_entry){.kind = WEAK_STORE, .size = WORD, .remote = word, .value.word = value};
}

static uint64_t locked(struct fabric_thread *thread, enum fabric_access access, uint64_t *word,
                       uint64_t expected, uint64_t value)
{
    uint64_t old = expected;
    bool passes = access == FABRIC_CAS   ? WEAK_MUTANT(M_CAS_PASSES)
                  : access == FABRIC_FAA ? WEAK_MUTANT(M_FAA_PASSES)
                                         : WEAK_MUTANT(M_XCHG_PASSES);
    weak_wait(thread, passes ? WEAK_TURN : WEAK_DRAINED);
    if (access == FABRIC_CAS)
        __atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    else if (access == FABRIC_FAA)
        old = __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    else
        old = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
    thread->pool->version++;
    return old;
}

static uint64_t access_memory(struct fabric_thread *thread, enum fabric_access access, uint64_t *word,
                              uint64_t expected, uint64_t value)
{
    uint64_t result = 0;
    weak_enter(thread);
    switch (access) {
    case FABRIC_LOAD:
        result = load(thread, word);
        break;
    case FABRIC_STORE:
        store(thread, word, value);
        break;
    case FABRIC_CAS:
    case FABRIC_FAA:
    case FABRIC_XCHG:
        result = locked(thread, access, word, expected, value);
        break;
    case FABRIC_PAUSE:
        weak_wait(thread, WEAK_NEWS);
        break;
    }
    weak_leave(thread);
    if (thread->pool->together)
        return result;
    if (access == FABRIC_STORE)
        weak_wake_progress(thread->node->link);
    if (access == FABRIC_PAUSE)
        sched_yield();
    return result;
}

static void drain(struct fabric_thread *thread)
{
    weak_enter(thread);
    weak_wait(thread, WEAK_MUTANT(M_MFENCE_PASSES) ? WEAK_TURN : WEAK_DRAINED);
    weak_leave(thread);
}

/* --- waiting: by pausing, whatever the distance; nobody is ever announced as asleep --- */

static const unsigned awake;

enum { YIELDS = 100, NAP = 50 /* microseconds */ };

static void wait_step(struct fabric_thread *thread, struct idle *idle, uint64_t distance)
{
    (void)distance;
    weak_enter(thread);
    weak_wait(thread, WEAK_NEWS);
    weak_leave(thread);
    if (thread->pool->together)
        return;
    if (idle->round++ < YIELDS)
        sched_yield();
    else
        usleep(NAP);
}

static void wait_end(struct fabric_thread *thread, struct idle *idle)
{
    (void)thread, (void)idle;
}

static void wake(struct fabric_thread *thread, uint64_t key, uint64_t value)
{
    (void)thread, (void)key, (void)value;
}

/* --- threads and nodes --- */

static void free_thread(struct fabric_thread *thread)
{
    for (unsigned n = 0; thread->queues && n < thread->node->nodes; n++)
        weak_queue_free(&thread->queues[n]);
    if (thread->pool && !thread->pool->together)
        free(thread->pool);
    free(thread->queues);
    free(thread->buffer.entries);
    free(thread);
}

static struct weak_pool *new_pool(const struct weak_options *options, uint64_t seed)
{
    struct weak_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->options = *options;
    weak_pool_start(pool, seed);
    return pool;
}

static bool fill_thread(struct fabric_thread *thread)
{
    struct rem_node *node = thread->node;
    struct fabric_node *link = node->link;
    uint64_t number = atomic_fetch_add(&link->attached, 1) * REM_MAX_NODES + node->self;
    thread->pool = link->pool ? link->pool : new_pool(&link->options, link->options.seed + (number << 32));
    thread->queues = calloc(node->nodes, sizeof *thread->queues);
    thread->buffer.entries = calloc(WEAK_RING, sizeof *thread->buffer.entries);
    if (!thread->pool || !thread->queues || !thread->buffer.entries)
        return false;
    if (!link->pool) {
        thread->pool->threads = thread;
        thread->pool->n_threads = 1;
    }
    for (unsigned n = 0; n < node->nodes; n++) {
        thread->distance[n] = node->memory + n * node->heap_size - node->home;
        thread->queues[n].busy = weak_busy(node, n);
    }
    return true;
}

static int attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **result,
                  struct fabric_signals *signals)
{
    struct fabric_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return REM_ENOMEM;
    thread->node = node;
    if (!fill_thread(thread)) {
        free_thread(thread);
        return REM_ENOMEM;
    }
    pthread_mutex_init(&thread->mutex, NULL);
    pthread_cond_init(&thread->turn, NULL);
    *owes = REM_OWES_CALL;
    *signals = (struct fabric_signals){(const unsigned *)&node->control->failed, &awake};
    weak_join(thread);
    *result = thread;
    return 0;
}

static void detach(struct fabric_thread *thread)
{
    weak_part(thread);
    pthread_mutex_destroy(&thread->mutex);
    pthread_cond_destroy(&thread->turn);
    free_thread(thread);
}

static int read_options(struct rem_node *node, struct weak_options *options)
{
    const char *bad;
    char text[FAILURE_TEXT];
    if (weak_options_read(options, getenv(ENVIRONMENT_WEAK), &bad))
        return 0;
    snprintf(text, sizeof text, "%s: not understood: %.80s", ENVIRONMENT_WEAK, bad);
    job_fail(node, REM_EENVIRONMENT, node->self, text);
    return REM_EENVIRONMENT;
}

/* With all nodes in this process node 0's pool is for all: the last of them to close it frees it. */
static int share_pool(struct rem_node *node, struct fabric_node *link)
{
    struct weak_pool *mine = NULL, *all[REM_MAX_NODES];
    if (node->self == 0) {
        mine = new_pool(&link->options, link->options.seed);
        if (mine) {
            inner_condition(&mine->stop);
            pthread_mutex_init(&mine->mutex, NULL);
            mine->together = true;
            mine->users = node->nodes;
        }
    }
    int error = node->wire->exchange(node, &mine, sizeof mine, all);
    if (error || !all[0]) {
        free(mine);
        return error ? error : REM_ENOMEM;
    }
    link->pool = all[0];
    return 0;
}

static void free_link(struct fabric_node *link)
{
    pthread_mutex_destroy(&link->mutex);
    pthread_cond_destroy(&link->work);
    free(link);
}

static int open_node(struct rem_node *node)
{
    struct fabric_node *link = calloc(1, sizeof *link);
    if (!link)
        return REM_ENOMEM;
    link->node = node;
    pthread_mutex_init(&link->mutex, NULL);
    pthread_cond_init(&link->work, NULL);
    node->link = link;
    int error = read_options(node, &link->options);
    bool together = atomic_load(&node->mapping->users) == node->nodes && !link->options.free;
    if (!error && together)
        error = share_pool(node, link);
    if (error) {
        free_link(link);
        node->link = NULL;
        return error;
    }
    if (!together)
        weak_start_progress(link);
    node->before_collective = weak_fence_node;
    node->in_collective = weak_idle_node;
    return 0;
}

static void close_node(struct rem_node *node)
{
    struct fabric_node *link = node->link;
    struct weak_pool *pool = link->pool;
    weak_stop_progress(link);
    if (pool && __atomic_sub_fetch(&pool->users, 1, __ATOMIC_SEQ_CST) == 0) {
        weak_stop_watch(pool);
        pthread_mutex_destroy(&pool->mutex);
        pthread_cond_destroy(&pool->stop);
        free(pool);
    }
    free_link(link);
    node->link = NULL;
}

const struct fabric fabric_weak = {
    .traits = {.name = "weak",
               .brief =
                   "an adversary: does from a seed everything that the model allows; for tests (REMORA_WEAK)",
               .depth = DEPTH,
               .shared = true},
    .open = open_node,
    .close = close_node,
    .attach = attach,
    .detach = detach,
    .post = post,
    .poll = poll,
    .wait = wait_step,
    .wait_end = wait_end,
    .wake = wake,
    .drain = drain,
    .access = access_memory,
};
