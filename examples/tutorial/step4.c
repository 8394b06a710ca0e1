/* Step 4: remote atomics. Every node takes numbers from one dispenser; no number is taken twice. */
#include "../example.h"

enum { TIMES = 1000 };

int main(void)
{
    rem_job job;
    rem_thread thread;
    void *memory;
    uint64_t number, sum = 0, old;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, 2 * sizeof(uint64_t), &memory));
    uint64_t *dispenser = memory, *total = dispenser + 1;
    for (int i = 0; i < TIMES; i++) {
        TRY(rem_fetch_add(&thread, &number, 0, dispenser, 1));
        sum += number;
    }
    TRY(rem_fetch_add(&thread, &old, 0, total, sum));
    TRY(rem_barrier(&job));
    TRY(rem_get_value(&thread, &sum, 0, total));
    uint64_t count = (uint64_t)rem_node_count(&job) * TIMES;
    if (rem_node_self(&job) == 0)
        printf("%d numbers, sum %llu\n", (int)count, (unsigned long long)sum);
    if (sum != count * (count - 1) / 2)
        return 1;
    TRY(rem_barrier(&job));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
