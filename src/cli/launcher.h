/* Runs a job on this machine: the node processes, their memory, output, signals and ends. */
#ifndef REMORA_CLI_LAUNCHER_H
#define REMORA_CLI_LAUNCHER_H

#include <remora/job.h>

#include <stdbool.h>
#include <stdint.h>

struct launch {
    unsigned nodes;
    struct rem_options options;
    const char *provider; /* null: the default */
    bool prefix;          /* each line of output is preceded by "[node] " */
    bool quiet;           /* no message about a node that fails */
    uint64_t patience;    /* nanoseconds that a node may leave a message unanswered; 0: any time */
    double grace;         /* seconds from a death to the end of the others */
    char **argv;
};

/* The exit status: 0 if that of every node is, else that of the first that failed; 128 + the signal if it was killed; 2 if the
 * job could not be started. */
int launch_run(const struct launch *launch);

#endif
