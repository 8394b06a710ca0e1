/* See launched.h. */
#include "cli/launched.h"

#include <sys/prctl.h>
#include <unistd.h>

void launched_begin(pid_t parent, const sigset_t *mask, int status)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(status);
    sigprocmask(SIG_SETMASK, mask, NULL);
}
