/* The local launcher: fork and exec of the nodes, one loop over signals and output, and what happens when a node dies.
 *
 * A node dies if it is killed, or ends without rem_close while it has the job open. The others are told at once by a word of the
 * control block, which every blocking call looks at; they have `grace` seconds to end by themselves (ending.c). If the launcher
 * itself is killed the kernel kills the nodes (PR_SET_PDEATHSIG). */
#include "cli/launcher.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/launched.h"
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char command[] = "remora launch";

enum { EXEC_FAILED = 127 };

struct child {
    pid_t pid; /* 0 when it has ended */
    struct prefixed out, err;
};

struct launcher {
    const struct launch *launch;
    struct control *control;
    size_t size;
    int memory;
    struct ending ending;
    struct child children[REM_MAX_NODES];
    unsigned running;
};

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
    launched_begin(parent, &launcher->ending.old_mask, EXEC_FAILED);
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
    if (!launcher->control || !ending_open(&launcher->ending)) {
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
    ending_close(&launcher->ending);
}

/* ---- Ends ---- */

static void signal_all(void *context, int number)
{
    struct launcher *launcher = context;
    for (unsigned node = 0; node < launcher->launch->nodes; node++)
        if (launcher->children[node].pid)
            kill(launcher->children[node].pid, number);
}

/* A node that never opened the job and is gone makes the others' rem_open fail, if they call it. */
static void tell_others(struct launcher *launcher, unsigned node, bool failed)
{
    struct control *control = launcher->control;
    unsigned state = atomic_load(&control->node[node].state);
    if (state == NODE_OPEN || (failed && state == NODE_FRESH)) {
        layout_fail(control, REM_EDEAD, node, NULL);
        ending_plan(&launcher->ending);
    } else if (state == NODE_FRESH) {
        atomic_fetch_add(&control->left, 1);
        futex_wake(&control->generation, INT_MAX);
    }
}

static void node_ended(struct launcher *launcher, unsigned node, int status)
{
    bool left_open = atomic_load(&launcher->control->node[node].state) == NODE_OPEN;
    launcher->children[node].pid = 0;
    launcher->running--;
    ending_node(&launcher->ending, node, status, left_open);
    tell_others(launcher, node, !WIFEXITED(status) || WEXITSTATUS(status) != 0);
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

static void loop(struct launcher *launcher)
{
    struct pollfd polled[1 + 2 * REM_MAX_NODES];
    struct prefixed *streams[1 + 2 * REM_MAX_NODES];
    while (launcher->running > 0) {
        nfds_t count = 0;
        polled[count++] = (struct pollfd){.fd = launcher->ending.signals, .events = POLLIN};
        for (unsigned node = 0; node < launcher->launch->nodes && launcher->launch->prefix; node++) {
            count += prefixed_poll(&launcher->children[node].out, &polled[count], &streams[count]);
            count += prefixed_poll(&launcher->children[node].err, &polled[count], &streams[count]);
        }
        poll(polled, count, ending_timeout(&launcher->ending));
        for (nfds_t i = 1; i < count; i++)
            if (polled[i].revents)
                prefixed_read(streams[i]);
        ending_signals(&launcher->ending);
        reap(launcher);
        ending_keep_times(&launcher->ending);
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
    launcher->memory = -1;
    launcher->ending =
        (struct ending){.launch = launch, .signals = -1, .signal_all = signal_all, .context = launcher};
    if (!set_up(launcher))
        launcher->ending.status = STATUS_BAD;
    for (unsigned node = 0; node < launch->nodes && launcher->ending.status == 0; node++)
        if (!start_node(launcher, node)) {
            complain(command, "cannot start node %u: %s", node, strerror(errno));
            launcher->ending.status = STATUS_BAD;
            signal_all(launcher, SIGKILL);
        }
    loop(launcher);
    finish_output(launcher);
    int status = launcher->ending.status;
    clean_up(launcher);
    free(launcher);
    return status;
}
