/* Step 3: waiting for another node. A relay: a token goes round, each node adds its number. */
#include "../example.h"

struct baton {
    uint64_t sum, arrived;
};

int main(void)
{
    rem_job job;
    rem_thread thread;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, sizeof(struct baton), &memory));
    struct baton *baton = memory;
    int self = rem_node_self(&job), nodes = rem_node_count(&job), next = (self + 1) % nodes;

    if (self != 0)
        while (rem_load(&thread, &baton->arrived) == 0)
            rem_pause(&thread);
    uint64_t sum = baton->sum + (uint64_t)self;
    TRY(rem_put_value(&thread, next, &baton->sum, sum, 0));
    TRY(rem_put_value(&thread, next, &baton->arrived, 1, 0)); /* puts to one node arrive in order */
    if (self == 0) {
        while (rem_load(&thread, &baton->arrived) == 0)
            rem_pause(&thread);
        printf("the sum is %d\n", (int)baton->sum);
        if ((int)baton->sum != nodes * (nodes - 1) / 2)
            return 1;
    }
    TRY(rem_barrier(&job));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
