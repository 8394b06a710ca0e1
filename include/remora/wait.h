/* RDMA-WAIT, the base of the tower: remote operations with work ids, and the CPU's accesses to shared local
 * memory. (Section 5 of the specification; every guarantee here is a row of its stamp order.)
 *
 * Rules that hold for all of it:
 *  - A call that posts returns at once. The operation happens later, in the order that the stamps keep and no
 * other. On some transports it has already happened when the call returns; rely on the stamps, not on that.
 *  - The remote side is (node, symmetric pointer): the pointer that rem_alloc gave on *this* node stands for
 * the same offset on the other. The own node is allowed; such an operation obeys the rules of remote ones all
 * the same.
 *  - The local side is memory of this node's heap (rem_alloc), since a network card reaches no other. It
 * belongs to the operation until a rem_wait says otherwise: do not write the source of a put, do not read the
 * target of a get.
 *  - Words of 8 aligned bytes are copied whole. The words of one operation are not ordered among themselves.
 *  - A completion tells of a put that its source has been read, not that it has arrived. Only a later get or
 * remote atomic towards that node, or a rem_gfence, tells that.
 *  - Memory that two threads, or a thread and a remote operation, access at the same time is accessed through
 * rem_load, rem_store, rem_cas, rem_faa and rem_xchg only. Plain C accesses are for data that nobody else
 * touches meanwhile.
 *
 * Errors that every call here may return: REM_EDETACHED. A post that returns an error has done nothing. A
 * rem_thread belongs to one pthread; calls of different threads need no synchronisation. */
#ifndef REMORA_WAIT_H
#define REMORA_WAIT_H

#include <remora/job.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REM_WORK_IDS 60 /* work ids are 0 … 59; a thread's ids are its own */

/* ---- Remote operations ---- */

/* Copies `size` bytes at `source` here to `target` on `node`. Stamps aNLR_n (the read), aNRW_n (the write),
 * in this order. A later put to the same node arrives later; a later get or atomic to it sees the written
 * value; nothing is promised towards other nodes. rem_wait(work) tells that the source may be reused.
 *   REM_EINVAL (size 0), REM_ENODE, REM_EADDRESS, REM_ELOCAL, REM_EWORK */
REM_API int rem_put(rem_thread *thread, int node, void *target, const void *source, size_t size,
                    unsigned work);

/* The same for one aligned word given by value (inline data): there is no source to wait for.
 *   REM_ENODE, REM_EADDRESS, REM_EALIGN, REM_EWORK */
REM_API int rem_put_value(rem_thread *thread, int node, uint64_t *target, uint64_t value, unsigned work);

/* Copies `size` bytes at `source` on `node` to `target` here. Stamps aNRR_n (the read), aNLW_n (the write).
 * The remote read comes after every earlier put and atomic of this thread to that node. A *later* put may
 * overtake it: wait in between if that matters. rem_wait(work) tells that the bytes are here.
 *   REM_EINVAL (size 0), REM_ENODE, REM_EADDRESS, REM_ELOCAL, REM_EWORK */
REM_API int rem_get(rem_thread *thread, void *target, int node, const void *source, size_t size,
                    unsigned work);

/* Remote compare-and-swap: if the word at `target` on `node` is `expected` it becomes `desired`; what it was
 * is written to *old here. Stamps aNAR_n (the read), aNRW_n (the write, if it succeeds), aNLW_n (of *old).
 * Atomic against the remote atomics towards the same node and against nothing else: a CPU access, a put or a
 * get may fall between the two halves.
 *   REM_ENODE, REM_EADDRESS, REM_ELOCAL, REM_EALIGN, REM_EWORK */
REM_API int rem_rcas(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t expected,
                     uint64_t desired, unsigned work);

/* Remote fetch-and-add; as rem_rcas, always succeeding. The sum wraps. */
REM_API int rem_rfaa(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t add,
                     unsigned work);

/* Orders this thread's operations towards `node`, and never blocks the CPU: the reads of earlier ones, local
 * and remote, come before all of later ones. Stamp aRF_n. Earlier *writes*, remote and local (aNRW_n,
 * aNLW_n), are not ordered before it.
 *   REM_ENODE */
REM_API int rem_rfence(rem_thread *thread, int node);

/* Blocks until every earlier operation of this thread that carries `work` has completed: results of gets and
 * atomics are in local memory and visible to all threads of the node; sources of puts have been read. Stamp
 * aWT: everything later in the thread comes after. Completions that nobody waits for cost nothing but the
 * memory already reserved.
 *   REM_EWORK, REM_EDEAD (a node of the job died; what was posted to living nodes is complete) */
REM_API int rem_wait(rem_thread *thread, unsigned work);

/* ---- Results as values ----
 *
 * The same with the result in a variable: an operation to a private place, its wait, and the value.
 * Stamps: those of the operation, then aWT. Errors: those of the operation and of rem_wait. *value is any
 * memory. */

REM_API int rem_get_value(rem_thread *thread, uint64_t *value, int node, const uint64_t *source);
REM_API int rem_fetch_add(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t add);
REM_API int rem_compare_swap(rem_thread *thread, uint64_t *old, int node, uint64_t *target, uint64_t expected,
                             uint64_t desired);

/* ---- Local memory ----
 *
 * The CPU's accesses to aligned words that others may access at the same time. They are x86-TSO: a load may
 * overtake an earlier store of its own thread to another word, nothing else is reordered. They check nothing
 * and can't fail. */

/* Private: completes what the thread's store buffer still holds. */
REM_API void rem_drain_(rem_thread *thread);

/* Private: what must drain the store buffer first; or that every access is the transport's. */
enum { REM_OWES_REMOTE_READ = 1, REM_OWES_LOAD = 2, REM_OWES_CALL = 4 };

/* Private: an access with a flag set that matters to it. */
enum { REM_LOAD_, REM_STORE_, REM_CAS_, REM_FAA_, REM_XCHG_ };
REM_API uint64_t rem_access_(rem_thread *thread, unsigned access, uint64_t *word, uint64_t expected, uint64_t value);

#if !defined __x86_64__
#error "remora needs an x86-64 processor: rem_load and rem_store are mapped to its total store order"
#endif

#ifdef REMORA_MODEL
/* Compiled for `remora verify`: every access is handed to the model. */
uint64_t rem_load(rem_thread *thread, const uint64_t *word);
void rem_store(rem_thread *thread, uint64_t *word, uint64_t value);
uint64_t rem_cas(rem_thread *thread, uint64_t *word, uint64_t expected, uint64_t desired);
uint64_t rem_faa(rem_thread *thread, uint64_t *word, uint64_t add);
uint64_t rem_xchg(rem_thread *thread, uint64_t *word, uint64_t value);
void rem_mfence(rem_thread *thread);
void rem_pause(rem_thread *thread);
void rem_plain_in(rem_thread *thread, void *memory, size_t size);
void rem_plain_out(rem_thread *thread, void *memory, size_t size);
#else

/* Stamp aCR. */
static inline uint64_t rem_load(rem_thread *thread, const uint64_t *word)
{
    if (__builtin_expect(thread->owes & (REM_OWES_LOAD | REM_OWES_CALL), 0))
        return rem_access_(thread, REM_LOAD_, (uint64_t *)(uintptr_t)word, 0, 0);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Stamp aCW. */
static inline void rem_store(rem_thread *thread, uint64_t *word, uint64_t value)
{
    unsigned char owes = thread->owes;
    if (__builtin_expect(owes & REM_OWES_CALL, 0)) {
        rem_access_(thread, REM_STORE_, word, 0, value);
        return;
    }
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    thread->owes = owes | REM_OWES_REMOTE_READ;
}

/* Compare-and-swap, fetch-and-add, exchange: the old value. Stamp aCAS (a failing rem_cas: aMF, aCR). Atomic
 * against CPU accesses; against remote atomics only on transports that say so (`remora info`). */
static inline uint64_t rem_cas(rem_thread *thread, uint64_t *word, uint64_t expected, uint64_t desired)
{
    if (__builtin_expect(thread->owes & REM_OWES_CALL, 0))
        return rem_access_(thread, REM_CAS_, word, expected, desired);
    __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    thread->owes = 0;
    return expected;
}

static inline uint64_t rem_faa(rem_thread *thread, uint64_t *word, uint64_t add)
{
    if (__builtin_expect(thread->owes & REM_OWES_CALL, 0))
        return rem_access_(thread, REM_FAA_, word, 0, add);
    thread->owes = 0;
    return __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
}

static inline uint64_t rem_xchg(rem_thread *thread, uint64_t *word, uint64_t value)
{
    if (__builtin_expect(thread->owes & REM_OWES_CALL, 0))
        return rem_access_(thread, REM_XCHG_, word, 0, value);
    thread->owes = 0;
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

/* Stamp aMF: every earlier store is visible to all before any later access. */
static inline void rem_mfence(rem_thread *thread)
{
    rem_drain_(thread);
}

/* Private: lets another thread have the processor. */
REM_API void rem_yield_(rem_thread *thread);

/* For the body of a loop that waits for another thread: a moment's pause, and now and then the processor for others, who may be
 * what is waited for. No stamp. */
static inline void rem_pause(rem_thread *thread)
{
    __builtin_ia32_pause();
    if (__builtin_expect(++thread->pauses == 0, 0))
        rem_yield_(thread);
}

/* Before plain C accesses to memory that remote operations have written, and after plain C accesses that such
 * operations will read: tells the model, and is nothing otherwise. */
static inline void rem_plain_in(rem_thread *thread, void *memory, size_t size)
{
    (void)thread;
    (void)memory;
    (void)size;
}

static inline void rem_plain_out(rem_thread *thread, void *memory, size_t size)
{
    (void)thread;
    (void)memory;
    (void)size;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
