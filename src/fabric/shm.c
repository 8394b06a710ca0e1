/* The shm provider: the caller executes each operation itself, at once, on the target's memory. (Section 2 of
 * the specification, over x86-TSO.)
 *
 * Why that is RDMA-TSO. Take the events of section 3. Every event becomes one or more accesses of the posting
 * thread, executed in program order, which is one of the orders that the pipe, wbR and wbL may produce.
 * x86-TSO keeps that order except that a load may overtake an earlier store (and sees it early if it is to
 * the same word). So every ordering that the model demands holds by itself unless it goes from a write to a
 * later read; those need the store buffer drained in between, by a locked instruction. A flag byte of the
 * thread, `owes`, remembers which reads must drain it first:
 *
 *   REM_OWES_REMOTE_READ   a read by the network card (nlR, nrR, naR) must
 *   REM_OWES_LOAD          a load by the CPU (lR) must, too
 *
 * The flags are set by what enters the store buffer and cleared by every locked instruction:
 *
 *   rem_store      lW→nlR, lW→nrR, lW→naR are ordered (table, row B), lW→lR is not: sets REMOTE_READ.
 *   put            nrW→nrR, nrW→naR to the same node are ordered (row G; rule 6, "wbR empty"): sets
 * REMOTE_READ. To the own node a CPU load may read what the put wrote, and that read is an rf_o edge, which a
 * load that forwards from the store buffer would betray: sets LOAD as well. get, rcas,     nlW is before a
 * poll that takes its completion, and with it before every later load ([nlW];pf in ob, rfaa           row E):
 * sets LOAD. Without a poll, a load that reads the result early is an rf_o edge again: LOAD already at the
 * post. An nlW of the same queue pair is before or after each nlR (nfo), and a put that reads what the get
 * wrote is after it: sets REMOTE_READ. If the target is FABRIC_PRIVATE, nobody but this thread, which
 *                  forwards, can tell when the store leaves the buffer: sets nothing.
 *
 * And drained, when flagged, before:
 *
 *   put            its nlR. The value put by PUT_VALUE is nobody's location, so there is no nlR to order.
 *   get            its nrR.
 *   rcas, rfaa     nothing to do: the locked instruction drains first. Both halves are one instruction, so
 * they are atomic against everything, and rao is the order of the instructions. rfence         executes
 * nothing: nF orders reads and writes that this thread already executes in order, and where a read follows a
 * write, the read drains. poll           executes nothing: it finds the completion there. What must follow it
 * is a load, which drains, a store or a remote operation. rem_load       (wait.h) in the rare case that LOAD
 * is set.
 *
 * A read that overtakes nothing needs no drain, and this is the point of the flags: the fences are few.
 * Operations that are posted together have no CPU access between them, but may follow each other's writes;
 * each drains by the same rules. Failing rcas is a locked instruction too. Words: section 1 speaks of single
 * words; an operation on more of them is as many reads and writes, in no promised order, each word of 8
 * aligned bytes by one access.
 *
 * The flags see CPU stores only through rem_store. A plain C store is, by the rules of wait.h, to memory that
 * nobody accesses at the same time: a thread that may see it has an edge from a later write of this thread,
 * and writes stay in order. */
#include "fabric/shm.h"
#include "fabric/words.h"
#include "job/node.h"

#include <remora/wait.h>

#include <stdlib.h>
#include <string.h>

struct fabric_thread {
    unsigned char *owes;
    char *home;
    struct rem_node *node;
    unsigned self;
    ptrdiff_t distance[REM_MAX_NODES]; /* from the own heap to that node's */
    uint64_t drain;                    /* a word of the thread's own; see drain */
};

static void drain(struct fabric_thread *thread)
{
    /* An exchange, since compilers make an mfence, three times as dear, of an addition of 0. */
    __atomic_exchange_n(&thread->drain, 0, __ATOMIC_SEQ_CST);
    *thread->owes = 0;
}

static inline void before_remote_read(struct fabric_thread *thread)
{
    if (*thread->owes)
        drain(thread);
}

/* In the registered part of the heap, that is below what has ever been allocated. The offset is the same on
 * every node. */
static inline bool is_registered(const struct fabric_thread *thread, const void *pointer, size_t size)
{
    size_t top = atomic_load_explicit(&thread->node->heap.top, memory_order_relaxed);
    return size <= top && (uintptr_t)pointer - (uintptr_t)thread->home <= top - size;
}

static inline void *target_of(const struct fabric_thread *thread, const struct fabric_op *op)
{
    return (char *)op->remote + thread->distance[op->node];
}

/* What an operation does after its remote read. The addresses are taken before it: loads after a locked
 * instruction wait for it. */
struct result {
    uint64_t *local;
    unsigned char *owes, flags;
};

static inline struct result result_of(const struct fabric_thread *thread, const struct fabric_op *op)
{
    bool private = op->flags & FABRIC_PRIVATE;
    return (struct result){op->local, thread->owes, private ? 0 : REM_OWES_REMOTE_READ | REM_OWES_LOAD};
}

static inline unsigned char owed_after_put(const struct fabric_thread *thread, const struct fabric_op *op)
{
    return REM_OWES_REMOTE_READ | (op->node == thread->self ? REM_OWES_LOAD : 0);
}

static inline bool is_word(const struct fabric_op *op)
{
    return op->size == sizeof(uint64_t) &&
           ((uintptr_t)op->local | (uintptr_t)op->remote) % sizeof(uint64_t) == 0;
}

static inline void get(struct fabric_thread *thread, const struct fabric_op *op)
{
    struct result result = result_of(thread, op);
    const void *source = target_of(thread, op);
    before_remote_read(thread);
    if (is_word(op))
        __atomic_store_n(result.local, __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    else
        words_copy(result.local, source, op->size);
    *result.owes |= result.flags;
}

static inline void put(struct fabric_thread *thread, const struct fabric_op *op)
{
    void *target = target_of(thread, op);
    const void *source = op->local;
    unsigned char *owes = thread->owes, flags = owed_after_put(thread, op);
    before_remote_read(thread);
    if (is_word(op))
        __atomic_store_n((uint64_t *)target, __atomic_load_n((const uint64_t *)source, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    else
        words_copy(target, source, op->size);
    *owes |= flags;
}

static inline void put_value(struct fabric_thread *thread, const struct fabric_op *op)
{
    __atomic_store_n((uint64_t *)target_of(thread, op), op->value, __ATOMIC_RELEASE);
    *thread->owes |= owed_after_put(thread, op);
}

static inline void rcas(struct fabric_thread *thread, const struct fabric_op *op)
{
    struct result result = result_of(thread, op);
    uint64_t old = op->expected;
    __atomic_compare_exchange_n((uint64_t *)target_of(thread, op), &old, op->value, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    __atomic_store_n(result.local, old, __ATOMIC_RELEASE);
    *result.owes = result.flags;
}

static inline void rfaa(struct fabric_thread *thread, const struct fabric_op *op)
{
    struct result result = result_of(thread, op);
    uint64_t old = __atomic_fetch_add((uint64_t *)target_of(thread, op), op->value, __ATOMIC_SEQ_CST);
    __atomic_store_n(result.local, old, __ATOMIC_RELEASE);
    *result.owes = result.flags;
}

/* Of an operation of that kind and size. */
static inline int check(const struct fabric_thread *thread, const struct fabric_op *op, bool local,
                        size_t size)
{
    if (op->flags & FABRIC_KNOWN)
        return 0;
    if (__builtin_expect(!is_registered(thread, op->remote, size), 0))
        return REM_EADDRESS;
    return !local || is_registered(thread, op->local, size) ? 0 : REM_ELOCAL;
}

enum step { CHECK = 1, EXECUTE = 2 };

static inline int take_step(struct fabric_thread *thread, const struct fabric_op *op, enum step step,
                            bool local, size_t size,
                            void (*execute)(struct fabric_thread *, const struct fabric_op *))
{
    int error = step & CHECK ? check(thread, op, local, size) : 0;
    if (!error && step & EXECUTE)
        execute(thread, op);
    return error;
}

static inline __attribute__((always_inline)) int run(struct fabric_thread *thread, const struct fabric_op *op,
                                                     enum step step)
{
    switch ((enum fabric_kind)op->kind) {
    case FABRIC_PUT:
        return take_step(thread, op, step, true, op->size, put);
    case FABRIC_PUT_VALUE:
        return take_step(thread, op, step, false, sizeof(uint64_t), put_value);
    case FABRIC_GET:
        return take_step(thread, op, step, true, op->size, get);
    case FABRIC_RCAS:
        return take_step(thread, op, step, true, sizeof(uint64_t), rcas);
    case FABRIC_RFAA:
        return take_step(thread, op, step, true, sizeof(uint64_t), rfaa);
    case FABRIC_RFENCE:
        break;
    }
    return 0;
}

static __attribute__((noinline)) int post_chain(struct fabric_thread *thread, const struct fabric_op *ops,
                                                unsigned count)
{
    int error = 0;
    for (unsigned i = 0; i < count && !error; i++)
        error = run(thread, &ops[i], CHECK);
    for (unsigned i = 0; i < count && !error; i++)
        error = run(thread, &ops[i], EXECUTE);
    return error ? error : FABRIC_DONE;
}

static int post(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    if (__builtin_expect(count != 1, 0))
        return post_chain(thread, ops, count);
    int error = run(thread, ops, CHECK | EXECUTE);
    return __builtin_expect(error, 0) ? error : FABRIC_DONE;
}

/* Never called, since post leaves no completion behind. */
static unsigned poll(struct fabric_thread *thread, unsigned node, unsigned most)
{
    (void)thread, (void)node, (void)most;
    return 0;
}

static int attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **result,
                  struct fabric_signals *signals)
{
    struct fabric_thread *thread = aligned_alloc(LINE, (sizeof *thread + LINE - 1) / LINE * LINE);
    if (!thread)
        return REM_ENOMEM;
    memset(thread, 0, sizeof *thread);
    thread->owes = owes;
    thread->node = node;
    thread->home = node->home;
    thread->self = node->self;
    for (unsigned n = 0; n < node->nodes; n++)
        thread->distance[n] = node->memory + n * node->heap_size - node->home;
    *signals = (struct fabric_signals){(const unsigned *)&node->control->failed,
                                       (const unsigned *)&node->control->sleepers};
    *result = thread;
    return 0;
}

static void detach(struct fabric_thread *thread)
{
    free(thread);
}

static void wait_step(struct fabric_thread *thread, struct idle *wait, uint64_t distance)
{
    node_idle(thread->node, wait, distance);
}

static void wait_end(struct fabric_thread *thread, struct idle *wait)
{
    node_idle_end(thread->node, wait);
}

static void wake(struct fabric_thread *thread, uint64_t key, uint64_t value)
{
    node_wake_sleepers(thread->node, key, value);
}

const struct fabric fabric_shm = {
    .traits = {.name = "shm",
               .brief = "processes of one machine over shared memory; the caller executes its operations",
               .cpu_atomics = true,
               .ordered_everywhere = true,
               .immediate = true,
               .shared = true},
    .attach = attach,
    .detach = detach,
    .post = post,
    .poll = poll,
    .wait = wait_step,
    .wait_end = wait_end,
    .wake = wake,
    .drain = drain,
};
