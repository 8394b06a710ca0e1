/* Waiting for a word to take a value: idle.c says how. */
#ifndef REMORA_JOB_IDLE_H
#define REMORA_JOB_IDLE_H

#include <remora/job.h>

#include <stdbool.h>

#define NAP_LIMIT 10000000u /* nanoseconds */

/* A waiter. Zero all but the first three, call node_idle between two looks at the word `key`, and
 * node_idle_end at the end. */
struct idle {
    uint64_t key, value; /* value: what is waited for */
    uint64_t limit;      /* a time of rem_clock that the wait should not outlast; 0: none */
    unsigned round;
    unsigned sequence; /* of the nap slot, when announced */
    bool announced;
};

/* `distance`: how many steps the value is away, at least 1. Returns after a pause, a yield or a nap. */
void node_idle(struct rem_node *node, struct idle *idle, uint64_t distance);
void node_idle_end(struct rem_node *node, struct idle *idle);

/* The word `key` has taken `value`: wakes who sleeps waiting for that. Not needed while control->sleepers is 0. */
void node_wake_sleepers(struct rem_node *node, uint64_t key, uint64_t value);

/* Registers the process with membarrier; false if the kernel refuses. */
bool idle_set_up(void);

#endif
