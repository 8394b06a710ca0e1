/* Opening and closing a job: the node first, then its transport. */
#include "fabric/fabric.h"
#include "fabric/far.h"
#include "job/node.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void close_transport(struct rem_node *node)
{
    if (node->fabric->close)
        node->fabric->close(node);
}

static int open_transport(struct rem_node *node)
{
    const char *name = node->control->provider;
    node->fabric = fabric_find(name[0] ? name : NULL);
    if (!node->fabric) {
        char text[FAILURE_TEXT];
        snprintf(text, sizeof text, "this build has no provider `%s'", name);
        job_fail(node, REM_EPROVIDER, node->self, text);
        return REM_EPROVIDER;
    }
    if (node->fabric->traits.shared && !node->memory) {
        char text[FAILURE_TEXT];
        snprintf(text, sizeof text, "%s needs all nodes on one host", node->fabric->traits.name);
        job_fail(node, REM_EPROVIDER, node->self, text);
        return REM_EPROVIDER;
    }
    node->unannounced = !node->fabric->traits.immediate;
    int error = node->fabric->open ? node->fabric->open(node) : 0;
    if (error || node->memory)
        return error;
    error = far_open(node);
    if (error)
        close_transport(node);
    return error;
}

/* The job is about to be closed, so what it says of its failure moves to where the caller can read it. */
static void keep_failure(rem_job *job, int error)
{
    const struct control *control = job->node->control;
    unsigned word = atomic_load(&control->failed);
    job->code = word ? failure_code(word) : error;
    job->peer = word ? (int)failure_node(word) : (int)job->node->self;
    snprintf(job->text, sizeof job->text, "%s",
             atomic_load(&control->told) ? control->failure_text : rem_strerror(job->code));
}

static int give_up(rem_job *job, int error)
{
    keep_failure(job, error);
    job_close(job);
    return error;
}

static void forget(rem_job *job)
{
    job->node = NULL;
    job->code = 0;
}

/* Why there is no node, for rem_failure. */
static int tell(rem_job *job, int error)
{
    job->code = error;
    job->peer = 0;
    snprintf(job->text, sizeof job->text, "%s", rem_strerror(error));
    return error;
}

int rem_open(rem_job *job)
{
    if (!job)
        return REM_EINVAL;
    forget(job);
    int error = job_open(job);
    if (error)
        return job->code ? error : tell(job, error);
    error = open_transport(job->node);
    return error ? give_up(job, error) : 0;
}

/* ---- All nodes in this process ---- */

struct opening {
    pthread_t id;
    struct rem_node *node;
    int error;
};

static void *run_opening(void *argument)
{
    struct opening *opening = argument;
    opening->error = open_transport(opening->node);
    return NULL;
}

/* The transports' opening is collective, so the nodes do it at the same time. */
static int open_together(rem_job jobs[], int nodes)
{
    struct opening openings[REM_MAX_NODES];
    int started = 0, error = 0;
    for (; started < nodes; started++) {
        openings[started].node = jobs[started].node;
        if (pthread_create(&openings[started].id, NULL, run_opening, &openings[started]) != 0)
            break;
    }
    if (started < nodes)
        job_fail(jobs[0].node, error = REM_ENOMEM, (unsigned)started, NULL);
    for (int n = 0; n < started; n++) {
        pthread_join(openings[n].id, NULL);
        error = error ? error : openings[n].error;
    }
    for (int n = 0; n < started && error; n++)
        if (!openings[n].error)
            close_transport(jobs[n].node);
    return error;
}

int rem_open_nodes(rem_job jobs[], int nodes, const struct rem_options *options)
{
    if (!jobs || nodes <= 0 || nodes > REM_MAX_NODES)
        return REM_EINVAL;
    for (int n = 0; n < nodes; n++)
        forget(&jobs[n]);
    int error = job_open_nodes(jobs, (unsigned)nodes, options);
    for (int n = 0; n < nodes && error; n++)
        tell(&jobs[n], error);
    if (error)
        return error;
    error = nodes == 1 ? open_transport(jobs[0].node) : open_together(jobs, nodes);
    for (int n = 0; n < nodes && error; n++)
        give_up(&jobs[n], error);
    return error;
}

/* ---- Closing ---- */

/* Of nodes in one process the last one closes all, since the others may still reach this one's memory. */
static void leave_process(struct rem_node *node)
{
    struct mapping *mapping = node->mapping;
    node->next = atomic_load(&mapping->departed);
    while (!atomic_compare_exchange_weak(&mapping->departed, &node->next, node))
        ;
    if (!node_leave(node))
        return;
    for (struct rem_node *one = atomic_load(&mapping->departed); one; one = one->next)
        close_transport(one);
    for (struct rem_node *one = atomic_load(&mapping->departed), *next; one; one = next) {
        next = one->next;
        node_free_all(one);
    }
}

/* The others may have threads whose last fence is still to come, so a transport that takes the memory with it stays until
 * all have left, or the job has failed. */
static void await_others(struct rem_node *node)
{
    struct control *control = node->control;
    node_leave(node);
    while (atomic_load(&control->left) < node->nodes && !node_failure(node))
        nanosleep(&(struct timespec){0, 200000}, NULL);
}

int rem_close(rem_job *job)
{
    struct rem_node *node = node_of(job);
    if (!node)
        return REM_ECLOSED;
    pthread_mutex_lock(&node->mutex);
    unsigned attached = node->attached;
    pthread_mutex_unlock(&node->mutex);
    if (attached)
        return REM_EBUSY;
    job->node = NULL;
    bool lasting = node->far || node->fabric->traits.shared;
    if (node->far)
        far_close(node);
    if (!lasting && node->mapping->one_process) {
        leave_process(node);
        return 0;
    }
    if (!lasting)
        await_others(node);
    close_transport(node);
    node_leave(node);
    node_free_all(node);
    return 0;
}

int rem_failure(const rem_job *job, int *peer, const char **text)
{
    if (!job)
        return REM_EINVAL;
    const struct control *control = job->node ? job->node->control : NULL;
    unsigned word = control ? atomic_load(&control->failed) : 0;
    int code = control ? failure_code(word) : job->code;
    if (code && peer)
        *peer = control ? (int)failure_node(word) : job->peer;
    if (code && text)
        *text = !control                      ? job->text
                : atomic_load(&control->told) ? control->failure_text
                                              : rem_strerror(code);
    return code;
}
