/* Message passing: node 0 writes a message into node 1's memory, then a flag; node 1 waits for the flag and reads the message.
 *
 * Why it works: both puts go from one thread to one node, and aNRW_n is before a later aNRW_n (stamp order), so whoever sees the
 * flag sees the message. With the message and the flag on different nodes it would not.
 *
 *   remora launch -n 2 -- ./message_passing */
#include "example.h"

#include <string.h>

struct mailbox {
    char text[56];
    uint64_t full;
};

static void send(rem_thread *thread, struct mailbox *box, uint64_t number)
{
    snprintf(box->text, sizeof box->text, "message %d", (int)number);
    TRY(rem_put(thread, 1, box->text, box->text, sizeof box->text, 0));
    TRY(rem_put_value(thread, 1, &box->full, number, 0));
    TRY(rem_wait(thread, 0)); /* the text has been read, and may be overwritten */
}

static void receive(rem_thread *thread, struct mailbox *box, uint64_t number)
{
    char expected[sizeof box->text];
    while (rem_load(thread, &box->full) != number)
        rem_pause(thread);
    snprintf(expected, sizeof expected, "message %d", (int)number);
    if (strcmp(box->text, expected) != 0) {
        fprintf(stderr, "got `%s', not `%s'\n", box->text, expected);
        exit(1);
    }
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    void *memory;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_alloc(&job, sizeof(struct mailbox), &memory));
    for (uint64_t number = 1; number <= 1000; number++) {
        if (rem_node_self(&job) == 0)
            send(&thread, memory, number);
        else if (rem_node_self(&job) == 1)
            receive(&thread, memory, number);
        TRY(rem_barrier(&job)); /* the box is empty again */
    }
    if (rem_node_self(&job) == 0)
        printf("1000 messages\n");
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
