/* The wire over PMIx: what a node shows the others is put under a key of its own, a fence hands it round, and each
 * reads what the others put there.
 *
 * The library is loaded when a launcher that speaks PMIx has started the process, and not before: programs that
 * run alone or under `remora launch' don't pay for it, nor need it. The data travels between the launcher's own
 * daemons, over connections that these authenticate; nothing is opened here.
 *
 * A fence is asked for and then waited for with an eye on the job's failure, since what a PMIx server does about
 * a process that dies in a fence differs: Open MPI 4.1 ends it with PMIX_ERR_PARTIAL_SUCCESS if all were on one
 * host, and else never. */
#include "job/pmix.h"
#include "job/environment.h"
#include "job/inner.h"
#include "job/meet.h"
#include "job/node.h"

#include <dlfcn.h>
#include <errno.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS(X)                                                                                             \
    X(Init)                                                                                                  \
    X(Finalize)                                                                                              \
    X(Put) X(Commit) X(Fence_nb) X(Get) X(Register_event_handler) X(Deregister_event_handler) X(Error_string)

enum {
    LOOK_EVERY = 20000000,      /* nanoseconds between two looks at the job's failure */
    FIRST_SECONDS = 300,        /* for the first fence, at which a node may be late for its own reasons */
    OPENING_SECONDS = 60,       /* for each of the others */
    LEAVING_GRACE = 2000000000, /* nanoseconds */
    CLOSING_MILLISECONDS = 500  /* to hear that a registration is made or undone */
};

#define SECOND UINT64_C(1000000000)

struct meeting {
    void *library;
#define CALL(name) __typeof__(PMIx_##name) *name;
    CALLS(CALL)
#undef CALL
    struct rem_node *node;
    pmix_proc_t self;
    unsigned exchanges; /* so far: each has a key of its own */
    uint64_t patience;  /* nanoseconds, for the first; 0: for ever */
    char text[96];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool fenced;          /* the fence under way has ended, thus: */
    pmix_status_t status; /* protected by the mutex, as fenced and registered */
    bool registered;
    bool listening;
    size_t handler;
};

bool pmix_called(void)
{
    return getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

static bool load(struct meeting *meeting)
{
    meeting->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!meeting->library)
        return false;
    bool complete = true;
#define CALL(name)                                                                                           \
    *(void **)&meeting->name = dlsym(meeting->library, "PMIx_" #name);                                       \
    complete = complete && meeting->name;
    CALLS(CALL)
#undef CALL
    return complete;
}

static void free_meeting(struct meeting *meeting)
{
    pthread_mutex_destroy(&meeting->mutex);
    pthread_cond_destroy(&meeting->changed);
    if (meeting->library)
        dlclose(meeting->library);
    free(meeting);
}

static struct meeting *new_meeting(struct rem_node *node)
{
    struct meeting *meeting = calloc(1, sizeof *meeting);
    if (!meeting)
        return NULL;
    inner_condition(&meeting->changed);
    pthread_mutex_init(&meeting->mutex, NULL);
    meeting->node = node;
    return meeting;
}

static bool get_number(struct meeting *meeting, const char *key, unsigned *number)
{
    pmix_proc_t all = meeting->self;
    pmix_value_t *value = NULL;
    all.rank = PMIX_RANK_WILDCARD;
    if (meeting->Get(&all, key, NULL, 0, &value) != PMIX_SUCCESS)
        return false;
    bool is_number = value->type == PMIX_UINT32;
    if (is_number)
        *number = value->data.uint32;
    free(value);
    return is_number;
}

/* ---- Exchange and barrier ---- */

static void end_fence(pmix_status_t status, void *argument)
{
    struct meeting *meeting = argument;
    pthread_mutex_lock(&meeting->mutex);
    meeting->status = status;
    meeting->fenced = true;
    pthread_cond_broadcast(&meeting->changed);
    pthread_mutex_unlock(&meeting->mutex);
}

/* Sleeps for a while, or until something changes. The mutex is held. */
static void nap(struct meeting *meeting)
{
    inner_wait(&meeting->changed, &meeting->mutex, LOOK_EVERY);
}

static int failure_of(const struct rem_node *node)
{
    return node->control ? node_failure(node) : 0;
}

/* `grace`: how long to go on after the job has failed. */
static int await_fence(struct meeting *meeting, uint64_t deadline, uint64_t grace)
{
    int error = 0;
    uint64_t failed_at = 0;
    pthread_mutex_lock(&meeting->mutex);
    while (!meeting->fenced && !error) {
        nap(meeting);
        int failure = failure_of(meeting->node);
        if (failure && !failed_at)
            failed_at = rem_clock();
        if (failure && rem_clock() - failed_at >= grace)
            error = failure;
        else if (deadline && rem_clock() >= deadline)
            error = REM_EUNREACHABLE;
    }
    if (meeting->fenced)
        error = meeting->status == PMIX_SUCCESS ? 0 : REM_EDEAD;
    pthread_mutex_unlock(&meeting->mutex);
    return error;
}

static void set_flag(pmix_info_t *info, const char *key)
{
    memset(info, 0, sizeof *info);
    snprintf(info->key, sizeof info->key, "%s", key);
    info->value.type = PMIX_BOOL;
    info->value.data.flag = true;
}

/* Data is collected even where there is none: without that, Slurm 22.05 lets everyone through at once. */
static int fence(struct meeting *meeting, uint64_t deadline, uint64_t grace)
{
    pmix_info_t info;
    set_flag(&info, PMIX_COLLECT_DATA);
    meeting->fenced = false;
    pmix_status_t status = meeting->Fence_nb(NULL, 0, &info, 1, end_fence, meeting);
    if (status == PMIX_OPERATION_SUCCEEDED)
        return 0;
    return status == PMIX_SUCCESS ? await_fence(meeting, deadline, grace) : REM_EDEAD;
}

static bool get_piece(struct meeting *meeting, unsigned node, const char *key, size_t size, void *piece)
{
    pmix_proc_t other = meeting->self;
    pmix_value_t *value = NULL;
    other.rank = node;
    if (meeting->Get(&other, key, NULL, 0, &value) != PMIX_SUCCESS)
        return false;
    bool found = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == size;
    if (found)
        memcpy(piece, value->data.bo.bytes, size);
    if (value->type == PMIX_BYTE_OBJECT)
        free(value->data.bo.bytes);
    free(value);
    return found;
}

static int exchange(struct rem_node *node, const void *mine, size_t size, void *all)
{
    struct meeting *meeting = node->meeting;
    char key[32];
    unsigned number = meeting->exchanges++;
    snprintf(key, sizeof key, "remora.%u", number);
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = {(char *)(uintptr_t)mine, size}};
    if (meeting->Put(PMIX_GLOBAL, key, &value) != PMIX_SUCCESS || meeting->Commit() != PMIX_SUCCESS)
        return REM_EDEAD;
    uint64_t patience = number ? OPENING_SECONDS * SECOND : meeting->patience;
    int error = fence(meeting, patience ? rem_clock() + patience : 0, 0);
    if (error == REM_EUNREACHABLE)
        snprintf(meeting->text, sizeof meeting->text, "not all nodes have come to rem_open within %.0f s",
                 (double)patience * 1e-9);
    for (unsigned n = 0; n < node->nodes && !error; n++)
        if (!get_piece(meeting, n, key, size, (char *)all + n * size))
            error = REM_EDEAD;
    return error;
}

static int barrier(struct rem_node *node)
{
    atomic_thread_fence(memory_order_seq_cst);
    int error = fence(node->meeting, 0, 0);
    atomic_thread_fence(memory_order_seq_cst);
    return error;
}

static void leave(struct rem_node *node)
{
    fence(node->meeting, 0, LEAVING_GRACE);
}

/* ---- Deaths ---- */

static bool is_death(pmix_status_t status)
{
    switch (status) {
    case PMIX_ERR_PROC_ABORTED:
    case PMIX_ERR_PROC_ABORTED_BY_SIG:
    case PMIX_ERR_PROC_REQUESTED_ABORT:
    case PMIX_ERR_PROC_TERM_WO_SYNC:
    case PMIX_ERR_EXIT_NONZERO_TERM:
    case PMIX_EVENT_NODE_DOWN:
    case PMIX_ERR_LOST_CONNECTION:
        return true;
    default:
        return false;
    }
}

/* The process that an event is about, if it is a node of this job; else the node itself. */
static unsigned affected(const struct meeting *meeting, const pmix_proc_t *source, const pmix_info_t info[],
                         size_t count)
{
    const pmix_proc_t *process = source;
    for (size_t i = 0; i < count; i++)
        if (strncmp(info[i].key, PMIX_EVENT_AFFECTED_PROC, PMIX_MAX_KEYLEN) == 0 &&
            info[i].value.type == PMIX_PROC)
            process = info[i].value.data.proc;
    bool ours = process && strncmp(process->nspace, meeting->self.nspace, PMIX_MAX_NSLEN) == 0;
    return ours && process->rank < meeting->node->nodes ? process->rank : meeting->node->self;
}

static void hear(size_t handler, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                 size_t count, pmix_info_t *results, size_t result_count,
                 pmix_event_notification_cbfunc_fn_t done, void *argument)
{
    struct meeting *meeting = NULL;
    (void)handler, (void)results, (void)result_count;
    for (size_t i = 0; i < count; i++)
        if (strncmp(info[i].key, PMIX_EVENT_RETURN_OBJECT, PMIX_MAX_KEYLEN) == 0)
            meeting = info[i].value.data.ptr;
    if (meeting && is_death(status)) {
        char text[FAILURE_TEXT];
        snprintf(text, sizeof text, "the launcher says: %s", meeting->Error_string(status));
        job_fail(meeting->node, REM_EDEAD, affected(meeting, source, info, count), text);
    }
    if (done)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, argument);
}

static void set_registered(pmix_status_t status, size_t handler, void *argument)
{
    struct meeting *meeting = argument;
    pthread_mutex_lock(&meeting->mutex);
    meeting->registered = true;
    meeting->listening = status == PMIX_SUCCESS;
    meeting->handler = handler;
    pthread_cond_broadcast(&meeting->changed);
    pthread_mutex_unlock(&meeting->mutex);
}

static void set_deregistered(pmix_status_t status, void *argument)
{
    (void)status;
    set_registered(PMIX_ERR_NOT_FOUND, 0, argument);
}

static void await_registration(struct meeting *meeting)
{
    uint64_t deadline = rem_clock() + CLOSING_MILLISECONDS * UINT64_C(1000000);
    pthread_mutex_lock(&meeting->mutex);
    while (!meeting->registered && rem_clock() < deadline)
        nap(meeting);
    pthread_mutex_unlock(&meeting->mutex);
}

static void listen_to_server(struct rem_node *node)
{
    struct meeting *meeting = node->meeting;
    pmix_info_t info;
    memset(&info, 0, sizeof info);
    snprintf(info.key, sizeof info.key, "%s", PMIX_EVENT_RETURN_OBJECT);
    info.value.type = PMIX_POINTER;
    info.value.data.ptr = meeting;
    pmix_status_t deaths[] = {PMIX_ERR_PROC_ABORTED,         PMIX_ERR_PROC_ABORTED_BY_SIG,
                              PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_TERM_WO_SYNC,
                              PMIX_ERR_EXIT_NONZERO_TERM,    PMIX_EVENT_NODE_DOWN,
                              PMIX_ERR_LOST_CONNECTION};
    meeting->Register_event_handler(deaths, sizeof deaths / sizeof *deaths, &info, 1, hear, set_registered,
                                    meeting);
    await_registration(meeting);
}

/* ---- Opening and closing ---- */

static const char *why(const struct rem_node *node)
{
    return *node->meeting->text ? node->meeting->text : NULL;
}

static void close_meeting(struct rem_node *node)
{
    struct meeting *meeting = node->meeting;
    if (meeting->listening) {
        meeting->registered = false;
        meeting->Deregister_event_handler(meeting->handler, set_deregistered, meeting);
        await_registration(meeting);
    }
    meeting->Finalize(NULL, 0);
    free_meeting(meeting);
    node->meeting = NULL;
    node->met = NULL;
}

static const struct wire wire_pmix = {.name = "PMIx",
                                      .exchange = exchange,
                                      .barrier = barrier,
                                      .listen = listen_to_server,
                                      .why = why,
                                      .leave = leave,
                                      .close = close_meeting};

/* What this process has put in an earlier life as a node is still there. */
static bool was_open(struct meeting *meeting)
{
    pmix_info_t info;
    pmix_value_t *value = NULL;
    set_flag(&info, PMIX_OPTIONAL);
    return meeting->Get(&meeting->self, "remora.0", &info, 1, &value) == PMIX_SUCCESS;
}

static bool read_patience(uint64_t *patience)
{
    const char *text = getenv(ENVIRONMENT_OPENING);
    *patience = FIRST_SECONDS * SECOND;
    return !text || environment_seconds(text, patience);
}

static int join(struct meeting *meeting, struct meeting_place *place)
{
    struct rem_node *node = meeting->node;
    unsigned on_host = 0;
    if (!get_number(meeting, PMIX_JOB_SIZE, &node->nodes) || node->nodes == 0 ||
        node->nodes > REM_MAX_NODES || meeting->self.rank >= node->nodes) {
        snprintf(place->text, sizeof place->text,
                 "PMIx tells of a job of %u processes; a job has 1 to %d nodes", node->nodes, REM_MAX_NODES);
        return REM_EENVIRONMENT;
    }
    if (was_open(meeting))
        return REM_EOPENED;
    if (!read_patience(&meeting->patience)) {
        snprintf(place->text, sizeof place->text, ENVIRONMENT_OPENING " is no number of seconds");
        return REM_EENVIRONMENT;
    }
    node->self = meeting->self.rank;
    place->one_host = get_number(meeting, PMIX_LOCAL_SIZE, &on_host) && on_host == node->nodes;
    return 0;
}

int pmix_open(struct rem_node *node, struct meeting_place *place)
{
    struct meeting *meeting = new_meeting(node);
    *place = (struct meeting_place){0};
    if (!meeting)
        return REM_ENOMEM;
    pmix_status_t status;
    if (!load(meeting)) {
        snprintf(place->text, sizeof place->text,
                 "a PMIx launcher started this process, but its library does not load: %.80s", dlerror());
        free_meeting(meeting);
        return REM_EENVIRONMENT;
    }
    if ((status = meeting->Init(&meeting->self, NULL, 0)) != PMIX_SUCCESS) {
        snprintf(place->text, sizeof place->text, "PMIx_Init: %s", meeting->Error_string(status));
        free_meeting(meeting);
        return REM_EENVIRONMENT;
    }
    node->meeting = meeting;
    int error = join(meeting, place);
    if (error)
        close_meeting(node);
    else
        node->wire = node->met = &wire_pmix;
    return error;
}
