/* remora launch: the options of the launcher. */
#include "cli/cli.h"
#include "cli/launcher.h"
#include "fabric/fabric.h"
#include "job/environment.h"

#include <string.h>

enum { KEY_PROVIDER = 256, KEY_HEAP, KEY_THREADS, KEY_GRACE };

static const struct argp_option option_table[] = {
    {"nodes", 'n', "N", 0, "Start N nodes (default 2)", 0},
    {"provider", KEY_PROVIDER, "NAME", 0, "The transport (default shm); `remora info' lists them", 0},
    {"heap", KEY_HEAP, "SIZE", 0, "Symmetric heap of each node: bytes, or with K, M, G (default 64M)", 0},
    {"threads", KEY_THREADS, "N", 0, "The most threads attached to a node at once (default 16)", 0},
    {"prefix", 'p', NULL, 0, "Print the node's number before each line of its output", 0},
    {"grace", KEY_GRACE, "SECONDS", 0, "How long the others may go on after a node has died (default 3)", 0},
    {"quiet", 'q', NULL, 0, "No message about nodes that fail", 0},
    {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct launch *launch = state->input;
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
    case ARGP_KEY_ARGS:
        launch->argv = state->argv + state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int launch_main(int argc, char **argv)
{
    static const struct argp parser = {option_table,
                                       parse_option,
                                       "[--] PROGRAM [ARGUMENT...]",
                                       "Runs PROGRAM as the nodes of a job on this machine.",
                                       NULL,
                                       NULL,
                                       NULL};
    struct launch launch = {.nodes = 2, .grace = 3};
    argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &launch);
    return launch_run(&launch);
}
