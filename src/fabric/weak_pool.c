/* See weak_pool.h. */
#include "fabric/weak_pool.h"

#include "base/random.h"

#include <stdio.h>
#include <string.h>

enum {
    SHORTEST_EPOCH = 8, /* choices; the longest are 2^EPOCH_STEPS times as long */
    EPOCH_STEPS = 6,
    HEAVY = 64,     /* the weight of what is not held up */
    EXPONENTS = 11, /* random weights are 2^0 … 2^(EXPONENTS - 1) */
    PATIENCE = 64,  /* choices after which a thread that pauses is let go on without news */
};

/* --- weights --- */

static void draw_epoch(struct weak_pool *pool)
{
    static const enum weak_mode flavours[] = {WEAK_RANDOM, WEAK_RANDOM,  WEAK_RANDOM, WEAK_RANDOM,
                                              WEAK_STARVE, WEAK_UNIFORM, WEAK_LATE,   WEAK_OVERTAKE};
    uint64_t draw = random_next(&pool->random);
    pool->epoch++;
    pool->epoch_ends = pool->choices + ((uint64_t)SHORTEST_EPOCH << (draw >> 32) % EPOCH_STEPS);
    pool->flavour = pool->options.mode == WEAK_MIX ? flavours[draw % 8] : pool->options.mode;
}

static uint32_t random_weight(uint64_t bits)
{
    return 1u << (bits & 0xff) * EXPONENTS / 256;
}

static void draw_thread(struct weak_pool *pool, struct fabric_thread *thread)
{
    uint64_t draw = random_next(&pool->random);
    thread->epoch = pool->epoch;
    thread->go = thread->flush = HEAVY;
    if (pool->flavour == WEAK_RANDOM) {
        thread->go = random_weight(draw);
        thread->flush = random_weight(draw >> 8);
    } else if (pool->flavour == WEAK_LATE) {
        thread->flush = draw & 1 ? 1 : HEAVY;
    }
}

static void draw_queue(struct weak_pool *pool, struct weak_queue *queue)
{
    uint64_t draw = random_next(&pool->random);
    queue->epoch = pool->epoch;
    queue->stale = true;
    uint32_t usual = pool->flavour == WEAK_STARVE && draw % 3 == 0 ? 1 : HEAVY;
    for (unsigned class = 0; class < WEAK_CLASSES; class ++)
        queue->weight[class] = pool->flavour == WEAK_RANDOM ? random_weight(draw >> 8 * class) : usual;
    if (pool->flavour == WEAK_LATE)
        queue->weight[WEAK_LAND] = queue->weight[WEAK_ARRIVE] = 1;
    if (pool->flavour == WEAK_OVERTAKE)
        queue->weight[WEAK_READ] = queue->weight[WEAK_ATOMIC] = queue->weight[WEAK_RETURN] = 1;
}

void weak_pool_start(struct weak_pool *pool, uint64_t seed)
{
    pool->random = seed;
    pool->choices = pool->idle = pool->epoch_ends = pool->operations = 0;
    for (struct fabric_thread *t = pool->threads; t; t = t->next)
        for (unsigned n = 0; n < t->node->nodes; n++)
            t->queues[n].stalled = 0;
}

/* --- what is enabled --- */

bool weak_need_is_met(const struct fabric_thread *thread)
{
    const struct weak_queue *queue = &thread->queues[thread->towards];
    switch (thread->need) {
    case WEAK_DRAINED:
        return thread->buffer.count == 0;
    case WEAK_COMPLETION:
        return queue->ready > 0 || queue->outstanding == 0 || WEAK_MUTANT(M_POLL_NEVER_BLOCKS) ||
               (WEAK_MUTANT(M_POLL_PASSES_LW) && queue->local.count && weak_at(&queue->local, 0)->behind);
    case WEAK_ROOM:
        return thread->buffer.count + thread->room <= WEAK_RING;
    case WEAK_TURN:
    case WEAK_NEWS:
        break;
    }
    return true;
}

static bool wants_to_go(const struct weak_pool *pool, const struct fabric_thread *thread)
{
    if (!thread->parked)
        return false;
    if (thread->need == WEAK_NEWS)
        return thread->seen != pool->version || pool->choices - thread->paused_at > PATIENCE;
    return weak_need_is_met(thread);
}

static inline bool may_flush(const struct fabric_thread *thread)
{
    return thread->buffer.count && weak_at(&thread->buffer, 0)->kind == WEAK_STORE;
}

uint64_t weak_stall_clock(const struct weak_pool *pool)
{
    return pool->together ? pool->choices : rem_clock() / 1000;
}

static uint32_t weigh_queue(struct weak_pool *pool, struct weak_queue *queue)
{
    if (queue->epoch != pool->epoch)
        draw_queue(pool, queue);
    if (__builtin_expect(queue->stalled != 0, 0)) {
        if (queue->stalled > weak_stall_clock(pool))
            return queue->total = 0;
        queue->stalled = 0;
        queue->stale = true;
    }
    if (queue->stale || !pool->together) { /* others may have taken or freed A[n] */
        weak_queue_look(queue);
        queue->total = 0;
        for (unsigned i = 0; i < queue->n_steps; i++)
            queue->total += queue->weight[queue->steps[i].class];
    }
    return queue->total;
}

/* The weights of all that may happen. */
static uint64_t weigh(struct weak_pool *pool, bool silent_only)
{
    uint64_t total = 0;
    for (struct fabric_thread *t = pool->threads; t; t = t->next) {
        if (t->epoch != pool->epoch)
            draw_thread(pool, t);
        if (!silent_only && wants_to_go(pool, t))
            total += t->go;
        if (may_flush(t))
            total += t->flush;
        for (uint64_t nodes = t->active; nodes; nodes &= nodes - 1)
            total += weigh_queue(pool, &t->queues[__builtin_ctzll(nodes)]);
    }
    return total;
}

/* --- steps --- */

/* Faulty machines only: an entry overtakes a store. */
static void overtake(struct fabric_thread *thread, bool store)
{
    struct weak_entry *first = weak_at(&thread->buffer, 0), *second = weak_at(&thread->buffer, 1),
                      entry = *first;
    if (thread->buffer.count < 2 || first->kind != WEAK_STORE || (second->kind == WEAK_STORE) != store)
        return;
    *first = *second;
    *second = entry;
}

void weak_issue(struct fabric_thread *thread)
{
    if (WEAK_MUTANT(M_FLUSH_NIC_FIRST))
        overtake(thread, false);
    while (thread->buffer.count) {
        const struct weak_entry *entry = weak_at(&thread->buffer, 0);
        if (entry->kind == WEAK_STORE)
            return;
        struct weak_queue *queue = &thread->queues[entry->node];
        if (queue->pipe.count == WEAK_RING)
            return;
        *weak_append(&queue->pipe) = *entry;
        weak_pop(&thread->buffer);
        weak_queue_settle(queue);
        thread->active |= UINT64_C(1) << entry->node;
    }
}

void weak_flush(struct fabric_thread *thread)
{
    if (WEAK_MUTANT(M_FLUSH_NOT_OLDEST))
        overtake(thread, true);
    struct weak_entry entry = *weak_at(&thread->buffer, 0);
    if (entry.kind == WEAK_STORE) {
        weak_pop(&thread->buffer);
        thread->pool->version += weak_write(entry.remote, entry.value, sizeof(uint64_t));
    }
    weak_issue(thread);
}

void weak_tell(struct fabric_thread *thread, unsigned peer, enum weak_fault fault)
{
    char text[FAILURE_TEXT], options[80];
    weak_options_write(&thread->pool->options, options, sizeof options);
    snprintf(text, sizeof text,
             fault == WEAK_DEATH ? "weak: node %u has been made to die (%s=%s)"
                                 : "weak: an operation towards node %u was made to fail (%s=%s)",
             peer, ENVIRONMENT_WEAK, options);
    job_fail(thread->node, fault == WEAK_DEATH ? REM_EDEAD : REM_ETRANSPORT, peer, text);
}

/* All pipes towards the node see that A[n] has changed. */
static void atomics_changed(struct weak_pool *pool, unsigned node)
{
    for (struct fabric_thread *t = pool->threads; t; t = t->next)
        t->queues[node].stale = true;
}

static void take_step(struct fabric_thread *thread, unsigned node, struct weak_step step)
{
    struct weak_pool *pool = thread->pool;
    struct weak_queue *queue = &thread->queues[node];
    struct weak_effect effect = weak_queue_step(queue, step);
    if (effect.what & WEAK_CHANGED)
        pool->version++;
    if (effect.what & WEAK_ATOMICS)
        atomics_changed(pool, node);
    if (effect.what & WEAK_FAILED)
        weak_tell(thread, node, (enum weak_fault)effect.lost);
    if (thread->buffer.count)
        weak_issue(thread);
    if (weak_queue_is_idle(queue))
        thread->active &= ~(UINT64_C(1) << node);
}

/* Takes what lies at `at` among the weights. The thread, if it is its operation. */
static struct fabric_thread *take(struct weak_pool *pool, uint64_t at, bool silent_only)
{
    for (struct fabric_thread *t = pool->threads; t; t = t->next) {
        if (!silent_only && wants_to_go(pool, t)) {
            if (at < t->go)
                return t;
            at -= t->go;
        }
        if (may_flush(t)) {
            if (at < t->flush) {
                weak_flush(t);
                return NULL;
            }
            at -= t->flush;
        }
        for (uint64_t nodes = t->active; nodes; nodes &= nodes - 1) {
            unsigned node = (unsigned)__builtin_ctzll(nodes);
            struct weak_queue *queue = &t->queues[node];
            if (at >= queue->total) {
                at -= queue->total;
                continue;
            }
            unsigned i = 0;
            while (at >= queue->weight[queue->steps[i].class])
                at -= queue->weight[queue->steps[i++].class];
            take_step(t, node, queue->steps[i]);
            return NULL;
        }
    }
    return NULL;
}

static uint64_t below(struct weak_pool *pool, uint64_t total)
{
    return (uint64_t)(((unsigned __int128)random_next(&pool->random) * total) >> 64);
}

/* Nothing is stalled any more: whether something was. */
static bool end_stalls(struct weak_pool *pool)
{
    bool any = false;
    for (struct fabric_thread *t = pool->threads; t; t = t->next)
        for (uint64_t nodes = t->active; nodes; nodes &= nodes - 1) {
            struct weak_queue *queue = &t->queues[__builtin_ctzll(nodes)];
            any |= queue->stalled != 0;
            queue->stale |= queue->stalled != 0;
            queue->stalled = 0;
        }
    return any;
}

/* Nothing happens but that threads wait for news: one of them looks again. */
static struct fabric_thread *choose_paused(struct weak_pool *pool)
{
    unsigned n = 0;
    for (struct fabric_thread *t = pool->threads; t; t = t->next)
        n += t->parked && t->need == WEAK_NEWS;
    if (n == 0)
        return NULL;
    n = random_below(&pool->random, n);
    pool->idle++;
    for (struct fabric_thread *t = pool->threads;; t = t->next)
        if (t->parked && t->need == WEAK_NEWS && n-- == 0)
            return t;
}

static void count_choice(struct weak_pool *pool)
{
    if (pool->choices++ >= pool->epoch_ends)
        draw_epoch(pool);
}

struct fabric_thread *weak_pool_choose(struct weak_pool *pool)
{
    for (;;) {
        uint64_t version = pool->version;
        count_choice(pool);
        uint64_t total = weigh(pool, false);
        if (total == 0 && end_stalls(pool))
            continue;
        if (total == 0)
            return choose_paused(pool);
        struct fabric_thread *next = take(pool, below(pool, total), false);
        if (pool->version != version)
            pool->idle = 0;
        if (next)
            return next;
    }
}

bool weak_pool_step(struct weak_pool *pool)
{
    count_choice(pool);
    uint64_t total = weigh(pool, true);
    if (total == 0 && pool->together && end_stalls(pool))
        total = weigh(pool, true);
    if (total == 0)
        return false;
    take(pool, below(pool, total), true);
    return true;
}

bool weak_pool_is_silent(const struct weak_pool *pool)
{
    for (const struct fabric_thread *t = pool->threads; t; t = t->next)
        if (t->active || t->buffer.count)
            return false;
    return true;
}
