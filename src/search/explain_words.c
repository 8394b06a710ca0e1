/* What events and orders of the program mean, in words (for readers who never saw an order table). Event types
 * of section 3 and stamps of section 4 mean the same things; a role is what they have in common. */
#include "search/explain_words.h"

#include "base/arena.h"

#include <inttypes.h>

enum role {
    LOAD,
    STORE,
    LOCKED,
    FENCE,
    WAIT,
    LOCAL_READ,
    REMOTE_WRITE,
    ATOMIC_READ,
    ATOMIC_WRITE,
    REMOTE_READ,
    LOCAL_WRITE,
    REMOTE_FENCE,
    GLOBAL_FENCE
};

static enum role role_of(const struct event *e)
{
    static const uint8_t of_type[T_TYPES] = {
        [T_LR] = LOAD,          [T_LW] = STORE,        [T_CAS] = LOCKED,       [T_F] = FENCE,
        [T_P] = WAIT,           [T_NLR] = LOCAL_READ,  [T_NRW] = REMOTE_WRITE, [T_NAR] = ATOMIC_READ,
        [T_NAW] = ATOMIC_WRITE, [T_NRR] = REMOTE_READ, [T_NLW] = LOCAL_WRITE,  [T_NF] = REMOTE_FENCE};
    static const uint8_t of_stamp[S_STAMPS] = {
        [S_CR] = LOAD,         [S_CW] = STORE,        [S_CAS] = LOCKED,       [S_MF] = FENCE,
        [S_WT] = WAIT,         [S_NLR] = LOCAL_READ,  [S_NRW] = REMOTE_WRITE, [S_NAR] = ATOMIC_READ,
        [S_NRR] = REMOTE_READ, [S_NLW] = LOCAL_WRITE, [S_RF] = REMOTE_FENCE,  [S_GF] = GLOBAL_FENCE};
    return e->lib == LIB_TSO ? of_type[e->type] : of_stamp[e->type];
}

static bool is_nic(enum role role)
{
    return role >= LOCAL_READ && role <= REMOTE_FENCE;
}

static const char *location_of(const struct program *program, const struct event *e)
{
    return e->loc == PROG_NO_LOC ? "the value" : program->locs[e->loc].name;
}

/* --- events --- */

static const char *lock_words(struct arena *arena, const struct program *program, const struct event *e)
{
    const char *name = program->locks[e->object].name;
    switch (role_of(e)) {
    case FENCE:
        return arena_printf(arena, "lock %s is acquired", name);
    case GLOBAL_FENCE:
        return arena_printf(arena, "lock %s is released: all that was begun towards node %u is done", name,
                            e->node);
    case REMOTE_FENCE:
        return arena_printf(arena, "a remote fence towards node %u, ahead of the release", e->node);
    default:
        return arena_printf(arena, "lock %s is released", name);
    }
}

const char *event_words(struct arena *arena, const struct program *program, const struct event *e)
{
    const char *loc = location_of(program, e);
    if (e->lib == LIB_LOCK)
        return lock_words(arena, program, e);
    if (e->reads && e->writes)
        return arena_printf(arena, "%s goes from %" PRId64 " to %" PRId64, loc, (int64_t)e->read,
                            (int64_t)e->written);
    switch (role_of(e)) {
    case STORE:
        return arena_printf(arena, "%s becomes %" PRId64, loc, (int64_t)e->written);
    case LOCKED:
    case FENCE:
        if (e->writes)
            return arena_printf(arena, "%s becomes %" PRId64, loc, (int64_t)e->written);
        if (!e->reads)
            return "is passed";
        return arena_printf(arena, "reads %s = %" PRId64, loc, (int64_t)e->read);
    case WAIT:
        return "returns";
    case LOCAL_READ:
        return e->loc == PROG_NO_LOC
                   ? arena_printf(arena, "the NIC takes the value %" PRId64, (int64_t)e->read)
                   : arena_printf(arena, "the NIC reads its source, %s = %" PRId64, loc, (int64_t)e->read);
    case REMOTE_WRITE:
    case ATOMIC_WRITE:
        return arena_printf(arena, "on node %u %s becomes %" PRId64, e->node, loc, (int64_t)e->written);
    case REMOTE_READ:
    case ATOMIC_READ:
        return arena_printf(arena, "on node %u the NIC reads %s = %" PRId64, e->node, loc, (int64_t)e->read);
    case LOCAL_WRITE:
        return arena_printf(arena, "its result is in local memory, %s = %" PRId64, loc, (int64_t)e->written);
    case REMOTE_FENCE:
        return arena_printf(arena, "the NIC passes it, towards node %u", e->node);
    case GLOBAL_FENCE:
        return arena_printf(arena, "all that was begun towards node %u is done", e->node);
    default:
        return arena_printf(arena, "reads %s = %" PRId64, loc, (int64_t)e->read);
    }
}

/* --- order that is kept --- */

const char *parts_words(const struct event *a, const struct event *b)
{
    bool atomic = role_of(a) == ATOMIC_READ;
    if (a->lib == LIB_LOCK)
        return "one release: its fence comes before the write that hands the lock over";
    if (a->lib == LIB_SV)
        return "one broadcast: its source is read before the copy is written";
    switch (role_of(b)) {
    case REMOTE_WRITE:
    case ATOMIC_WRITE:
        return atomic ? "one remote atomic: it reads before it writes"
                      : "one put: its source is read before the value is written";
    case LOCAL_WRITE:
        return atomic ? "one remote atomic: it reads before its result reaches local memory"
                      : "one get: it reads before its result reaches local memory";
    default:
        return "one failing cas: it is a fence before it reads";
    }
}

/* What keeps an order with everything, on both sides: a fence, or what counts as one. */
static const char *fence_words(const struct event *e)
{
    return e->lib == LIB_LOCK     ? "the acquire of a lock"
           : e->lib == LIB_SC     ? "an access to a sequentially consistent location"
           : role_of(e) == LOCKED ? "an atomic instruction of the CPU"
                                  : "a fence of the CPU";
}

static bool is_fence(const struct event *e)
{
    return role_of(e) == FENCE || role_of(e) == LOCKED;
}

static const char *global_fence_words(const struct event *e)
{
    return e->lib == LIB_LOCK ? "the release of a strong lock (slock)" : "a global fence";
}

const char *kept_words(struct arena *arena, const struct event *a, const struct event *b)
{
    enum role first = role_of(a), second = role_of(b);
    if (second == GLOBAL_FENCE)
        return arena_printf(arena, "program order: %s waits for what stands before it",
                            global_fence_words(b));
    if (first == GLOBAL_FENCE)
        return arena_printf(arena, "program order: what stands behind %s is done after it",
                            global_fence_words(a));
    if (is_nic(first) && is_nic(second))
        return arena_printf(
            arena, "program order, which the NIC keeps between these two, both towards node %u", a->node);
    if (first == WAIT)
        return "program order: what stands behind a wait or poll is done after it";
    if (is_fence(a))
        return arena_printf(arena, "program order: what stands behind %s is done after it", fence_words(a));
    if (is_fence(b))
        return arena_printf(arena, "program order: %s waits for what stands before it on the CPU",
                            fence_words(b));
    if (is_nic(second))
        return "program order: the NIC begins after what stands before on the CPU";
    return first == STORE ? "program order: the CPU's stores reach memory in their order"
                          : "program order: what stands behind a load on the CPU is done after it";
}

/* --- program order that is not kept --- */

static const char *cpu_goes_on(enum role first)
{
    switch (first) {
    case REMOTE_WRITE:
    case ATOMIC_WRITE:
        return "the CPU goes on while the write is on its way, and a wait or poll tells only that it was "
               "acknowledged, not that it is in memory";
    case LOCAL_READ:
        return "the CPU goes on before the NIC has read the source; only a wait or poll tells that it has";
    case REMOTE_FENCE:
        return "a remote fence holds back later operations of the NIC, not the CPU";
    default:
        return "the CPU goes on while the NIC works; only a wait or poll tells that the result is there";
    }
}

static const char *nic_overtakes(enum role first, enum role second)
{
    if (second == REMOTE_FENCE)
        return "a remote fence waits until what stands before it was sent or acknowledged, not until it is "
               "in memory";
    switch (first) {
    case REMOTE_READ:
        return "a later operation may overtake a get on its way";
    case LOCAL_WRITE:
        return "a later operation may begin before an earlier one's result is in local memory";
    case ATOMIC_READ:
        return "the source of a later put may be read before an earlier atomic is executed";
    default:
        return "the source of a later put may be read before an earlier write has landed";
    }
}

const char *lost_words(struct arena *arena, const struct event *a, const struct event *b)
{
    enum role first = role_of(a), second = role_of(b);
    if (is_nic(first) && (is_nic(second) || second == GLOBAL_FENCE) && a->node != b->node)
        return arena_printf(arena,
                            "operations towards different nodes (here %u and %u) are not ordered by the "
                            "network%s",
                            a->node, b->node,
                            first == REMOTE_WRITE || first == ATOMIC_WRITE
                                ? ", and a wait or poll between them tells only that the write was "
                                  "acknowledged, not that it is in memory"
                                : "");
    if (is_nic(first) && is_nic(second))
        return nic_overtakes(first, second);
    if (is_nic(first))
        return cpu_goes_on(first);
    return "a store waits in the store buffer while later loads and waits go ahead";
}

/* A wait or poll tells that a result is in local memory, and a source read. That a remote write has landed only a later
 * remote read tells, or a global fence, which is one with its wait. */
enum remedy lost_remedy(const struct event *a, const struct event *b)
{
    enum role first = role_of(a), second = role_of(b);
    switch (first) {
    case REMOTE_WRITE:
    case ATOMIC_WRITE:
    case REMOTE_FENCE:
        return REMEDY_GFENCE;
    case LOCAL_READ:
    case REMOTE_READ:
    case ATOMIC_READ:
        return is_nic(second) && a->node == b->node ? REMEDY_RFENCE : REMEDY_WAIT;
    case LOCAL_WRITE:
        return REMEDY_WAIT;
    default:
        return REMEDY_MFENCE;
    }
}

/* --- names --- */

static const char *const meanings[] = {
    [LOAD] = "a load by the CPU",
    [STORE] = "a store by the CPU, when it reaches memory",
    [LOCKED] = "an atomic instruction of the CPU",
    [FENCE] = "a fence of the CPU",
    [WAIT] = "a wait or poll returns",
    [LOCAL_READ] = "the NIC reads the source of a put or broadcast towards node n",
    [REMOTE_WRITE] = "a remote write (of a put, broadcast or remote atomic) reaches the memory of node n",
    [ATOMIC_READ] = "a remote atomic reads on node n",
    [ATOMIC_WRITE] = "the write of a remote atomic reaches the memory of node n",
    [REMOTE_READ] = "a get reads on node n",
    [LOCAL_WRITE] = "the result of a get or remote atomic towards node n reaches local memory",
    [REMOTE_FENCE] =
        "a remote fence: later operations towards node n begin only after the earlier ones have read",
    [GLOBAL_FENCE] = "a global fence: all that its thread did towards node n before is done",
};

static const char *meaning_in_lock(enum role role)
{
    switch (role) {
    case FENCE:
        return "a lock is acquired";
    case STORE:
        return "a weak lock (wlock) is released";
    case GLOBAL_FENCE:
        return "a strong lock (slock) is released: all that its thread did towards node n before is done";
    case REMOTE_FENCE:
        return "a node lock (nlock) is released: a remote fence towards node n";
    default:
        return "a node lock (nlock) is released: what hands it on reaches the memory of node n";
    }
}

const char *type_meaning(const struct event *e)
{
    return e->lib == LIB_LOCK ? meaning_in_lock(role_of(e))
           : e->lib == LIB_SC ? "an access to a sequentially consistent location"
                              : meanings[role_of(e)];
}

const char *type_words(struct arena *arena, const struct event *e)
{
    enum role role = role_of(e);
    bool node = is_nic(role) || role == GLOBAL_FENCE || (e->lib == LIB_TSO && role == WAIT);
    return arena_printf(arena, "%s%s", e->lib == LIB_TSO ? tso_name(e->type) : stamp_name(e->type),
                        node ? "_n" : "");
}
