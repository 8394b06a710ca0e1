/* Opening and closing the job in which tests run (session.h). */
#include "run/session.h"

#include "job/environment.h"
#include "job/node.h"
#include "job/meet.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int explain(struct session *session, const rem_job *job, int error)
{
    const char *text = NULL;
    if (!rem_failure(job, NULL, &text) || !text)
        text = rem_strerror(error);
    snprintf(session->why, sizeof session->why, "%s", text);
    return error;
}

int session_open(struct session *session, const char *provider, unsigned nodes, unsigned threads, size_t heap)
{
    *session = (struct session){.nodes = nodes, .self = -1, .fabric = fabric_find(provider)};
    struct rem_options options = {.heap = heap, .threads = threads, .provider = provider};
    int error = rem_open_nodes(session->jobs, (int)nodes, &options);
    return error ? explain(session, &session->jobs[0], error) : 0;
}

int session_join(struct session *session, bool *launched)
{
    *session = (struct session){.self = 0};
    *launched = getenv(ENVIRONMENT_JOB) || meet_called();
    if (!*launched)
        return 0;
    rem_job job = {0};
    int error = rem_open(&job);
    if (error)
        return explain(session, &job, error);
    session->self = rem_node_self(&job);
    session->nodes = (unsigned)rem_node_count(&job);
    session->fabric = job.node->fabric;
    session->jobs[session->self] = job;
    return 0;
}

void session_close(struct session *session)
{
    for (unsigned n = 0; n < session->nodes; n++)
        if (session_plays(session, n))
            rem_close(&session->jobs[n]);
    session->nodes = 0;
}

struct call {
    pthread_t id;
    int (*step)(void *, unsigned);
    void *context;
    unsigned node;
    int error;
};

static void *make_call(void *argument)
{
    struct call *call = argument;
    call->error = call->step(call->context, call->node);
    return NULL;
}

int session_together(struct session *session, int (*step)(void *, unsigned), void *context)
{
    if (session->self >= 0)
        return step(context, (unsigned)session->self);
    struct call calls[REM_MAX_NODES];
    int error = 0;
    unsigned started = 1;
    for (unsigned n = 0; n < session->nodes; n++)
        calls[n] = (struct call){.step = step, .context = context, .node = n};
    for (; started < session->nodes; started++)
        if (pthread_create(&calls[started].id, NULL, make_call, &calls[started]) != 0)
            break;
    if (started < session->nodes) /* the others would wait for ever */
        job_fail(session->jobs[0].node, error = REM_ENOMEM, started, NULL);
    make_call(&calls[0]);
    for (unsigned n = 1; n < started; n++)
        pthread_join(calls[n].id, NULL);
    for (unsigned n = 0; n < started; n++)
        error = error ? error : calls[n].error;
    return error;
}

int session_failure(const struct session *session, const char **text)
{
    return rem_failure(&session->jobs[session->self < 0 ? 0 : session->self], NULL, text);
}
