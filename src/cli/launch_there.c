/* remora launch over ssh, the part on a host: `remora launch --there', which nobody types. It starts this host's nodes and stands
 * between them and the hub (launch_ssh.c), to which its standard input and output lead; when these end, so do the nodes. */
#include "cli/channel.h"
#include "cli/cli.h"
#include "cli/launch_ssh.h"
#include "cli/launched.h"
#include "job/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUTPUTS = 2,
    EXEC_FAILED = 127,
    KEPT_MOST = 1 << 20, /* bytes for the hub that wait; then the nodes' output has to */
    LAST_WORDS = 5000    /* milliseconds for them, when all nodes have ended */
};

struct child {
    pid_t pid; /* 0: it has ended */
    struct channel wire;
    int output[OUTPUTS];
};

struct there {
    struct channel hub;
    struct hub_start start;
    char *folder, **variables, **words;
    struct child *children;
    unsigned running;
    int signals;
    sigset_t old_mask;
    struct buffer input; /* for node 0 */
    int input_pipe;
    bool input_ends;
};

/* ---- Starting ---- */

/* Text that stays; null: it is not there. */
static char *next_string(const char **at, const char *end)
{
    size_t left = (size_t)(end - *at), length = strnlen(*at, left);
    if (length == left)
        return NULL;
    char *copy = strdup(*at);
    *at += length + 1;
    return copy;
}

static char **next_strings(const char **at, const char *end, unsigned count)
{
    char **list = calloc(count + 1u, sizeof *list);
    for (unsigned i = 0; list && i < count; i++)
        if (!(list[i] = next_string(at, end)))
            return NULL;
    return list;
}

static bool read_start(struct there *there, const char *bytes, size_t size)
{
    const char *at = bytes + sizeof there->start, *end = bytes + size;
    if (size < sizeof there->start)
        return false;
    memcpy(&there->start, bytes, sizeof there->start);
    const struct hub_start *start = &there->start;
    if (start->nodes > REM_MAX_NODES || start->first + start->count > start->nodes || start->words == 0 ||
        start->words > size || start->variables > size)
        return false;
    there->folder = next_string(&at, end);
    there->variables = next_strings(&at, end, start->variables);
    there->words = there->variables ? next_strings(&at, end, start->words) : NULL;
    there->children = calloc(start->count, sizeof *there->children);
    return there->folder && there->words && there->children;
}

static void set_environment(const struct there *there, unsigned node, int wire)
{
    char text[80];
    struct stat status;
    unsetenv(ENVIRONMENT_JOB);
    for (char **variable = there->variables; *variable; variable++)
        putenv(*variable);
    fstat(wire, &status);
    snprintf(text, sizeof text, "%u:%u:%u:%d:%" PRIu64, node, there->start.nodes, there->start.one_host, wire,
             (uint64_t)status.st_ino);
    setenv(ENVIRONMENT_HUB, text, 1);
    fcntl(wire, F_SETFD, 0);
}

static _Noreturn void become_node(const struct there *there, unsigned node, pid_t parent, int wire,
                                  const int standard[3])
{
    launched_begin(parent, &there->old_mask, EXEC_FAILED);
    signal(SIGPIPE, SIG_DFL);
    set_environment(there, node, wire);
    for (int i = 0; i < 3; i++)
        dup2(standard[i], i);
    if (chdir(there->folder) != 0)
        fprintf(stderr, "remora launch: node %u: no folder `%s' here: %s\n", node, there->folder,
                strerror(errno));
    execvp(there->words[0], there->words);
    fprintf(stderr, "remora launch: node %u: cannot run `%s': %s\n", node, there->words[0], strerror(errno));
    _exit(EXEC_FAILED);
}

/* Both ends of everything: [0] stays here. */
static bool make_ends(int wire[2], int in[2], int out[2], int err[2], bool reads)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, wire) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(err, O_CLOEXEC) != 0)
        return false;
    if (reads)
        return pipe2(in, O_CLOEXEC) == 0;
    in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return in[0] >= 0;
}

static bool start_node(struct there *there, unsigned i)
{
    struct child *child = &there->children[i];
    unsigned node = there->start.first + i;
    int wire[2], in[2] = {-1, -1}, out[2], err[2];
    pid_t parent = getpid();
    if (!make_ends(wire, in, out, err, node == 0))
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_node(there, node, parent, wire[1], (int[]){in[0], out[1], err[1]});
    close(wire[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    if (pid < 0)
        return false;
    if (node == 0) {
        there->input_pipe = in[1];
        fcntl(in[1], F_SETFL, O_NONBLOCK);
    }
    child->pid = pid;
    child->output[0] = out[0];
    child->output[1] = err[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    channel_open(&child->wire, wire[0], wire[0]);
    there->running++;
    return true;
}

static void signal_all(const struct there *there, int number)
{
    for (unsigned i = 0; i < there->start.count && there->children; i++)
        if (there->children[i].pid)
            kill(there->children[i].pid, number);
}

/* ---- What comes from the nodes ---- */

/* False: nothing is there now. */
static bool pass_output(struct there *there, unsigned i, unsigned which)
{
    struct child *child = &there->children[i];
    char bytes[32768];
    ssize_t got = child->output[which] < 0 ? -1 : read(child->output[which], bytes, sizeof bytes);
    if (got > 0)
        channel_send(&there->hub, which ? HUB_ERR : HUB_OUT, there->start.first + i, bytes, (size_t)got);
    if (got == 0) {
        close(child->output[which]);
        child->output[which] = -1;
    }
    return got > 0;
}

/* False: nothing is there now. */
static bool pass_frames(struct there *there, unsigned i)
{
    struct child *child = &there->children[i];
    struct hub_head head;
    const char *bytes;
    bool more = channel_fill(&child->wire);
    while (channel_next(&child->wire, &head, &bytes))
        if (head.kind == HUB_PIECE || head.kind == HUB_BYE)
            channel_send(&there->hub, (enum hub_kind)head.kind, there->start.first + i, bytes, head.size);
    return more;
}

/* Its last words come before its end. */
static void node_ended(struct there *there, unsigned i, int status)
{
    struct child *child = &there->children[i];
    int32_t word = status;
    while (pass_frames(there, i))
        ;
    for (unsigned which = 0; which < OUTPUTS; which++) {
        while (pass_output(there, i, which))
            ;
        if (child->output[which] >= 0)
            close(child->output[which]);
        child->output[which] = -1;
    }
    channel_close(&child->wire);
    child->pid = 0;
    there->running--;
    channel_send(&there->hub, HUB_END, there->start.first + i, &word, sizeof word);
}

static void reap(struct there *there)
{
    struct signalfd_siginfo info;
    while (read(there->signals, &info, sizeof info) > 0)
        ;
    for (unsigned i = 0; i < there->start.count && there->children; i++) {
        int status;
        pid_t pid = there->children[i].pid;
        if (pid && waitpid(pid, &status, WNOHANG) == pid)
            node_ended(there, i, status);
    }
}

/* ---- What comes from the hub ---- */

static void give_input(struct there *there)
{
    struct buffer *input = &there->input;
    while (there->input_pipe >= 0 && input->begin != input->end) {
        ssize_t done = write(there->input_pipe, input->bytes + input->begin, input->end - input->begin);
        if (done < 0 && errno == EAGAIN)
            return;
        if (done < 0 && errno != EINTR) {
            close(there->input_pipe);
            there->input_pipe = -1;
        }
        input->begin += done > 0 ? (size_t)done : 0;
    }
    if (input->bytes) {
        free(input->bytes);
        *input = (struct buffer){0};
        channel_send(&there->hub, HUB_TAKEN, 0, NULL, 0);
    }
    if (there->input_ends && there->input_pipe >= 0) {
        close(there->input_pipe);
        there->input_pipe = -1;
    }
}

static void take_input(struct there *there, const char *bytes, size_t size)
{
    there->input_ends = size == 0;
    if (size) {
        there->input = (struct buffer){.bytes = malloc(size), .end = size};
        if (!there->input.bytes)
            abort();
        memcpy(there->input.bytes, bytes, size);
    }
    give_input(there);
}

static bool start_all(struct there *there, const char *bytes, size_t size)
{
    if (!read_start(there, bytes, size))
        return false;
    for (unsigned i = 0; i < there->start.count; i++)
        if (!start_node(there, i)) {
            complain("remora launch", "cannot start node %u: %s", there->start.first + i, strerror(errno));
            return false;
        }
    return true;
}

static bool obey(struct there *there, const struct hub_head *head, const char *bytes)
{
    int32_t number;
    switch ((enum hub_kind)head->kind) {
    case HUB_START:
        return !there->children && start_all(there, bytes, head->size);
    case HUB_INPUT:
        take_input(there, bytes, head->size);
        return true;
    case HUB_SIGNAL:
        if (head->size == sizeof number) {
            memcpy(&number, bytes, sizeof number);
            signal_all(there, number);
        }
        return true;
    case HUB_ALL:
    case HUB_FAIL:
        for (unsigned i = 0; i < there->start.count && there->children; i++)
            if (there->children[i].pid)
                channel_send(&there->children[i].wire, (enum hub_kind)head->kind, head->node, bytes,
                             head->size);
        return true;
    default:
        return false;
    }
}

/* ---- The loop ---- */

static void wait_for_something(struct there *there)
{
    struct pollfd polled[4 + REM_MAX_NODES * (2 + OUTPUTS)];
    nfds_t count = channel_poll(&there->hub, polled);
    polled[count++] = (struct pollfd){.fd = there->signals, .events = POLLIN};
    if (there->input.bytes)
        polled[count++] = (struct pollfd){.fd = there->input_pipe, .events = POLLOUT};
    for (unsigned i = 0; i < there->start.count && there->children; i++) {
        const struct child *child = &there->children[i];
        if (!child->pid)
            continue;
        count += channel_poll(&child->wire, &polled[count]);
        for (unsigned which = 0; which < OUTPUTS && channel_waiting(&there->hub) < KEPT_MOST; which++)
            polled[count++] = (struct pollfd){.fd = child->output[which], .events = POLLIN};
    }
    poll(polled, count, -1);
}

static void hear_nodes(struct there *there)
{
    for (unsigned i = 0; i < there->start.count && there->children; i++) {
        if (!there->children[i].pid)
            continue;
        channel_flush(&there->children[i].wire);
        pass_frames(there, i);
        for (unsigned which = 0; which < OUTPUTS && channel_waiting(&there->hub) < KEPT_MOST; which++)
            pass_output(there, i, which);
    }
}

/* Until all nodes have ended; false: the hub is gone, or makes no sense. */
static bool serve(struct there *there)
{
    struct hub_head head;
    const char *bytes;
    do {
        wait_for_something(there);
        channel_flush(&there->hub);
        channel_fill(&there->hub);
        while (channel_next(&there->hub, &head, &bytes))
            if (!obey(there, &head, bytes))
                return false;
        give_input(there);
        hear_nodes(there);
        reap(there);
        if (there->hub.in < 0)
            return false;
    } while (!there->children || there->running);
    return true;
}

static void say_last_words(struct there *there)
{
    struct pollfd polled = {.fd = there->hub.out, .events = POLLOUT};
    while (channel_waiting(&there->hub) && poll(&polled, 1, LAST_WORDS) > 0)
        channel_flush(&there->hub);
}

static void free_strings(char **list)
{
    for (char **string = list; list && *string; string++)
        free(*string);
    free(list);
}

static void clean_up(struct there *there)
{
    for (unsigned i = 0; i < there->start.count && there->children; i++)
        if (there->children[i].pid)
            channel_close(&there->children[i].wire);
    free(there->children);
    free(there->folder);
    free_strings(there->variables);
    free_strings(there->words);
    free(there->input.bytes);
    channel_close(&there->hub);
    close(there->signals);
}

int launch_there(void)
{
    struct there there = {.input_pipe = -1};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &there.old_mask);
    signal(SIGPIPE, SIG_IGN);
    there.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (there.signals < 0)
        return STATUS_BAD;
    channel_open(&there.hub, STDIN_FILENO, STDOUT_FILENO);
    channel_send(&there.hub, HUB_HELLO, 0, NULL, 0);
    bool good = serve(&there);
    if (!good)
        signal_all(&there, SIGKILL);
    say_last_words(&there);
    clean_up(&there);
    return good ? 0 : STATUS_BAD;
}
