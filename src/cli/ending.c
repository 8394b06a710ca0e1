/* A job's end (ending.h). */
#include "cli/ending.h"
#include "cli/cli.h"

#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const char command[] = "remora launch";

enum { KILL_AFTER = 2 };

static double now(void)
{
    return (double)rem_clock() * 1e-9;
}

bool ending_open(struct ending *ending)
{
    static const int numbers[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&mask, numbers[i]);
    sigprocmask(SIG_BLOCK, &mask, &ending->old_mask);
    ending->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return ending->signals >= 0;
}

void ending_close(struct ending *ending)
{
    if (ending->signals < 0)
        return;
    close(ending->signals);
    sigprocmask(SIG_SETMASK, &ending->old_mask, NULL);
}

void ending_plan(struct ending *ending)
{
    if (ending->terminate_at == 0)
        ending->terminate_at = now() + ending->launch->grace;
}

/* The terminal sends its signals to nodes on this machine too, since they are in the launcher's process group. */
void ending_signals(struct ending *ending)
{
    struct signalfd_siginfo info;
    while (read(ending->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGCHLD)
            continue;
        if (info.ssi_code != SI_KERNEL || ending->far)
            ending->signal_all(ending->context, number);
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
            ending_plan(ending);
    }
}

void ending_keep_times(struct ending *ending)
{
    double time = now();
    if (ending->terminate_at != 0 && ending->kill_at == 0 && time >= ending->terminate_at) {
        ending->signal_all(ending->context, SIGTERM);
        ending->kill_at = time + KILL_AFTER;
    }
    if (ending->kill_at != 0 && time >= ending->kill_at)
        ending->signal_all(ending->context, SIGKILL);
}

int ending_timeout(const struct ending *ending)
{
    double at = ending->kill_at != 0 ? ending->kill_at : ending->terminate_at;
    if (at == 0)
        return -1;
    double left = at - now();
    return left > 0 ? (int)(left * 1000) + 1 : ending->kill_at != 0 ? 100 : 0;
}

static void report(const struct ending *ending, unsigned node, int status, bool left_open)
{
    if (ending->launch->quiet)
        return;
    if (WIFSIGNALED(status))
        complain(command, "node %u was killed by signal %d (%s)", node, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        complain(command, "node %u exited with status %d", node, WEXITSTATUS(status));
    else if (left_open)
        complain(command, "node %u exited without rem_close", node);
}

void ending_node(struct ending *ending, unsigned node, int status, bool left_open)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ending->status != 0)
        return;
    report(ending, node, status, left_open);
    ending->status = code ? code : left_open ? STATUS_FAILS : 0;
}
