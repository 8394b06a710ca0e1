/* The buffers of RDMA-TSO as a provider keeps them, and the rules of the network card. (Section 2 of the specification.)
 *
 * One entry is one piece of an operation: a word, or a part of one, or (of large operations) some words that are read
 * and written one after another. The pieces of an operation stand side by side in the pipe in an order that the
 * adversary chose, and only the last of them gives a completion; so the words land in any order, one by one.
 *
 * Two of section 2's steps are taken as soon as they are enabled, since nobody can tell when they are: a fence at the
 * head of the pipe is removed (rule 1) and a put at the head is confirmed (rule 5), which only makes more possible. And
 * the local read of a put of a value is such a step, too, since nobody writes its source. */
#ifndef REMORA_FABRIC_WEAK_QUEUE_H
#define REMORA_FABRIC_WEAK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weak_kind {
    WEAK_STORE = 1, /* in the store buffer: *remote := value */
    WEAK_PUT,       /* source not read yet */
    WEAK_PUT_VALUE, /* likewise, and nobody writes the source */
    WEAK_PUTV,      /* source read */
    WEAK_ACK,       /* sent, not confirmed */
    WEAK_GET,
    WEAK_RCAS,
    WEAK_RFAA,
    WEAK_AW, /* the write half of a remote RMW, to be sent, and right behind it its local write */
    WEAK_LW, /* local write of a get or remote RMW */
    WEAK_FENCE
};

union weak_value {
    uint64_t word;
    void *bytes; /* when size > 8 */
};

struct weak_entry {
    uint8_t kind;
    uint8_t lost; /* not 0: a fault: the operation completes, and does nothing */
    bool last;    /* of its operation: a completion follows it */
    uint8_t node;
    uint32_t size;
    void *local, *remote; /* remote: where it is in this process */
    union weak_value
        value; /* PUT_VALUE, PUTV, AW: what is written; RFAA: the increment; RCAS: the new value */
    union weak_value result; /* LW, AW: what is written here; RCAS: the expected value */
    unsigned behind;         /* in wbL: the completions between this entry and the next */
};

/* First in, first out; the index counts from the oldest. Bounded, and the bound is a power of two. */
struct weak_ring {
    struct weak_entry *entries;
    uint32_t first, count;
};

enum { WEAK_RING = 128 };

static inline struct weak_entry *weak_at(const struct weak_ring *ring, uint32_t i)
{
    return &ring->entries[(ring->first + i) % WEAK_RING];
}

static inline struct weak_entry *weak_append(struct weak_ring *ring)
{
    return weak_at(ring, ring->count++);
}

static inline void weak_pop(struct weak_ring *ring)
{
    ring->first++;
    ring->count--;
}

/* What the adversary can hurry or hold up. */
enum weak_class {
    WEAK_FETCH,  /* rule 2: a put reads its source */
    WEAK_SEND,   /* 3, 12: a remote write is sent */
    WEAK_READ,   /* 6: a get reads */
    WEAK_ATOMIC, /* 9 to 11 */
    WEAK_RETURN, /* 7: a local write is sent */
    WEAK_LAND,   /* 4, 13: a remote write lands */
    WEAK_ARRIVE, /* 8: a local write lands */
    WEAK_CLASSES
};

struct weak_step {
    uint8_t class, at; /* at: which entry of the pipe */
};

enum { WEAK_STEPS = 24 };

/* The pipe, wbR and wbL of a thread towards a node. */
struct weak_queue {
    struct weak_ring pipe, remote, local;
    uint32_t ready;       /* completions at the head of wbL */
    uint32_t outstanding; /* operations posted whose completions have not been taken */
    uint8_t *busy;        /* A[n] */
    /* The adversary's: */
    bool stale; /* the steps have to be looked for again */
    uint8_t n_steps;
    struct weak_step steps[WEAK_STEPS];
    uint32_t epoch, total; /* of the weights; their sum over the steps */
    uint32_t weight[WEAK_CLASSES];
    uint64_t stalled; /* no step until then */
};

/* False if there is no memory. */
bool weak_queue_set_up(struct weak_queue *queue);
void weak_queue_free(struct weak_queue *queue);

static inline bool weak_queue_is_idle(const struct weak_queue *queue)
{
    return queue->pipe.count == 0 && queue->remote.count == 0 && queue->local.count == 0;
}

/* Writes the enabled steps to queue->steps; there are none when it is idle. */
void weak_queue_look(struct weak_queue *queue);

/* What a step did. */
enum {
    WEAK_CHANGED = 1, /* a word of memory has another value */
    WEAK_ATOMICS = 2, /* A[n] has been taken or freed */
    WEAK_FAILED = 4   /* an operation that is lost came to its end; `lost` tells which */
};
struct weak_effect {
    unsigned what;
    uint8_t lost;
};
struct weak_effect weak_queue_step(struct weak_queue *queue, struct weak_step step);

/* Faulty machines only: takes a completion although a local write before it has not landed. */
bool weak_queue_overlook(struct weak_queue *queue);

/* After an entry has been appended to the pipe. */
void weak_queue_settle(struct weak_queue *queue);

/* One access to memory that others use at the same time. weak_write: whether it changed anything. */
void weak_read(union weak_value *value, const void *from, uint32_t size);
bool weak_write(void *to, union weak_value value, uint32_t size);

#ifdef WEAK_MUTANTS
/* Builds for tests only: which rule is broken. */
#include "fabric/weak_mutants.h"
#else
#define WEAK_MUTANT(name) 0
#define WEAK_MUTANT_ANY 0
#define WEAK_MUTANT_DROPS(kind) 0u
#endif

#endif
