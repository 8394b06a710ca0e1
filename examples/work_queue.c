/* A work queue: a bounded ring of Concurrency Kit (ck_ring.h), which knows nothing of nodes, made a linearisable queue of the whole
 * job by rem_object. Node 0 hands out numbers; the others square them and hand the squares back in a second queue.
 *
 *   remora launch -n 3 -- ./work_queue */
#include "example.h"

#include <ck_ring.h>

struct item {
    uint64_t number;
};
CK_RING_PROTOTYPE(work, item)

enum { ROOM = 64, ITEMS = 2000 };
/* A flat struct: the ring has indices, and its items are an array beside it. */
struct queue {
    ck_ring_t ring;
    struct item items[ROOM];
};

static int set_up(void *copy, void *argument)
{
    struct queue *queue = copy;
    (void)argument;
    ck_ring_init(&queue->ring, ROOM);
    return 0;
}

static int enqueue(void *copy, void *argument)
{
    struct queue *queue = copy;
    return CK_RING_ENQUEUE_SPSC(work, &queue->ring, queue->items, (struct item *)argument);
}

static int dequeue(void *copy, void *argument)
{
    struct queue *queue = copy;
    return CK_RING_DEQUEUE_SPSC(work, &queue->ring, queue->items, (struct item *)argument);
}

/* Until there was room, or something there. */
static void insist(rem_thread *thread, rem_object *queue, rem_object_function *function, struct item *item)
{
    for (int done = 0; done == 0;)
        TRY(done = rem_object_call(thread, queue, function, item));
}

static void hand_out(rem_thread *thread, rem_object *work, rem_object *results, int workers)
{
    uint64_t sum = 0, expected = 0, sent = 0, received = 0;
    struct item item;
    while (received < ITEMS) {
        item.number = sent + 1;
        if (sent < ITEMS && rem_object_call(thread, work, enqueue, &item) == 1)
            sent++;
        if (rem_object_call(thread, results, dequeue, &item) == 1) {
            sum += item.number;
            received++;
            expected += received * received;
        }
    }
    item.number = 0; /* the end, once for each */
    for (int i = 0; i < workers; i++)
        insist(thread, work, enqueue, &item);
    printf("sum of %d squares: %llu\n", ITEMS, (unsigned long long)sum);
    if (sum != expected)
        exit(1);
}

static void work_off(rem_thread *thread, rem_object *work, rem_object *results)
{
    struct item item = {1};
    while (insist(thread, work, dequeue, &item), item.number != 0) {
        item.number *= item.number;
        insist(thread, results, enqueue, &item);
    }
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_object work, results;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_object_init(&job, &work, sizeof(struct queue), 0));
    TRY(rem_object_init(&job, &results, sizeof(struct queue), rem_node_count(&job) - 1));
    if (rem_node_self(&job) == 0) {
        TRY(rem_object_call(&thread, &work, set_up, NULL));
        TRY(rem_object_call(&thread, &results, set_up, NULL));
    }
    TRY(rem_barrier(&job));
    if (rem_node_self(&job) == 0)
        hand_out(&thread, &work, &results, rem_node_count(&job) - 1);
    else
        work_off(&thread, &work, &results);
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
