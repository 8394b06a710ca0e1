/* A node's end of the wire through the launcher (hub.h). A thread reads: the answer to an exchange, or that the job has
 * failed. */
#include "job/hub.h"
#include "job/inner.h"
#include "job/meet.h"
#include "job/node.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_EVERY = 20000000, LEAVING_GRACE = 2000000000 /* nanoseconds */ };

struct meeting {
    struct rem_node *node;
    int descriptor;
    pthread_t reader;
    bool closing; /* atomic */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Protected by the mutex. */
    bool come; /* the answer to the exchange under way, which is: */
    char *all;
    size_t size;
    bool listening;
    unsigned failed; /* failure_word: what was said before anybody listened */
    char text[FAILURE_TEXT];
};

bool hub_called(void)
{
    return getenv(ENVIRONMENT_HUB) != NULL;
}

/* ---- Frames ---- */

static bool write_whole(int descriptor, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t done = send(descriptor, at, size, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool read_whole(int descriptor, void *bytes, size_t size)
{
    char *at = bytes;
    while (size) {
        ssize_t done = read(descriptor, at, size);
        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool write_frame(const struct meeting *meeting, enum hub_kind kind, const void *bytes, size_t size)
{
    struct hub_head head = {(uint16_t)kind, (uint16_t)meeting->node->self, (uint32_t)size};
    return write_whole(meeting->descriptor, &head, sizeof head) &&
           write_whole(meeting->descriptor, bytes, size);
}

/* ---- The reader ---- */

static void hear_failure(struct meeting *meeting, int code, unsigned peer, const char *text)
{
    pthread_mutex_lock(&meeting->mutex);
    if (!meeting->failed) {
        meeting->failed = failure_word(code, peer);
        snprintf(meeting->text, sizeof meeting->text, "%s", text);
        if (meeting->listening)
            job_fail(meeting->node, code, peer, *text ? text : NULL);
    }
    pthread_cond_broadcast(&meeting->changed);
    pthread_mutex_unlock(&meeting->mutex);
}

static void hear_all(struct meeting *meeting, char *all, size_t size)
{
    pthread_mutex_lock(&meeting->mutex);
    free(meeting->all);
    meeting->all = all;
    meeting->size = size;
    meeting->come = true;
    pthread_cond_broadcast(&meeting->changed);
    pthread_mutex_unlock(&meeting->mutex);
}

static bool hear(struct meeting *meeting)
{
    struct hub_head head;
    if (!read_whole(meeting->descriptor, &head, sizeof head) || head.size > HUB_MOST)
        return false;
    char *bytes = malloc(head.size + 1u);
    if (!bytes || !read_whole(meeting->descriptor, bytes, head.size)) {
        free(bytes);
        return false;
    }
    if (head.kind == HUB_ALL) {
        hear_all(meeting, bytes, head.size);
        return true;
    }
    struct hub_failure failure;
    if (head.kind == HUB_FAIL && head.size == sizeof failure) {
        memcpy(&failure, bytes, sizeof failure);
        failure.text[sizeof failure.text - 1] = '\0';
        hear_failure(meeting, failure.code, head.node, failure.text);
    }
    free(bytes);
    return true;
}

static void *read_frames(void *argument)
{
    struct meeting *meeting = argument;
    while (hear(meeting))
        ;
    if (!__atomic_load_n(&meeting->closing, __ATOMIC_ACQUIRE))
        hear_failure(meeting, REM_EDEAD, meeting->node->self, "the launcher is gone");
    return NULL;
}

/* ---- Exchange and barrier ---- */

static int failure_of(const struct meeting *meeting)
{
    int failure = meeting->node->control ? node_failure(meeting->node) : 0;
    return failure ? failure : failure_code(meeting->failed);
}

/* The answer, of `size` bytes. `grace`: how long to go on after the job has failed. */
static int await_all(struct meeting *meeting, size_t size, void *all, uint64_t grace)
{
    int error = 0;
    uint64_t failed_at = 0;
    pthread_mutex_lock(&meeting->mutex);
    while (!meeting->come && !error) {
        int failure = failure_of(meeting);
        if (failure && !failed_at)
            failed_at = rem_clock();
        if (failure && rem_clock() - failed_at >= grace)
            error = failure;
        else
            inner_wait(&meeting->changed, &meeting->mutex, LOOK_EVERY);
    }
    if (!error && meeting->size != size)
        error = REM_ECOLLECTIVE;
    if (!error && size)
        memcpy(all, meeting->all, size);
    pthread_mutex_unlock(&meeting->mutex);
    return error;
}

static int exchange_for(struct rem_node *node, const void *mine, size_t size, void *all, uint64_t grace)
{
    struct meeting *meeting = node->meeting;
    pthread_mutex_lock(&meeting->mutex);
    meeting->come = false;
    pthread_mutex_unlock(&meeting->mutex);
    if (!write_frame(meeting, HUB_PIECE, mine, size))
        return REM_EDEAD;
    return await_all(meeting, node->nodes * size, all, grace);
}

static int exchange(struct rem_node *node, const void *mine, size_t size, void *all)
{
    return exchange_for(node, mine, size, all, 0);
}

static int barrier(struct rem_node *node)
{
    atomic_thread_fence(memory_order_seq_cst);
    int error = exchange_for(node, NULL, 0, NULL, 0);
    atomic_thread_fence(memory_order_seq_cst);
    return error;
}

static void leave(struct rem_node *node)
{
    exchange_for(node, NULL, 0, NULL, LEAVING_GRACE);
}

/* ---- Opening and closing ---- */

static void listen_to_hub(struct rem_node *node)
{
    struct meeting *meeting = node->meeting;
    pthread_mutex_lock(&meeting->mutex);
    meeting->listening = true;
    if (meeting->failed)
        job_fail(node, failure_code(meeting->failed), failure_node(meeting->failed),
                 *meeting->text ? meeting->text : NULL);
    pthread_mutex_unlock(&meeting->mutex);
}

static const char *why(const struct rem_node *node)
{
    return *node->meeting->text ? node->meeting->text : NULL;
}

static void free_meeting(struct meeting *meeting)
{
    close(meeting->descriptor);
    pthread_mutex_destroy(&meeting->mutex);
    pthread_cond_destroy(&meeting->changed);
    free(meeting->all);
    free(meeting);
}

static void close_meeting(struct rem_node *node)
{
    struct meeting *meeting = node->meeting;
    write_frame(meeting, HUB_BYE, NULL, 0);
    __atomic_store_n(&meeting->closing, true, __ATOMIC_RELEASE);
    shutdown(meeting->descriptor, SHUT_RDWR);
    pthread_join(meeting->reader, NULL);
    free_meeting(meeting);
    node->meeting = NULL;
    node->met = NULL;
}

static const struct wire wire_hub = {.name = "the launcher",
                                     .exchange = exchange,
                                     .barrier = barrier,
                                     .listen = listen_to_hub,
                                     .why = why,
                                     .leave = leave,
                                     .close = close_meeting};

static int new_meeting(struct rem_node *node, int descriptor)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting)
        return REM_ENOMEM;
    inner_condition(&meeting->changed);
    pthread_mutex_init(&meeting->mutex, NULL);
    meeting->node = node;
    meeting->descriptor = descriptor;
    if (!inner_thread(&meeting->reader, read_frames, meeting)) {
        free_meeting(meeting);
        return REM_ENOMEM;
    }
    node->meeting = meeting;
    node->wire = node->met = &wire_hub;
    return 0;
}

/* A process further down may have inherited the variable and have something else there. */
static bool read_variable(struct rem_node *node, bool *one_host, int *descriptor)
{
    const char *text = getenv(ENVIRONMENT_HUB);
    uint64_t inode;
    struct stat status;
    int one, end = 0;
    if (sscanf(text, "%u:%u:%d:%d:%" SCNu64 "%n", &node->self, &node->nodes, &one, descriptor, &inode,
               &end) != 5 ||
        text[end] || node->nodes > REM_MAX_NODES || node->self >= node->nodes)
        return false;
    *one_host = one;
    return fstat(*descriptor, &status) == 0 && (uint64_t)status.st_ino == inode;
}

int hub_open(struct rem_node *node, struct meeting_place *place)
{
    static bool opened;
    int descriptor;
    *place = (struct meeting_place){0};
    if (__atomic_exchange_n(&opened, true, __ATOMIC_RELAXED))
        return REM_EOPENED;
    if (!read_variable(node, &place->one_host, &descriptor))
        return REM_EENVIRONMENT;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return new_meeting(node, descriptor);
}
