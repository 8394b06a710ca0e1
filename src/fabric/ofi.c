/* The ofi provider: libfabric, over endpoints of reliable datagrams. (Section 2 of the specification.)
 *
 * A thread has an endpoint of its own, which it alone touches; a node has one more, whose server thread executes what
 * the threads of other nodes ask. Words, atomics and puts are messages (ofi_message.h) that it executes in the order of
 * posting; lone gets are remote reads (ofi_post.c says why that is RDMA-TSO). Operations towards the own node the
 * thread executes itself. docs/ofi.md has the reasons, the rules one by one, and the figures. */
#include "fabric/ofi.h"
#include "fabric/ofi_intern.h"

#include <sched.h>

static bool look_once(struct fabric_thread *thread, struct ofi_queue *queue)
{
    if (__atomic_load_n(thread->failed, __ATOMIC_RELAXED))
        return false;
    return queue->landed != queue->taken || thread_wait_step(thread, &thread->polls, queue->node);
}

/* One look, and a rest if there is nothing: callers come again. After a failure all is done. */
static unsigned take(struct fabric_thread *thread, unsigned node, unsigned most)
{
    struct ofi_queue *queue = thread->queue[node];
    unsigned count = most;
    thread_lock(thread);
    if (hold_release(thread) && queue && look_once(thread, queue)) {
        uint64_t there = queue->landed - queue->taken;
        count = there < most ? (unsigned)there : most;
        queue->taken += count;
    }
    thread_unlock(thread);
    return count;
}

/* ---- Waiting for a word ---- */

enum { LOOKS_AT_ONCE = 20, YIELDS = 20, FAR_LOOKS_AT_ONCE = 4, FAR_NAP = 20000, FAR_NAP_LIMIT = 200000 };

static void nap_for(uint64_t nanoseconds)
{
    nanosleep(&(struct timespec){0, (long)nanoseconds}, NULL);
}

/* The look was a round trip. What changes the word is executed on another node, and nothing tells this one. */
static void wait_far(struct idle *idle, uint64_t distance)
{
    unsigned round = idle->round++;
    if (distance == 1 && round < FAR_LOOKS_AT_ONCE)
        return;
    uint64_t nap = FAR_NAP * distance + FAR_NAP / 2 * round;
    nap_for(nap < FAR_NAP_LIMIT ? nap : FAR_NAP_LIMIT);
}

/* The word is in this node's memory, and is changed by the server, or by a thread of this node that calls in. */
static void wait_near(struct fabric_thread *thread, struct idle *idle)
{
    unsigned round = idle->round++;
    if (round < LOOKS_AT_ONCE) {
        __builtin_ia32_pause();
    } else if (round < LOOKS_AT_ONCE + YIELDS) {
        sched_yield();
    } else if (!idle->announced) {
        idle->announced = true;
        idle->sequence = server_announce(thread->link);
    } else {
        idle->sequence = server_nap(thread->link, idle->sequence, NAP_LIMIT);
    }
}

static void wait_step(struct fabric_thread *thread, struct idle *idle, uint64_t distance)
{
    thread_lock(thread);
    hold_release(thread);
    thread_unlock(thread);
    if (thread->looked_far)
        wait_far(idle, distance);
    else
        wait_near(thread, idle);
    thread->looked_far = false;
}

static void wait_end(struct fabric_thread *thread, struct idle *idle)
{
    if (idle->announced)
        server_retract(thread->link);
    idle->announced = false;
}

static void wake(struct fabric_thread *thread, uint64_t key, uint64_t value)
{
    (void)thread, (void)key, (void)value;
}

static void drain(struct fabric_thread *thread)
{
    __atomic_exchange_n(&thread->drain, 0, __ATOMIC_SEQ_CST);
    *thread->owes = 0;
}

const struct fabric fabric_ofi = {
    .traits = {.name = "ofi",
               .brief = "libfabric: TCP, EFA, Slingshot, Omni-Path, …",
               .depth = OFI_DEPTH,
               .cpu_atomics = true},
    .open = ofi_open,
    .close = ofi_close,
    .attach = thread_attach,
    .detach = thread_detach,
    .post = thread_post_chain,
    .poll = take,
    .wait = wait_step,
    .wait_end = wait_end,
    .wake = wake,
    .drain = drain,
};
