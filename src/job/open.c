/* Becoming a node: from the launcher's environment, alone, or with all nodes in one process. The transport is opened
 * above, by src/fabric/open.c. */
#include "job/environment.h"
#include "job/meet.h"
#include "job/node.h"
#include "job/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void mapping_drop(struct mapping *mapping)
{
    if (atomic_fetch_sub(&mapping->users, 1) != 1)
        return;
    munmap(mapping->control, mapping->size);
    free(mapping);
}

struct mapping *mapping_new(int descriptor)
{
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping)
        return NULL;
    mapping->control = layout_map(descriptor, &mapping->size);
    if (!mapping->control) {
        free(mapping);
        return NULL;
    }
    atomic_init(&mapping->users, 1);
    return mapping;
}

struct rem_node *node_new(void)
{
    struct rem_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    node->descriptor = -1;
    pthread_mutex_init(&node->mutex, NULL);
    return node;
}

/* The heaps are those of all nodes, or the own one alone; then the nodes have no control block together. */
int node_settle(struct rem_node *node, struct mapping *mapping, unsigned self)
{
    struct control *control = mapping->control;
    char *heaps = (char *)control + layout_control_size();
    bool shared = control->heaps == control->nodes;
    node->self = self;
    node->nodes = control->nodes;
    node->threads = control->threads;
    node->control = control;
    node->mapping = mapping;
    if (shared)
        node->wire = &wire_control;
    node->memory = shared ? heaps : NULL;
    node->heap_size = control->heap;
    node->home = shared ? heaps + self * node->heap_size : heaps;
    node->fences_others = idle_set_up();
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    node->processors = processors > 0 ? (unsigned)processors : 1;
    int error = heap_init(&node->heap, node->heap_size, node_reserved(node));
    if (!error)
        atomic_store(&control->node[self].state, NODE_OPEN);
    return error;
}

void node_free_all(struct rem_node *node)
{
    if (node->watch)
        watch_stop(node->watch);
    if (node->met)
        node->met->close(node);
    heap_free(&node->heap);
    pthread_mutex_destroy(&node->mutex);
    if (node->mapping)
        mapping_drop(node->mapping);
    if (node->descriptor >= 0)
        close(node->descriptor);
    free(node);
}

/* A node over the mapping, whose reference it takes; null if there is no memory or the heap is too small. */
static struct rem_node *new_node(struct mapping *mapping, unsigned self)
{
    struct rem_node *node = node_new();
    if (!node) {
        mapping_drop(mapping);
        return NULL;
    }
    if (node_settle(node, mapping, self) != 0) {
        node_free_all(node);
        return NULL;
    }
    return node;
}

int job_open_nodes(rem_job jobs[], unsigned nodes, const struct rem_options *options)
{
    int descriptor = layout_create(nodes, nodes, options, options ? options->provider : NULL);
    if (descriptor < 0)
        return descriptor;
    struct mapping *mapping = mapping_new(descriptor);
    close(descriptor);
    if (!mapping)
        return REM_ENOMEM;
    mapping->one_process = true;
    for (unsigned n = 0; n < nodes; n++) {
        atomic_fetch_add(&mapping->users, 1);
        jobs[n].node = new_node(mapping, n);
        if (jobs[n].node)
            continue;
        while (n-- > 0)
            job_close(&jobs[n]);
        mapping_drop(mapping);
        return REM_ENOMEM;
    }
    mapping_drop(mapping);
    return 0;
}

static int open_alone(rem_job *job)
{
    struct rem_options options;
    uint64_t patience;
    const char *wrong = environment_wrong(&options, &patience);
    if (!wrong)
        return job_open_nodes(job, 1, &options);
    job->code = REM_EENVIRONMENT;
    job->peer = 0;
    snprintf(job->text, sizeof job->text, "%s can't be `%s'", wrong, getenv(wrong));
    return job->code;
}

/* The variable names a descriptor. A process further down may have inherited the variable and have something
 * else there. */
static int inherited_descriptor(const char *text, unsigned *self)
{
    int descriptor, end = 0;
    uint64_t inode;
    struct stat status;
    if (sscanf(text, "1:%u:%d:%" SCNu64 "%n", self, &descriptor, &inode, &end) != 3 || text[end] != '\0')
        return REM_EENVIRONMENT;
    if (fstat(descriptor, &status) != 0 || (uint64_t)status.st_ino != inode)
        return REM_EENVIRONMENT;
    return descriptor;
}

static int open_launched(rem_job *job, const char *text)
{
    unsigned self;
    int descriptor = inherited_descriptor(text, &self);
    if (descriptor < 0)
        return descriptor;
    struct mapping *mapping = mapping_new(descriptor);
    if (!mapping)
        return errno == EINVAL ? REM_EENVIRONMENT : REM_ESYSTEM;
    unsigned fresh = NODE_FRESH;
    int error = self >= mapping->control->nodes ? REM_EENVIRONMENT
                : atomic_compare_exchange_strong(&mapping->control->node[self].state, &fresh, NODE_OPEN)
                    ? 0
                    : REM_EOPENED;
    if (error) {
        mapping_drop(mapping);
        return error;
    }
    job->node = new_node(mapping, self);
    if (!job->node)
        return REM_ENOMEM;
    job->node->descriptor = descriptor;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    error = node_barrier(job->node);
    if (error)
        job_close(job);
    return error;
}

int job_open(rem_job *job)
{
    const char *text = getenv(ENVIRONMENT_JOB);
    return text ? open_launched(job, text) : meet_called() ? meet(job) : open_alone(job);
}

bool node_leave(struct rem_node *node)
{
    struct control *control = node->control;
    unsigned nodes = node->nodes; /* once it has left, another may free it */
    if (atomic_exchange(&control->node[node->self].state, NODE_CLOSED) == NODE_CLOSED)
        return false;
    return atomic_fetch_add(&control->left, 1) + 1 == nodes;
}

void job_close(rem_job *job)
{
    node_leave(job->node);
    node_free_all(job->node);
    job->node = NULL;
}

void job_fail(struct rem_node *node, int code, unsigned peer, const char *text)
{
    layout_fail(node->control, code, peer, text);
}

int rem_node_self(const rem_job *job)
{
    return node_of(job) ? (int)job->node->self : REM_ECLOSED;
}

int rem_node_count(const rem_job *job)
{
    return node_of(job) ? (int)job->node->nodes : REM_ECLOSED;
}

int rem_thread_limit(const rem_job *job)
{
    return node_of(job) ? (int)job->node->threads : REM_ECLOSED;
}

int node_take_slot(struct rem_node *node)
{
    pthread_mutex_lock(&node->mutex);
    unsigned slot = 0;
    while (slot < node->threads && node->slots[slot])
        slot++;
    if (slot < node->threads) {
        node->slots[slot] = 1;
        node->attached++;
        if (atomic_load(&node->control->node[node->self].threads) <= slot)
            atomic_store(&node->control->node[node->self].threads, slot + 1);
    }
    pthread_mutex_unlock(&node->mutex);
    return slot < node->threads ? (int)slot : REM_ETHREADS;
}

void node_give_slot(struct rem_node *node, unsigned slot)
{
    pthread_mutex_lock(&node->mutex);
    node->slots[slot] = 0;
    node->attached--;
    pthread_mutex_unlock(&node->mutex);
}
