/* What a transport provider implements: RDMA-TSO and nothing more. (Sections 1 and 2 of the specification.)
 *
 * A fabric thread has a queue pair to every node. post appends operations to them; poll takes completions,
 * which come in the order of posting for each queue pair, one for each operation but the fence; so a
 * completion needs no name, a count tells which one it is. Everything else (work ids, locks, …) is built
 * above, by code that names no provider.
 *
 * The operations of one post are posted together: the thread executes nothing between them. They mean the
 * same as posted one by one; a provider may use that no CPU access of this thread falls between them. */
#ifndef REMORA_FABRIC_FABRIC_H
#define REMORA_FABRIC_FABRIC_H

#include "job/idle.h"

#include <stdbool.h>

enum fabric_kind { FABRIC_PUT, FABRIC_PUT_VALUE, FABRIC_GET, FABRIC_RCAS, FABRIC_RFAA, FABRIC_RFENCE };

enum {
    /* The local target is a word that no other thread and no remote operation accesses, ever. The thread
     * itself reads it after the completion. So nobody can tell when the result became visible to others. */
    FABRIC_PRIVATE = 1,
    /* An rfence towards the node stands right before the operation. */
    FABRIC_FENCED = 2,
    /* The addresses are the library's own and known to be registered. */
    FABRIC_KNOWN = 4
};

/* Addresses are those of this process: `remote` is a symmetric pointer, which stands for its offset on
 * `node`. */
struct fabric_op {
    unsigned short kind, flags;
    unsigned node;
    void *local;  /* source of PUT; target of GET, RCAS, RFAA */
    void *remote; /* target of PUT, RCAS, RFAA; source of GET */
    union {
        size_t size;    /* PUT, GET */
        uint64_t value; /* PUT_VALUE: the word; RFAA: the increment; RCAS: the new value */
    };
    uint64_t expected; /* RCAS; of the others undefined */
};

struct fabric_thread; /* a provider's own */
/* Words that a thread may look at without a call. */
struct fabric_signals {
    const unsigned *failure; /* not 0: the job has failed, see failure_word in job/layout.h */
    const unsigned *asleep;  /* 0: nobody sleeps, and wake would do nothing */
};

struct fabric_traits {
    const char *name, *brief;
    unsigned depth;   /* completions that a queue pair keeps, then post returns FABRIC_AGAIN; 0: any number */
    bool cpu_atomics; /* remote atomics are atomic against the CPU's */
    bool ordered_everywhere; /* operations towards different nodes are ordered too */
    bool immediate;          /* an operation has happened when post returns */
    bool shared;             /* it works on the heaps of all nodes, mapped in every process */
};

/* The CPU's accesses to a word. PAUSE: none, the thread waits for others. */
enum fabric_access { FABRIC_LOAD, FABRIC_STORE, FABRIC_CAS, FABRIC_FAA, FABRIC_XCHG, FABRIC_PAUSE };

/* What post returns besides 0 and errors. */
enum {
    FABRIC_AGAIN = 1, /* nothing has been posted, for want of room: take completions first */
    FABRIC_DONE = 2   /* posted, completed, and the completions have been taken, as by a poll right behind */
};

struct fabric {
    struct fabric_traits traits;

    /* Devices, registration of the heap, connections: what threads share. Collective, once for a node, when
     * node->wire can exchange; it leaves node->link. On an error it has undone everything, and should have said why by
     * job_fail. close: before the node leaves; the node's threads are detached. Null: nothing to do. */
    int (*open)(struct rem_node *node);
    void (*close)(struct rem_node *node);

    /* `owes` is the thread's flag byte, which CPU accesses read and write (rem_load). There are at most node->threads
     * + NODE_INNER_THREADS (job/node.h) of them at a time. */
    int (*attach)(struct rem_node *node, unsigned char *owes, struct fabric_thread **thread,
                  struct fabric_signals *signals);
    void (*detach)(struct fabric_thread *thread);

    /* A chain towards one node. 0, FABRIC_DONE, FABRIC_AGAIN, REM_EADDRESS or REM_ELOCAL; on an error nothing
     * has been posted. */
    int (*post)(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count);

    /* Takes at most `most` completions of the queue pair towards `node`: how many there were. It waits for none, since callers
     * come again; but where there is none it may rest for a moment, to let others work. Once the job has failed it may say that
     * all have completed. */
    unsigned (*poll)(struct fabric_thread *thread, unsigned node, unsigned most);

    /* Waiting, between two looks at the word idle->key, whose awaited value is `distance` steps away;
     * wait_end after the last look. wake: the word has taken the value. A provider may sleep in wait, for a
     * bounded time, or just return. */
    void (*wait)(struct fabric_thread *thread, struct idle *idle, uint64_t distance);
    void (*wait_end)(struct fabric_thread *thread, struct idle *idle);
    void (*wake)(struct fabric_thread *thread, uint64_t key, uint64_t value);

    /* mfence: completes what the thread's store buffer holds. */
    void (*drain)(struct fabric_thread *thread);

    /* The CPU's accesses of a thread that has REM_OWES_CALL among its flags (remora/wait.h), where attach has put it: the
     * value that was loaded, or that was there before. Null if it puts it nowhere. */
    uint64_t (*access)(struct fabric_thread *thread, enum fabric_access access, uint64_t *word,
                       uint64_t expected, uint64_t value);
};

/* The provider of a job, by name; null: the default. Null if there is none of that name. */
const struct fabric *fabric_find(const char *name);

/* All of them, null at the end. */
const struct fabric *const *fabric_all(void);

#endif
