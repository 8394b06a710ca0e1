/* Where tests run: an open job, either with all its nodes in this process, or with this process as one of
 * them, as a launcher started it. */
#ifndef REMORA_RUN_SESSION_H
#define REMORA_RUN_SESSION_H

#include "fabric/fabric.h"

#include <remora/remora.h>

struct session {
    const struct fabric *fabric;
    unsigned nodes;
    int self; /* -1: all nodes are here */
    rem_job jobs[REM_MAX_NODES];
    char why[200]; /* if it could not be opened */
};

/* 0, or an error that session->why tells in words. */
int session_open(struct session *session, const char *provider, unsigned nodes, unsigned threads,
                 size_t heap);
/* As the launcher's environment says; false in *launched if there is none. */
int session_join(struct session *session, bool *launched);
void session_close(struct session *session);

static inline bool session_plays(const struct session *session, unsigned node)
{
    return session->self < 0 || (unsigned)session->self == node;
}

/* The node that collects the results: here, or in another process. */
static inline bool session_leads(const struct session *session)
{
    return session_plays(session, 0);
}

/* A collective step: calls it for each node that is played here, all at the same time. The first error. */
int session_together(struct session *session, int (*step)(void *context, unsigned node), void *context);

/* 0, or the code of the job's failure. */
int session_failure(const struct session *session, const char **text);

#endif
