/* What the processes that `remora launch` forks begin with. */
#ifndef REMORA_CLI_LAUNCHED_H
#define REMORA_CLI_LAUNCHED_H

#include <signal.h>
#include <sys/types.h>

/* In the child: it dies with its parent, at once with this status if that is gone already, and takes these signals again. */
void launched_begin(pid_t parent, const sigset_t *mask, int status);

#endif
