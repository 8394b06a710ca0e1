/* Step 2: symmetric memory, a put and a get. */
#include "../example.h"

int main(void)
{
    rem_job job;
    rem_thread thread;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, 3 * sizeof(uint64_t), &memory));
    uint64_t *mine = memory, *inbox = mine + 1, *copy = mine + 2;
    int self = rem_node_self(&job), next = (self + 1) % rem_node_count(&job);

    *mine = 100 + (uint64_t)self;
    TRY(rem_put(&thread, next, inbox, mine, sizeof *mine, 0)); /* my word into the next node's inbox */
    TRY(rem_gfence(&thread, REM_NODE(next)));                  /* … and now it is there */
    TRY(rem_barrier(&job));                                    /* … for all puts of all nodes */

    TRY(rem_get(&thread, copy, next, inbox, sizeof *copy, 0)); /* fetch it back */
    TRY(rem_wait(&thread, 0));                                 /* … and now it is here */
    printf("node %d: inbox %d, the next one's %d\n", self, (int)*inbox, (int)*copy);
    if (*copy != *mine)
        return 1;
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
