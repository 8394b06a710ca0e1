/* The first node decides, by its environment and where the launcher put them all, and shows it to the others in the first
 * exchange: sizes, transport, the job's secret. If all are on one host it has also made the memory of the job, and
 * the others get it through /proc/PID/fd, which the kernel lets processes of the same user do; so the file needs no
 * name. Where that does not work for all of them, in containers for instance, the nodes are treated as if they were on
 * different hosts. Then each makes its own memory, with its own heap only. */
#include "job/meet.h"
#include "job/environment.h"
#include "job/hub.h"
#include "job/node.h"
#include "job/pmix.h"
#include "job/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELLO_VERSION 1u

struct hello {
    uint32_t version;
    int32_t error, pid, descriptor; /* descriptor: -1 if the nodes are to share no memory */
    uint64_t device, inode, heap, patience;
    uint32_t threads;
    char provider[16];
    unsigned char secret[SECRET];
};

static int read_environment(struct hello *hello)
{
    struct rem_options options;
    int error = environment_options(&options, &hello->patience);
    if (error)
        return error;
    if (options.provider && strlen(options.provider) >= sizeof hello->provider)
        return REM_EENVIRONMENT;
    hello->heap = options.heap;
    hello->threads = options.threads;
    snprintf(hello->provider, sizeof hello->provider, "%s", options.provider ? options.provider : "");
    return 0;
}

/* The memory of a job of which that is the word. */
static int make_memory(const struct hello *first, unsigned nodes, unsigned heaps, struct mapping **mapping)
{
    size_t heap = first->heap ? first->heap : DEFAULT_HEAP;
    struct rem_options options = {.heap = heap + (heaps < nodes ? FAR_ROOM : 0), .threads = first->threads};
    const char *provider = first->provider[0] ? first->provider : heaps < nodes ? DEFAULT_FAR_PROVIDER : NULL;
    int descriptor = layout_create(nodes, heaps, &options, provider);
    if (descriptor < 0)
        return descriptor;
    *mapping = mapping_new(descriptor);
    if (!*mapping) {
        close(descriptor);
        return REM_ENOMEM;
    }
    memcpy((*mapping)->control->secret, first->secret, SECRET);
    (*mapping)->control->patience = first->patience;
    return descriptor;
}

/* Of the first node. If it is to share memory it makes that here. */
static int decide(struct hello *hello, bool one_host, unsigned nodes, struct mapping **mapping)
{
    struct stat status;
    int error = read_environment(hello);
    if (!error && getrandom(hello->secret, SECRET, 0) != SECRET)
        error = REM_ESYSTEM;
    if (error || !one_host)
        return error;
    int descriptor = make_memory(hello, nodes, nodes, mapping);
    if (descriptor < 0)
        return descriptor;
    if (fstat(descriptor, &status) != 0) {
        close(descriptor);
        return REM_ESYSTEM;
    }
    hello->device = status.st_dev;
    hello->inode = status.st_ino;
    hello->descriptor = descriptor;
    return 0;
}

/* ---- All on one host ---- */

static struct mapping *map_first(const struct hello *first)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)first->pid, (int)first->descriptor);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    struct mapping *mapping = NULL;
    if (fstat(descriptor, &status) == 0 && status.st_dev == first->device && status.st_ino == first->inode)
        mapping = mapping_new(descriptor);
    close(descriptor);
    if (mapping && memcmp(mapping->control->secret, first->secret, SECRET) != 0) {
        mapping_drop(mapping);
        mapping = NULL;
    }
    return mapping;
}

/* Whether every node has come to the memory. */
static int all_can(struct rem_node *node, bool can, bool *all)
{
    unsigned char one = can, each[REM_MAX_NODES];
    int error = node->wire->exchange(node, &one, sizeof one, each);
    *all = !error;
    for (unsigned n = 0; n < node->nodes && !error; n++)
        *all = *all && each[n];
    return error;
}

static int share(struct rem_node *node, const struct hello hellos[], struct mapping **mapping)
{
    bool shared;
    if (node->self != 0)
        *mapping = map_first(&hellos[0]);
    int error = all_can(node, *mapping != NULL, &shared);
    if (node->self == 0)
        close(hellos[0].descriptor);
    if (*mapping && (error || !shared)) {
        mapping_drop(*mapping);
        *mapping = NULL;
    }
    return error;
}

static int settle_together(struct rem_node *node, struct mapping *mapping, const struct hello hellos[])
{
    pid_t pids[REM_MAX_NODES];
    for (unsigned n = 0; n < node->nodes; n++)
        pids[n] = hellos[n].pid;
    int error = node_settle(node, mapping, node->self);
    if (error)
        return error;
    node->watch = watch_start(node, pids);
    return node->watch ? 0 : REM_ESYSTEM;
}

/* ---- On several hosts ---- */

static int settle_apart(struct rem_node *node, const struct hello *first)
{
    struct mapping *mapping = NULL;
    int descriptor = make_memory(first, node->nodes, 1, &mapping);
    if (descriptor < 0)
        return descriptor;
    close(descriptor);
    return node_settle(node, mapping, node->self);
}

/* ---- Together ---- */

static int introduce(struct rem_node *node, bool one_host, struct hello hellos[], struct mapping **mapping)
{
    struct hello mine = {.version = HELLO_VERSION, .pid = (int32_t)getpid(), .descriptor = -1};
    if (node->self == 0)
        mine.error = decide(&mine, one_host, node->nodes, mapping);
    int error = node->wire->exchange(node, &mine, sizeof mine, hellos);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        error = hellos[n].version != HELLO_VERSION ? REM_EENVIRONMENT : hellos[n].error;
    return error;
}

static int find_place(struct rem_node *node, bool one_host)
{
    struct hello hellos[REM_MAX_NODES];
    struct mapping *mapping = NULL;
    int error = introduce(node, one_host, hellos, &mapping);
    if (!error && hellos[0].descriptor >= 0)
        error = share(node, hellos, &mapping);
    if (error) {
        if (mapping)
            mapping_drop(mapping);
        return error;
    }
    error = mapping ? settle_together(node, mapping, hellos) : settle_apart(node, &hellos[0]);
    if (!error && node->met->listen)
        node->met->listen(node);
    return error ? error : node_barrier(node);
}

/* Before there is memory to say it in. */
static void tell_why(rem_job *job, const struct rem_node *node, int error)
{
    const char *why = node->met->why ? node->met->why(node) : NULL;
    job->code = error;
    job->peer = (int)node->self;
    snprintf(job->text, sizeof job->text, "%s", why ? why : rem_strerror(error));
}

bool meet_called(void)
{
    return hub_called() || pmix_called();
}

int meet(rem_job *job)
{
    struct meeting_place place;
    struct rem_node *node = node_new();
    if (!node)
        return REM_ENOMEM;
    int error = hub_called() ? hub_open(node, &place) : pmix_open(node, &place);
    if (error) {
        snprintf(job->text, sizeof job->text, "%s", place.text[0] ? place.text : rem_strerror(error));
        job->code = error;
    } else {
        error = find_place(node, place.one_host);
        if (error)
            tell_why(job, node, error);
    }
    if (error)
        node_free_all(node);
    else
        job->node = node;
    return error;
}
