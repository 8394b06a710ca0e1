/* Barrier, exchange and liveness over the transport itself, by puts into a board that every heap has at the same place.
 *
 * The board has a line for each node, which that node alone writes: the number of the collective call it has arrived at,
 * which only grows. The barrier is dissemination: in round k a node tells the one 2^k further on that it and those it
 * has heard of have arrived; with rounds up to the number of nodes each has heard of all. In an exchange a node puts
 * its piece and then its number to all others. Puts to one node land in order (nrW before nrW of a queue pair), so who reads
 * the number finds the piece. Two slates take turns: who shows a piece of call c + 2 has finished call c + 1, at which
 * all others had arrived, done with the pieces of c.
 *
 * Liveness: a thread of its own reads a word of every other node now and then. Whatever breaks the connection fails
 * this read, and the transport says so; and if nothing says anything, the read stays unanswered for longer than the
 * job's patience. Every node looks after all others, so each learns of a death by itself. */
#include "fabric/far.h"
#include "fabric/fabric.h"
#include "job/inner.h"
#include "job/node.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SPINS = 200,
    YIELDS = 100,
    NAP = 20000, /* nanoseconds, then more */
    NAP_MOST = 200000,
    BEAT = 50000000, /* between two looks after the others */
};

struct line {
    alignas(LINE) uint64_t arrived; /* at the collective call of that number */
    uint64_t left;                  /* 0, or 1 + the number of the last collective call before rem_close */
};

struct board {
    struct line from[REM_MAX_NODES];
    alignas(LINE) uint64_t beat;                  /* what the others read */
    alignas(LINE) uint64_t answer[REM_MAX_NODES]; /* where these reads go */
    alignas(LINE) unsigned char slate[2][REM_MAX_NODES][SLATE];
};

/* A thread of the transport, and its unfinished operations towards each node. */
struct usher {
    struct fabric_thread *link;
    unsigned char owes;
    unsigned pending[REM_MAX_NODES];
};

struct far {
    struct board *board; /* the own one, which names the place of the others too */
    uint64_t call;       /* the number of the last collective call */
    struct usher usher;  /* of who is in a collective call */

    struct usher watcher;          /* of the thread that looks after the others */
    uint64_t asked[REM_MAX_NODES]; /* when the unanswered read was posted */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stopped, watching;
};

/* ---- Operations ---- */

static void take(struct rem_node *node, struct usher *usher, unsigned to)
{
    if (usher->pending[to])
        usher->pending[to] -= node->fabric->poll(usher->link, to, usher->pending[to]);
}

static void rest(unsigned round)
{
    if (round < SPINS) {
        __builtin_ia32_pause();
    } else if (round < SPINS + YIELDS) {
        sched_yield();
    } else {
        unsigned naps = round - SPINS - YIELDS;
        long length = naps < NAP_MOST / NAP ? NAP * (long)(1 + naps) : NAP_MOST;
        nanosleep(&(struct timespec){0, length}, NULL);
    }
}

static int send(struct rem_node *node, struct usher *usher, const struct fabric_op *ops, unsigned count)
{
    unsigned to = ops[0].node;
    int result;
    for (unsigned round = 0; (result = node->fabric->post(usher->link, ops, count)) == FABRIC_AGAIN;
         round++) {
        int failure = node_failure(node);
        if (failure)
            return failure;
        take(node, usher, to);
        rest(round);
    }
    if (result == 0)
        usher->pending[to] += count;
    return result == FABRIC_DONE ? 0 : result;
}

static int finish(struct rem_node *node, struct usher *usher, unsigned to)
{
    for (unsigned round = 0; usher->pending[to]; round++) {
        int failure = node_failure(node);
        if (failure)
            return failure;
        take(node, usher, to);
        rest(round);
    }
    return 0;
}

static struct fabric_op put_word(unsigned to, uint64_t *word, uint64_t value)
{
    return (struct fabric_op){.kind = FABRIC_PUT_VALUE, .node = to, .remote = word, .value = value};
}

/* ---- Collective calls ---- */

static uint64_t look(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* 0, or why call number `call` can't come to its end: a node that had not arrived at it has left, or the job has failed. */
static int hopeless(const struct rem_node *node, uint64_t call)
{
    int failure = node_failure(node);
    for (unsigned n = 0; n < node->nodes && !failure; n++) {
        uint64_t left = look(&node->far->board->from[n].left);
        if (left && left - 1 < call)
            failure = REM_EDEAD;
    }
    return failure;
}

/* What arrived before the reason to give up counts. */
static int await(struct rem_node *node, unsigned from, uint64_t call)
{
    const uint64_t *arrived = &node->far->board->from[from].arrived;
    for (unsigned round = 0; look(arrived) < call; round++) {
        int failure = hopeless(node, call);
        if (failure && look(arrived) < call)
            return failure;
        for (unsigned n = 0; n < node->nodes; n++)
            take(node, &node->far->usher, n);
        rest(round);
    }
    return 0;
}

static int announce(struct rem_node *node, unsigned to, uint64_t call)
{
    struct fabric_op op = put_word(to, &node->far->board->from[node->self].arrived, call);
    return send(node, &node->far->usher, &op, 1);
}

static int far_barrier(struct rem_node *node)
{
    struct far *far = node->far;
    uint64_t call = ++far->call;
    int error = hopeless(node, call);
    node->fabric->drain(far->usher.link);
    for (unsigned step = 1; step < node->nodes && !error; step *= 2) {
        error = announce(node, (node->self + step) % node->nodes, call);
        if (!error)
            error = await(node, (node->self + node->nodes - step) % node->nodes, call);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return error;
}

static int show(struct rem_node *node, unsigned to, unsigned char *piece, size_t size, uint64_t call)
{
    struct fabric_op ops[2] = {
        {.kind = FABRIC_PUT, .node = to, .local = piece, .remote = piece, .size = size},
        put_word(to, &node->far->board->from[node->self].arrived, call)};
    return send(node, &node->far->usher, ops, 2);
}

static int exchange_piece(struct rem_node *node, const void *mine, size_t size, void *all, size_t stride)
{
    struct far *far = node->far;
    uint64_t call = ++far->call;
    unsigned char(*slate)[SLATE] = far->board->slate[call % 2];
    int error = hopeless(node, call);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        error = finish(node, &far->usher, n); /* the put of two calls ago has read the piece of that time */
    memcpy(slate[node->self], mine, size);
    node->fabric->drain(far->usher.link);
    for (unsigned n = 1; n < node->nodes && !error; n++)
        error = show(node, (node->self + n) % node->nodes, slate[node->self], size, call);
    for (unsigned n = 1; n < node->nodes && !error; n++)
        error = await(node, (node->self + n) % node->nodes, call);
    for (unsigned n = 0; n < node->nodes; n++)
        memcpy((char *)all + n * stride, slate[n], size);
    return error;
}

static int far_exchange(struct rem_node *node, const void *mine, size_t size, void *all)
{
    int error = 0;
    for (size_t done = 0; done < size && !error; done += SLATE)
        error = exchange_piece(node, (const char *)mine + done, size - done < SLATE ? size - done : SLATE,
                               (char *)all + done, size);
    return error;
}

static const struct wire wire_far = {
    .name = "the transport", .exchange = far_exchange, .barrier = far_barrier};

_Static_assert(sizeof(struct board) <= FAR_ROOM, "the heap has room for the board");

/* ---- Looking after the others ---- */

static void blame(struct rem_node *node, unsigned n)
{
    char text[FAILURE_TEXT];
    snprintf(text, sizeof text, "node %u has not answered for %.1f s", n,
             (double)node->control->patience * 1e-9);
    job_fail(node, REM_EUNREACHABLE, n, text);
}

static void ask(struct rem_node *node, unsigned n, uint64_t now)
{
    struct far *far = node->far;
    struct fabric_op op = {.kind = FABRIC_GET,
                           .flags = FABRIC_KNOWN,
                           .node = n,
                           .local = &far->board->answer[n],
                           .remote = &far->board->beat,
                           .size = sizeof(uint64_t)};
    if (node->fabric->post(far->watcher.link, &op, 1) == 0)
        far->watcher.pending[n]++;
    far->asked[n] = now;
}

/* `slept`: when this was last called. If that is long ago it was this process that slept, and the others get another chance. */
static void look_after(struct rem_node *node, uint64_t slept)
{
    struct far *far = node->far;
    uint64_t now = rem_clock(), patience = node->control->patience;
    for (unsigned n = 0; n < node->nodes && !node_failure(node); n++) {
        if (n == node->self)
            continue;
        take(node, &far->watcher, n);
        if (!far->watcher.pending[n])
            ask(node, n, now);
        else if (now - slept > patience / 2)
            far->asked[n] = now;
        else if (patience && now - far->asked[n] > patience)
            blame(node, n);
    }
}

static void *watch(void *argument)
{
    struct rem_node *node = argument;
    struct far *far = node->far;
    uint64_t slept = rem_clock();
    pthread_mutex_lock(&far->mutex);
    while (!far->stopped) {
        pthread_mutex_unlock(&far->mutex);
        look_after(node, slept);
        slept = rem_clock();
        pthread_mutex_lock(&far->mutex);
        if (!far->stopped)
            inner_wait(&far->changed, &far->mutex, BEAT);
    }
    pthread_mutex_unlock(&far->mutex);
    return NULL;
}

static bool start_watching(struct rem_node *node)
{
    return node->far->watching = inner_thread(&node->far->thread, watch, node);
}

static void stop_watching(struct far *far)
{
    if (!far->watching)
        return;
    pthread_mutex_lock(&far->mutex);
    far->stopped = true;
    pthread_cond_signal(&far->changed);
    pthread_mutex_unlock(&far->mutex);
    pthread_join(far->thread, NULL);
    far->watching = false;
}

/* ---- Opening and closing ---- */

static int attach(struct rem_node *node, struct usher *usher)
{
    struct fabric_signals signals;
    return node->fabric->attach(node, &usher->owes, &usher->link, &signals);
}

static void free_far(struct rem_node *node)
{
    struct far *far = node->far;
    stop_watching(far);
    if (far->watcher.link)
        node->fabric->detach(far->watcher.link);
    if (far->usher.link)
        node->fabric->detach(far->usher.link);
    pthread_mutex_destroy(&far->mutex);
    pthread_cond_destroy(&far->changed);
    free(far);
    node->far = NULL;
}

static int set_up(struct rem_node *node)
{
    size_t offset;
    int error = heap_take(&node->heap, sizeof(struct board), &offset);
    if (error)
        return error;
    node->far->board = (struct board *)(void *)(node->home + offset);
    error = attach(node, &node->far->usher);
    if (!error)
        error = attach(node, &node->far->watcher);
    if (!error)
        error = node_barrier(node); /* all boards are there */
    return error ? error : start_watching(node) ? 0 : REM_ENOMEM;
}

int far_open(struct rem_node *node)
{
    struct far *far = node->far = calloc(1, sizeof *far);
    if (!far)
        return REM_ENOMEM;
    inner_condition(&far->changed);
    pthread_mutex_init(&far->mutex, NULL);
    int error = set_up(node);
    if (error)
        free_far(node);
    else
        node->wire = &wire_far;
    return error;
}

/* Who waits for this node in a collective call is told that it won't come. */
static void say_goodbye(struct rem_node *node)
{
    struct far *far = node->far;
    for (unsigned n = 0; n < node->nodes && !node_failure(node); n++) {
        struct fabric_op op = put_word(n, &far->board->from[node->self].left, 1 + far->call);
        if (n != node->self)
            send(node, &far->usher, &op, 1);
    }
    for (unsigned n = 0; n < node->nodes; n++)
        finish(node, &far->usher, n);
}

void far_close(struct rem_node *node)
{
    say_goodbye(node);
    node->met->leave(node);
    free_far(node);
}
