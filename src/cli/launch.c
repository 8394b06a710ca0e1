/* remora launch: its options. */
#include "cli/cli.h"
#include "cli/launch_hosts.h"
#include "cli/launch_ssh.h"
#include "cli/launcher.h"
#include "fabric/fabric.h"
#include "fabric/weak.h"
#include "fabric/weak_options.h"
#include "job/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_PROVIDER = 256,
    KEY_HEAP,
    KEY_THREADS,
    KEY_GRACE,
    KEY_TIMEOUT,
    KEY_HOSTS,
    KEY_HOSTFILE,
    KEY_RSH,
    KEY_LAUNCHER,
    KEY_THERE
};

struct arguments {
    struct launch launch;
    struct hosts hosts;
};

static const struct argp_option option_table[] = {
    {"nodes", 'n', "N", 0, "Start N nodes (default 2, or as many as the hosts have places)", 0},
    {"provider", KEY_PROVIDER, "NAME", 0,
     "The transport (default shm, and over several hosts ofi); `remora info' lists them", 0},
    {"hosts", KEY_HOSTS, "HOST[:PLACES],...", 0,
     "Start the nodes there, through srun, prterun or mpirun, or by ssh", 0},
    {"hostfile", KEY_HOSTFILE, "FILE", 0,
     "As --hosts, from a file with a host a line: NAME, NAME:PLACES or NAME slots=PLACES", 0},
    {"launcher", KEY_LAUNCHER, "NAME", 0,
     "What starts nodes on hosts: srun, prterun, mpirun, ssh, or auto, the first of these that can (default)",
     0},
    {"rsh", KEY_RSH, "COMMAND", 0, "What is used instead of ssh, with arguments or without", 0},
    {"there", KEY_THERE, NULL, OPTION_HIDDEN, NULL, 0},
    {"heap", KEY_HEAP, "SIZE", 0, "Symmetric heap of each node: bytes, or with K, M, G (default 64M)", 0},
    {"threads", KEY_THREADS, "N", 0, "The most threads attached to a node at once (default 16)", 0},
    {"prefix", 'p', NULL, 0, "Print the node's number before each line of its output", 0},
    {"grace", KEY_GRACE, "SECONDS", 0, "How long the others may go on after a node has died (default 3)", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0,
     "How long a node may leave a message unanswered before it is given up (default 10; 0: for ever)", 0},
    {"quiet", 'q', NULL, 0, "No message about nodes that fail", 0},
    {0}};

static void read_host_file(struct argp_state *state, const char *path)
{
    struct arguments *arguments = state->input;
    unsigned line;
    if (hosts_read(&arguments->hosts, path, &line)) {
        if (arguments->hosts.count == 0)
            argp_error(state, "no host in `%s'", path);
        return;
    }
    if (errno)
        argp_error(state, "cannot read `%s': %s", path, strerror(errno));
    argp_error(state, "%s:%u: not a host: NAME, NAME:PLACES or NAME slots=PLACES", path, line);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct launch *launch = &arguments->launch;
    switch (key) {
    case 'n':
        launch->nodes = (unsigned)option_number(state, "nodes", argument, 1, REM_MAX_NODES);
        return 0;
    case KEY_PROVIDER:
        launch->provider = argument;
        if (!fabric_find(argument))
            argp_error(state, "no provider `%s'; `remora info' lists them", argument);
        return 0;
    case KEY_HEAP:
        if (!environment_size(argument, &launch->options.heap))
            argp_error(state, "--heap: `%s' is not a size", argument);
        return 0;
    case KEY_THREADS:
        launch->options.threads = (unsigned)option_number(state, "threads", argument, 1, REM_MAX_THREADS);
        return 0;
    case KEY_HOSTS:
        if (!hosts_add(&arguments->hosts, argument))
            argp_error(state, "--hosts wants HOST[:PLACES],..., with 1 to %d places", REM_MAX_NODES);
        return 0;
    case KEY_HOSTFILE:
        read_host_file(state, argument);
        return 0;
    case KEY_RSH:
        if (argument[strspn(argument, " ")] == '\0')
            argp_error(state, "--rsh wants a command");
        arguments->hosts.rsh = argument;
        return 0;
    case KEY_LAUNCHER:
        if (!hosts_choose(&arguments->hosts, argument))
            argp_error(state, "--launcher wants auto, srun, prterun, mpirun or ssh, not `%s'", argument);
        return 0;
    case KEY_THERE:
        exit(launch_there());
    case KEY_TIMEOUT:
        if (!environment_seconds(argument, &launch->patience))
            argp_error(state, "--timeout wants a number of seconds, not `%s'", argument);
        return 0;
    case KEY_GRACE:
        launch->grace = option_seconds(state, "grace", argument);
        return 0;
    case 'p':
        launch->prefix = true;
        return 0;
    case 'q':
        launch->quiet = true;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no program given");
        return 0;
    case ARGP_KEY_END:
        if ((arguments->hosts.rsh || arguments->hosts.by != BY_CHOICE) && arguments->hosts.count == 0)
            argp_error(state, "--launcher and --rsh are for --hosts or --hostfile");
        return 0;
    case ARGP_KEY_ARGS:
        launch->argv = state->argv + state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What the weak provider's choices followed from: the library itself never prints. */
static void tell_adversary(const struct launch *launch)
{
    struct weak_options options;
    const char *bad;
    char text[200];
    if (launch->quiet || !launch->provider || strcmp(launch->provider, fabric_weak.traits.name) != 0)
        return;
    if (!weak_options_read(&options, getenv(ENVIRONMENT_WEAK), &bad))
        return;
    weak_options_write(&options, text, sizeof text);
    complain("remora launch", "the adversary was %s=%s", ENVIRONMENT_WEAK, text);
}

/* libinfinipath, which Debian's libfabric loads, catches the signals that end a process, prints a backtrace and exits with 1; how
 * a node has ended could then not be told. Nodes inherit the variable by which it lets that be. */
static void keep_signals(void)
{
    setenv("IPATH_NO_BACKTRACE", "1", 0);
}

int launch_main(int argc, char **argv)
{
    static const struct argp parser = {option_table,
                                       parse_option,
                                       "[--] PROGRAM [ARGUMENT...]",
                                       "Runs PROGRAM as the nodes of a job, on this machine or on others.",
                                       NULL,
                                       NULL,
                                       NULL};
    struct arguments arguments = {.launch = {.grace = 3}};
    struct launch *launch = &arguments.launch;
    keep_signals();
    const char *wrong = environment_wrong(&launch->options, &launch->patience);
    if (wrong) {
        complain("remora launch", "%s can't be `%s'", wrong, getenv(wrong));
        return STATUS_BAD;
    }
    launch->provider = launch->options.provider;
    if (launch->provider && !fabric_find(launch->provider)) {
        complain("remora launch", "REMORA_PROVIDER: no provider `%s'; `remora info' lists them",
                 launch->provider);
        return STATUS_BAD;
    }
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
    if (launch->nodes == 0)
        launch->nodes = arguments.hosts.count ? hosts_slots(&arguments.hosts) : 2;
    int status = arguments.hosts.count ? launch_on_hosts(launch, &arguments.hosts) : launch_run(launch);
    if (status != 0)
        tell_adversary(launch);
    hosts_free(&arguments.hosts);
    return status;
}
