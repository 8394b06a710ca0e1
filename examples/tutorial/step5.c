/* Step 5: a lock. A list in node 0's memory grows from all sides, under a node lock. */
#include "../example.h"

enum { TIMES = 200, MOST = 4096 };

struct list {
    uint64_t length, items[MOST];
};

static void append(rem_thread *thread, rem_nlock *lock, struct list *list, uint64_t item)
{
    uint64_t length;
    TRY(rem_nlock_acquire(thread, lock));
    TRY(rem_get_value(thread, &length, 0, &list->length));
    TRY(rem_put_value(thread, 0, &list->items[length], item, 0));
    TRY(rem_put_value(thread, 0, &list->length, length + 1, 0));
    TRY(rem_nlock_release(thread, lock)); /* the next holder sees both puts */
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_nlock lock;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, sizeof(struct list), &memory));
    TRY(rem_nlock_init(&job, &lock, 0)); /* on the node of the data */
    struct list *list = memory;
    for (int i = 0; i < TIMES; i++)
        append(&thread, &lock, list, 1 + (uint64_t)rem_node_self(&job));
    TRY(rem_gfence(&thread, REM_ALL_NODES));
    TRY(rem_barrier(&job));
    if (rem_node_self(&job) == 0) {
        uint64_t sum = 0, nodes = (uint64_t)rem_node_count(&job);
        for (uint64_t i = 0; i < list->length; i++)
            sum += list->items[i];
        printf("%d items, sum %d\n", (int)list->length, (int)sum);
        if (list->length != nodes * TIMES || sum != nodes * (nodes + 1) / 2 * TIMES)
            return 1;
    }
    TRY(rem_barrier(&job));
    TRY(rem_nlock_destroy(&job, &lock));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
