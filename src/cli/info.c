/* remora info: the providers, what each can do, and the limits of the runtime. */
#include "cli/cli.h"
#include "fabric/fabric.h"
#include "job/layout.h"
#include "tower/thread.h"

#include <jansson.h>
#include <stdio.h>

static const struct argp_option option_table[] = {{"json", 'j', NULL, 0, "Print JSON", 0}, {0}};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    bool *json = state->input;
    if (key == 'j') {
        *json = true;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        argp_error(state, "`%s' is not an option", argument);
    return key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

/* Bytes of a thread's state in a job of one node, and for each further node. */
static size_t thread_bytes(void)
{
    return sizeof(struct rem_thread_state) + sizeof(uint64_t[WORKS]);
}

static void print_provider(const struct fabric_traits *traits)
{
    printf("provider %s: %s\n", traits->name, traits->brief);
    printf("  remote atomics are atomic against the CPU's   %s\n", traits->cpu_atomics ? "yes" : "no");
    printf("  operations to different nodes stay in order   %s\n", traits->ordered_everywhere ? "yes" : "no");
    printf("  an operation has happened when it is posted   %s\n", traits->immediate ? "yes" : "no");
    if (traits->depth)
        printf("  operations outstanding to a node, at most     %u\n", traits->depth);
    else
        printf("  operations outstanding to a node, at most     any number\n");
}

/* Of the build; empty: without it. */
static const struct {
    const char *name, *version, *what;
} libraries[] = {{"pmix", REMORA_PMIX, "under mpirun, prterun, srun"},
                 {"libfabric", REMORA_LIBFABRIC, "provider ofi"},
                 {"libibverbs", REMORA_LIBIBVERBS, "provider verbs"}};

static void print_libraries(void)
{
    printf("built with\n");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        printf("  %-10s %-34s %s\n", libraries[i].name, libraries[i].what,
               *libraries[i].version ? libraries[i].version : "no");
}

static void print_text(void)
{
    printf("remora %s\n", REMORA_VERSION);
    print_libraries();
    for (const struct fabric *const *fabric = fabric_all(); *fabric; fabric++)
        print_provider(&(*fabric)->traits);
    printf("limits\n");
    printf("  nodes of a job                                %d\n", REM_MAX_NODES);
    printf("  threads attached to a node                    %d (default %u)\n", REM_MAX_THREADS,
           DEFAULT_THREADS);
    printf("  work ids of a thread                          %d\n", REM_WORK_IDS);
    printf("  symmetric heap of a node                      as given (default %zu MiB)\n",
           DEFAULT_HEAP >> 20);
    printf("  bytes for an attached thread                  %zu, and %zu for each further node\n",
           thread_bytes(), sizeof(uint64_t[WORKS]));
}

static json_t *provider_json(const struct fabric_traits *traits)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:b, s:i}", "name", traits->name, "brief", traits->brief,
                     "cpu_atomics", traits->cpu_atomics, "ordered_everywhere", traits->ordered_everywhere,
                     "immediate", traits->immediate, "depth", (int)traits->depth);
}

static json_t *libraries_json(void)
{
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        json_object_set_new(object, libraries[i].name,
                            *libraries[i].version ? json_string(libraries[i].version) : json_null());
    return object;
}

static void print_json(void)
{
    json_t *providers = json_array();
    for (const struct fabric *const *fabric = fabric_all(); *fabric; fabric++)
        json_array_append_new(providers, provider_json(&(*fabric)->traits));
    json_t *info =
        json_pack("{s:s, s:o, s:o, s:{s:i, s:i, s:i, s:i, s:I, s:I, s:I}}", "version", REMORA_VERSION,
                  "libraries", libraries_json(), "providers", providers, "limits", "nodes", REM_MAX_NODES,
                  "threads", REM_MAX_THREADS, "threads_default", (int)DEFAULT_THREADS, "work_ids",
                  REM_WORK_IDS, "heap_default", (json_int_t)DEFAULT_HEAP, "thread_bytes",
                  (json_int_t)thread_bytes(), "thread_bytes_for_a_node", (json_int_t)sizeof(uint64_t[WORKS]));
    json_dumpf(info, stdout, JSON_INDENT(1));
    printf("\n");
    json_decref(info);
}

int info_main(int argc, char **argv)
{
    static const struct argp parser = {option_table, parse_option, NULL, "Tells what the runtime can do.",
                                       NULL,         NULL,         NULL};
    bool json = false;
    argp_parse(&parser, argc, argv, 0, NULL, &json);
    if (json)
        print_json();
    else
        print_text();
    return STATUS_HOLDS;
}
