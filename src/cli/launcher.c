/* The local launcher: fork and exec of the nodes, one loop over signals and output, and what happens when a node dies.
 *
 * A node dies if it is killed, or ends without rem_close while it has the job open. The others are told at once by a word of the
 * control block, which every blocking call looks at; they have `grace` seconds to end by themselves, then get SIGTERM, and
 * KILL_AFTER later SIGKILL. If the launcher itself is killed the kernel kills the nodes (PR_SET_PDEATHSIG). */
#include "cli/launcher.h"
#include "cli/cli.h"
#include "cli/prefix.h"
#include "job/environment.h"
#include "job/futex.h"
#include "job/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char command[] = "remora launch";

enum { KILL_AFTER = 2, EXEC_FAILED = 127 };

struct child {
    pid_t pid; /* 0 when it has ended */
    struct prefixed out, err;
};

struct launcher {
    const struct launch *launch;
    struct control *control;
    size_t size;
    int memory, signals;
    sigset_t old_mask;
    struct child children[REM_MAX_NODES];
    unsigned running;
    int status;
    double terminate_at, kill_at; /* seconds; 0: not planned */
};

static double now(void)
{
    return (double)rem_clock() * 1e-9;
}

/* ---- In the child ---- */

static void set_variable(const struct launcher *launcher, unsigned node)
{
    char text[80];
    struct stat status;
    fstat(launcher->memory, &status);
    snprintf(text, sizeof text, "1:%u:%d:%" PRIu64, node, launcher->memory, (uint64_t)status.st_ino);
    setenv(ENVIRONMENT_JOB, text, 1);
    fcntl(launcher->memory, F_SETFD, 0);
}

/* Node 0 reads the launcher's input. */
static void set_input(unsigned node)
{
    int nothing = node == 0 ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
}

static _Noreturn void become_node(const struct launcher *launcher, unsigned node, pid_t parent,
                                  const int pipes[2])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXEC_FAILED);
    sigprocmask(SIG_SETMASK, &launcher->old_mask, NULL);
    set_variable(launcher, node);
    set_input(node);
    if (launcher->launch->prefix) {
        dup2(pipes[0], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
    }
    execvp(launcher->launch->argv[0], launcher->launch->argv);
    if (node == 0)
        complain(command, "cannot run `%s': %s", launcher->launch->argv[0], strerror(errno));
    _exit(EXEC_FAILED);
}

/* ---- Starting ---- */

static bool start_node(struct launcher *launcher, unsigned node)
{
    struct child *child = &launcher->children[node];
    int pipes[2] = {-1, -1};
    if (launcher->launch->prefix)
        if (!prefixed_open(&child->out, STDOUT_FILENO, node, &pipes[0]) ||
            !prefixed_open(&child->err, STDERR_FILENO, node, &pipes[1]))
            return false;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_node(launcher, node, parent, pipes);
    if (launcher->launch->prefix) {
        close(pipes[0]);
        close(pipes[1]);
    }
    if (pid < 0)
        return false;
    child->pid = pid;
    launcher->running++;
    return true;
}

static int catch_signals(sigset_t *old_mask)
{
    static const int numbers[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&mask, numbers[i]);
    sigprocmask(SIG_BLOCK, &mask, old_mask);
    return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool set_up(struct launcher *launcher)
{
    const struct launch *launch = launcher->launch;
    launcher->memory = layout_create(launch->nodes, launch->nodes, &launch->options, launch->provider);
    if (launcher->memory < 0) {
        complain(command, "cannot create the memory of the job: %s",
                 launcher->memory == REM_ESYSTEM ? strerror(errno) : rem_strerror(launcher->memory));
        return false;
    }
    launcher->control = layout_map(launcher->memory, &launcher->size);
    launcher->signals = catch_signals(&launcher->old_mask);
    if (!launcher->control || launcher->signals < 0) {
        complain(command, "cannot start: %s", strerror(errno));
        return false;
    }
    launcher->control->patience = launch->patience;
    return true;
}

static void clean_up(struct launcher *launcher)
{
    if (launcher->control)
        munmap(launcher->control, launcher->size);
    if (launcher->memory >= 0)
        close(launcher->memory);
    if (launcher->signals >= 0) {
        close(launcher->signals);
        sigprocmask(SIG_SETMASK, &launcher->old_mask, NULL);
    }
}

/* ---- Ends ---- */

static void signal_all(struct launcher *launcher, int number)
{
    for (unsigned node = 0; node < launcher->launch->nodes; node++)
        if (launcher->children[node].pid)
            kill(launcher->children[node].pid, number);
}

static void plan_end(struct launcher *launcher)
{
    if (launcher->terminate_at == 0)
        launcher->terminate_at = now() + launcher->launch->grace;
}

/* A node that never opened the job and is gone makes the others' rem_open fail, if they call it. */
static void tell_others(struct launcher *launcher, unsigned node, bool failed)
{
    struct control *control = launcher->control;
    unsigned state = atomic_load(&control->node[node].state);
    if (state == NODE_OPEN || (failed && state == NODE_FRESH)) {
        layout_fail(control, REM_EDEAD, node, NULL);
        plan_end(launcher);
    } else if (state == NODE_FRESH) {
        atomic_fetch_add(&control->left, 1);
        futex_wake(&control->generation, INT_MAX);
    }
}

static void report(const struct launcher *launcher, unsigned node, int status)
{
    bool left_open = atomic_load(&launcher->control->node[node].state) == NODE_OPEN;
    if (launcher->launch->quiet)
        return;
    if (WIFSIGNALED(status))
        complain(command, "node %u was killed by signal %d (%s)", node, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        complain(command, "node %u exited with status %d", node, WEXITSTATUS(status));
    else if (left_open)
        complain(command, "node %u exited without rem_close", node);
}

static void node_ended(struct launcher *launcher, unsigned node, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    launcher->children[node].pid = 0;
    launcher->running--;
    if (launcher->status == 0) {
        report(launcher, node, status);
        bool left_open = atomic_load(&launcher->control->node[node].state) == NODE_OPEN;
        launcher->status = code ? code : left_open ? STATUS_FAILS : 0;
    }
    tell_others(launcher, node, code != 0);
}

static void reap(struct launcher *launcher)
{
    for (unsigned node = 0; node < launcher->launch->nodes; node++) {
        int status;
        pid_t pid = launcher->children[node].pid;
        if (pid && waitpid(pid, &status, WNOHANG) == pid)
            node_ended(launcher, node, status);
    }
}

/* The terminal sends its signals to the nodes too, since they are in the launcher's process group; others are passed on. */
static void take_signals(struct launcher *launcher)
{
    struct signalfd_siginfo info;
    while (read(launcher->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGCHLD)
            continue;
        if (info.ssi_code != SI_KERNEL)
            signal_all(launcher, number);
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
            plan_end(launcher);
    }
    reap(launcher);
}

static void keep_times(struct launcher *launcher)
{
    double time = now();
    if (launcher->terminate_at != 0 && launcher->kill_at == 0 && time >= launcher->terminate_at) {
        signal_all(launcher, SIGTERM);
        launcher->kill_at = time + KILL_AFTER;
    }
    if (launcher->kill_at != 0 && time >= launcher->kill_at)
        signal_all(launcher, SIGKILL);
}

static int next_timeout(const struct launcher *launcher)
{
    double at = launcher->kill_at != 0 ? launcher->kill_at : launcher->terminate_at;
    if (at == 0)
        return -1;
    double left = at - now();
    return left > 0 ? (int)(left * 1000) + 1 : launcher->kill_at != 0 ? 100 : 0;
}

static void loop(struct launcher *launcher)
{
    struct pollfd polled[1 + 2 * REM_MAX_NODES];
    struct prefixed *streams[1 + 2 * REM_MAX_NODES];
    while (launcher->running > 0) {
        nfds_t count = 0;
        polled[count++] = (struct pollfd){.fd = launcher->signals, .events = POLLIN};
        for (unsigned node = 0; node < launcher->launch->nodes && launcher->launch->prefix; node++) {
            count += prefixed_poll(&launcher->children[node].out, &polled[count], &streams[count]);
            count += prefixed_poll(&launcher->children[node].err, &polled[count], &streams[count]);
        }
        poll(polled, count, next_timeout(launcher));
        for (nfds_t i = 1; i < count; i++)
            if (polled[i].revents)
                prefixed_read(streams[i]);
        take_signals(launcher);
        keep_times(launcher);
    }
}

static void finish_output(struct launcher *launcher)
{
    for (unsigned node = 0; node < launcher->launch->nodes && launcher->launch->prefix; node++) {
        prefixed_close(&launcher->children[node].out);
        prefixed_close(&launcher->children[node].err);
    }
}

int launch_run(const struct launch *launch)
{
    struct launcher *launcher = calloc(1, sizeof *launcher);
    if (!launcher)
        return STATUS_BAD;
    launcher->launch = launch;
    launcher->memory = launcher->signals = -1;
    if (!set_up(launcher))
        launcher->status = STATUS_BAD;
    for (unsigned node = 0; node < launch->nodes && launcher->status == 0; node++)
        if (!start_node(launcher, node)) {
            complain(command, "cannot start node %u: %s", node, strerror(errno));
            launcher->status = STATUS_BAD;
            signal_all(launcher, SIGKILL);
        }
    loop(launcher);
    finish_output(launcher);
    int status = launcher->status;
    clean_up(launcher);
    free(launcher);
    return status;
}
