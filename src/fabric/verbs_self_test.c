/* The self-test of the verbs provider at opening: two atomics on the node's own queue pair. Some cards answer with
 * the old value in the other byte order; others claim atomics and lack them; loop-back may be filtered. Better to
 * hear it here than to find a lock that is never handed over. */
#include "fabric/verbs.h"
#include "fabric/verbs_link.h"

#include <inttypes.h>

#define PATIENCE UINT64_C(10000000000) /* nanoseconds, beyond which something else is broken */

/* Posts the operation towards the own node and waits for it. */
static int run(struct fabric_thread *thread, unsigned self, const struct fabric_op *op)
{
    int result = fabric_verbs.post(thread, op, 1);
    for (uint64_t end = rem_clock() + PATIENCE; result == 0 && fabric_verbs.poll(thread, self, 1) == 0;)
        if (rem_clock() > end)
            result = REM_EUNREACHABLE;
    return result ? result : node_failure(thread->node);
}

static int judge(const struct fabric_node *link, uint64_t fetched, uint64_t expected, uint64_t now,
                 uint64_t wanted, struct verbs_trouble *trouble)
{
    if (fetched == expected && now == wanted)
        return 0;
    if (fetched == __builtin_bswap64(expected))
        return verbs_trouble(trouble, REM_EPROVIDER,
                             "%s returns the values of atomics in the other byte order", link->device.name);
    return verbs_trouble(trouble, REM_EPROVIDER, "the atomics of %s don't work: %" PRIx64 " for %" PRIx64,
                         link->device.name, fetched, expected);
}

int verbs_self_test(struct fabric_node *link, struct verbs_trouble *trouble)
{
    const uint64_t first = UINT64_C(0x0102030405060708), add = 0x10, last = 3;
    uint64_t *words = (uint64_t *)(void *)(link->home + RESERVED_PRIVATE); /* nobody is attached yet */
    struct fabric_thread *thread = link->thread[0];
    struct fabric_op op = {.kind = FABRIC_RFAA,
                           .flags = FABRIC_KNOWN,
                           .node = link->self,
                           .local = &words[0],
                           .remote = &words[1],
                           .value = add};
    unsigned char owes = 0;
    thread->owes = &owes;
    __atomic_store_n(&words[1], first, __ATOMIC_SEQ_CST);
    int error = run(thread, link->self, &op);
    if (!error)
        error = judge(link, words[0], first, words[1], first + add, trouble);
    op.kind = FABRIC_RCAS;
    op.expected = first + add;
    op.value = last;
    if (!error)
        error = run(thread, link->self, &op);
    if (!error)
        error = judge(link, words[0], first + add, words[1], last, trouble);
    words[0] = words[1] = 0;
    if (error && !trouble->code)
        verbs_trouble(trouble, error, "%s does not execute an atomic on its own node", link->device.name);
    return error;
}
