/* A job over several hosts by ssh alone: the hub, and its parts on the hosts. */
#ifndef REMORA_CLI_LAUNCH_SSH_H
#define REMORA_CLI_LAUNCH_SSH_H

#include "cli/launch_hosts.h"

/* As launch_run. */
int launch_by_ssh(const struct launch *launch, const struct hosts *hosts);

/* On a host: standard input and output lead to the hub. */
int launch_there(void);

#endif
