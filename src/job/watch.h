/* Watching the processes of a job on one host whose launcher does not tell of deaths. */
#ifndef REMORA_JOB_WATCH_H
#define REMORA_JOB_WATCH_H

#include <sys/types.h>

struct rem_node;
struct watch;

/* pids: those of the nodes, in order. Null if it can't be set up. From now on a process that ends without rem_close is
 * the job's failure. */
struct watch *watch_start(struct rem_node *node, const pid_t pids[]);
void watch_stop(struct watch *watch);

#endif
