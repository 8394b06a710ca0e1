/* How a job ends, for whoever launches it: signals to the launcher, what a node's end means, and the times at which the others
 * are told to end. */
#ifndef REMORA_CLI_ENDING_H
#define REMORA_CLI_ENDING_H

#include "cli/launcher.h"

#include <signal.h>

struct ending {
    const struct launch *launch;
    int status;                   /* that the launcher will exit with */
    double terminate_at, kill_at; /* seconds; 0: not planned */
    int signals;                  /* a signalfd */
    sigset_t old_mask;
    /* Sends the signal to all nodes. */
    void (*signal_all)(void *context, int number);
    void *context;
    bool far; /* the terminal's signals don't reach the nodes by themselves */
};

/* Blocks the signals that ending_signals takes. False with errno. */
bool ending_open(struct ending *ending);
void ending_close(struct ending *ending);

/* Since a node has died, or the launcher was told to end. */
void ending_plan(struct ending *ending);

/* Takes what signals have come, and passes them on. */
void ending_signals(struct ending *ending);

/* Does what is due; milliseconds to the next time, as for poll. */
void ending_keep_times(struct ending *ending);
int ending_timeout(const struct ending *ending);

/* The node has ended with this status of waitpid, with the job open or not. Tells the user of the first that failed. */
void ending_node(struct ending *ending, unsigned node, int status, bool left_open);

#endif
