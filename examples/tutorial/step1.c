/* Step 1: the nodes of a job. */
#include "../example.h"

int main(void)
{
    rem_job job;
    TRY(rem_open(&job));
    printf("hello from node %d of %d\n", rem_node_self(&job), rem_node_count(&job));
    TRY(rem_barrier(&job));
    TRY(rem_close(&job));
}
