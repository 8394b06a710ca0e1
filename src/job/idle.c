/* Waiting for a turn: spin while it is near, then yield the processor, then sleep.
 *
 * A turn that is `distance` releases away can't come sooner than the critical sections before it take, so a
 * waiter looks less often the further away it stands; and a waiter that has as many ahead of it as there are
 * processors gives its own to them at once, since one of them may need it to go on.
 *
 * Sleeping. The sleeper announces itself, looks once more, and sleeps; the waker writes, looks for sleepers,
 * and wakes. One of them must see the other's write, which takes a full fence between write and look on both
 * sides. A release must not pay for one, so the sleeper executes it for both: membarrier(2) makes every
 * running thread of the job execute a fence. Either the waker's write was before that, and the sleeper's next
 * look finds it, or the waker's look comes after it, and finds the sleeper. That next look is the caller's:
 * node_idle returns between the announcement and the sleep. Where the kernel refuses membarrier naps are
 * short; and none is longer than NAP_LIMIT, for what no waker announces. When the transport writes the words, at some
 * time after a release has posted it, nobody can announce it, and naps are about as long as a hundredth of the time waited. */
#include "job/futex.h"
#include "job/node.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>

enum {
    SPIN_ROUNDS = 200,  /* looks before the first yield */
    YIELD_ROUNDS = 100, /* yields before the first nap */
    MOST_ROUNDS = 1000,
    PAUSES_A_STEP = 4,   /* pauses between two looks, for each step of distance beyond the first */
    SHORT_NAP = 200000u, /* nanoseconds, without membarrier */
    FIRST_NAP = 20000u,  /* where the transport writes and nobody announces it: this long, */
    LONGER = 10000u,     /* each a bit longer than the one before, up to */
    LAST_NAP = 1000000u
};

bool idle_set_up(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static struct nap_slot *slot_of(struct rem_node *node, uint64_t key, uint64_t value)
{
    uint64_t hash = (key ^ value * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return &node->control->nap[hash >> 32 & (NAP_SLOTS - 1)];
}

static void announce(struct rem_node *node, struct idle *idle, struct nap_slot *slot)
{
    atomic_fetch_add(&slot->sleepers, 1);
    atomic_fetch_add(&node->control->sleepers, 1);
    idle->announced = true;
    if (node->fences_others)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    idle->sequence = atomic_load(&slot->sequence);
}

static uint64_t unannounced_length(const struct idle *idle)
{
    uint64_t naps = idle->round - SPIN_ROUNDS - YIELD_ROUNDS;
    return naps < (LAST_NAP - FIRST_NAP) / LONGER ? FIRST_NAP + naps * LONGER : LAST_NAP;
}

static uint64_t nap_length(const struct rem_node *node, const struct idle *idle)
{
    uint64_t length = node->unannounced     ? unannounced_length(idle)
                      : node->fences_others ? NAP_LIMIT
                                            : SHORT_NAP;
    if (!idle->limit)
        return length;
    uint64_t now = rem_clock();
    uint64_t left = idle->limit > now ? idle->limit - now : 0;
    return left < length ? left : length;
}

static void nap(struct rem_node *node, struct idle *idle)
{
    struct nap_slot *slot = slot_of(node, idle->key, idle->value);
    if (!idle->announced) {
        announce(node, idle, slot);
        return;
    }
    futex_wait(&slot->sequence, idle->sequence, nap_length(node, idle));
    idle->sequence = atomic_load(&slot->sequence);
}

void node_idle(struct rem_node *node, struct idle *idle, uint64_t distance)
{
    unsigned round = idle->round++;
    if (distance >= node->processors && round < SPIN_ROUNDS)
        round = idle->round = SPIN_ROUNDS;
    if (round < SPIN_ROUNDS) {
        for (uint64_t i = 0; i < 1 + (distance - 1) * PAUSES_A_STEP; i++)
            __builtin_ia32_pause();
    } else if (round < SPIN_ROUNDS + YIELD_ROUNDS) {
        sched_yield();
    } else {
        if (idle->round > MOST_ROUNDS)
            idle->round = MOST_ROUNDS;
        nap(node, idle);
    }
}

void node_idle_end(struct rem_node *node, struct idle *idle)
{
    if (!idle->announced)
        return;
    atomic_fetch_sub(&node->control->sleepers, 1);
    atomic_fetch_sub(&slot_of(node, idle->key, idle->value)->sleepers, 1);
    idle->announced = false;
}

void node_wake_sleepers(struct rem_node *node, uint64_t key, uint64_t value)
{
    struct nap_slot *slot = slot_of(node, key, value);
    if (atomic_load(&slot->sleepers) == 0)
        return;
    atomic_fetch_add(&slot->sequence, 1);
    futex_wake(&slot->sequence, INT_MAX);
}
