/* A thread that sleeps on the descriptors of the other nodes' processes. When one ends while it has the job open it tells the
 * whole job, through the control block. Every node watches all others, so it does not matter who dies. */
#include "job/watch.h"
#include "job/inner.h"
#include "job/node.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct watch {
    struct rem_node *node;
    pthread_t thread;
    struct pollfd polled[1 + REM_MAX_NODES]; /* the first: stop */
};

static void see_end(struct watch *watch, unsigned n)
{
    struct pollfd *polled = &watch->polled[1 + n];
    close(polled->fd);
    polled->fd = -1;
    if (atomic_load(&watch->node->control->node[n].state) != NODE_CLOSED)
        job_fail(watch->node, REM_EDEAD, n, NULL);
}

static void *run(void *argument)
{
    struct watch *watch = argument;
    while (!watch->polled[0].revents) {
        if (poll(watch->polled, 1 + watch->node->nodes, -1) <= 0)
            continue;
        for (unsigned n = 0; n < watch->node->nodes; n++)
            if (watch->polled[1 + n].fd >= 0 && watch->polled[1 + n].revents)
                see_end(watch, n);
    }
    return NULL;
}

static void free_watch(struct watch *watch)
{
    for (unsigned i = 0; i <= watch->node->nodes; i++)
        if (watch->polled[i].fd >= 0)
            close(watch->polled[i].fd);
    free(watch);
}

struct watch *watch_start(struct rem_node *node, const pid_t pids[])
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->node = node;
    for (unsigned i = 0; i <= REM_MAX_NODES; i++)
        watch->polled[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    watch->polled[0].fd = eventfd(0, EFD_CLOEXEC);
    bool complete = watch->polled[0].fd >= 0;
    for (unsigned n = 0; n < node->nodes; n++)
        if (n != node->self) {
            watch->polled[1 + n].fd = (int)syscall(SYS_pidfd_open, pids[n], 0);
            complete = complete && watch->polled[1 + n].fd >= 0;
        }
    if (complete && inner_thread(&watch->thread, run, watch))
        return watch;
    free_watch(watch);
    return NULL;
}

void watch_stop(struct watch *watch)
{
    if (eventfd_write(watch->polled[0].fd, 1) == 0)
        pthread_join(watch->thread, NULL);
    free_watch(watch);
}
