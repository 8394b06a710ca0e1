/* remora launch --hosts by ssh: the hub. One ssh for each host starts `remora launch --there' (launch_there.c); the nodes'
 * wire, their output and their ends come through its standard streams, so nothing listens anywhere, and who may start
 * processes on a host is what ssh says. What a node needs to know goes in at standard input, and stands in no
 * command line. */
#include "cli/launch_ssh.h"
#include "cli/channel.h"
#include "cli/cli.h"
#include "cli/ending.h"
#include "cli/launched.h"
#include "cli/prefix.h"
#include "job/environment.h"
#include "job/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char command[] = "remora launch";

extern char **environ;

enum { INPUT = 32768, OUTPUTS = 2, LOST = 255, GIVE_UP_AFTER = 2 };

struct remote {
    const char *name;
    pid_t pid;
    unsigned first, count;
    struct channel channel;
    bool there; /* it has said so */
};

/* What the hub knows of a node. */
struct member {
    enum node_state state;
    bool ended, come;
    char *piece; /* come: of the exchange under way */
    size_t size;
    struct prefixed lines[OUTPUTS];
    int ends[OUTPUTS]; /* what is written there comes out in lines */
};

struct hub {
    const struct launch *launch;
    struct ending ending;
    struct remote remotes[REM_MAX_NODES];
    unsigned n_remotes, running, n_come;
    bool failed, reads; /* reads: the last piece of input has been taken, and there may be more */
    int absent;         /* a node that has ended well without ever opening the job; -1: none */
    struct member members[REM_MAX_NODES];
};

static void tell_all(struct hub *hub, enum hub_kind kind, unsigned node, const void *bytes, size_t size)
{
    for (unsigned r = 0; r < hub->n_remotes; r++)
        channel_send(&hub->remotes[r].channel, kind, node, bytes, size);
}

static void signal_all(void *context, int number)
{
    int32_t word = number;
    tell_all(context, HUB_SIGNAL, 0, &word, sizeof word);
}

/* ---- Starting ---- */

static char *quoted(const char *text)
{
    char *quote = malloc(4 * strlen(text) + 3), *at = quote;
    if (!quote)
        abort();
    *at++ = '\'';
    for (; *text; text++)
        at = *text == '\'' ? stpcpy(at, "'\\''") : (*at = *text, at + 1);
    stpcpy(at, "'");
    return quote;
}

/* This program, which must be at the same place there. */
static char *remote_command(void)
{
    char path[PATH_MAX], *text;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    char *quote = quoted(path);
    if (length <= 0 || asprintf(&text, "exec %s launch --there", quote) < 0)
        abort();
    free(quote);
    return text;
}

/* The command that is used as ssh may have arguments, set apart by spaces, as for mpirun and prterun. */
static char **ssh_words(const char *rsh, const char *host)
{
    char **words = calloc(strlen(rsh) + 4, sizeof *words), **next = words;
    char *rest = strdup(rsh), *word;
    char *name = strdup(host);
    if (!words || !rest || !name)
        abort();
    while ((word = strsep(&rest, " ")))
        if (*word)
            *next++ = word;
    *next++ = name;
    *next = remote_command();
    return words;
}

/* The terminal's signals are for the hub, which passes them on. */
static _Noreturn void become_ssh(const struct hub *hub, const char *rsh, const char *host, pid_t parent,
                                 const int ends[2])
{
    launched_begin(parent, &hub->ending.old_mask, LOST);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    dup2(ends[0], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    char **words = ssh_words(rsh, host);
    execvp(words[0], words);
    complain(command, "cannot run `%s': %s", words[0], strerror(errno));
    _exit(LOST);
}

static bool start_remote(struct hub *hub, const char *rsh, const struct host *host, unsigned first,
                         unsigned count)
{
    struct remote *remote = &hub->remotes[hub->n_remotes];
    int there[2], back[2];
    pid_t parent = getpid();
    if (pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_ssh(hub, rsh, host->name, parent, (int[]){there[0], back[1]});
    close(there[0]);
    close(back[1]);
    if (pid < 0)
        return false;
    *remote = (struct remote){.name = host->name, .pid = pid, .first = first, .count = count};
    channel_open(&remote->channel, back[0], there[1]);
    hub->n_remotes++;
    return true;
}

static unsigned write_variables(FILE *out)
{
    unsigned count = 0;
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "REMORA_", 7) == 0 && strncmp(*variable, ENVIRONMENT_HUB "=", 11) != 0) {
            fwrite(*variable, 1, strlen(*variable) + 1, out);
            count++;
        }
    return count;
}

static void tell_start(struct hub *hub, struct remote *remote)
{
    struct hub_start start = {.first = remote->first,
                              .count = remote->count,
                              .nodes = hub->launch->nodes,
                              .one_host = hub->n_remotes == 1};
    char *text = NULL, folder[PATH_MAX];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    fwrite(&start, sizeof start, 1, out);
    if (!getcwd(folder, sizeof folder))
        strcpy(folder, "/");
    fwrite(folder, 1, strlen(folder) + 1, out);
    start.variables = write_variables(out);
    for (char **word = hub->launch->argv; *word; word++, start.words++)
        fwrite(*word, 1, strlen(*word) + 1, out);
    fclose(out);
    memcpy(text, &start, sizeof start);
    channel_send(&remote->channel, HUB_START, 0, text, size);
    free(text);
}

static bool open_lines(struct hub *hub)
{
    for (unsigned n = 0; n < hub->launch->nodes && hub->launch->prefix; n++)
        for (int which = 0; which < OUTPUTS; which++)
            if (!prefixed_open(&hub->members[n].lines[which], STDOUT_FILENO + which, n,
                               &hub->members[n].ends[which]))
                return false;
    return true;
}

static bool start_all(struct hub *hub, const struct hosts *hosts)
{
    const char *rsh = hosts->rsh ? hosts->rsh : "ssh";
    unsigned first = 0, left = hub->launch->nodes;
    for (size_t i = 0; i < hosts->count && left; i++) {
        unsigned count = hosts->list[i].slots < left ? hosts->list[i].slots : left;
        if (!start_remote(hub, rsh, &hosts->list[i], first, count))
            return false;
        first += count;
        left -= count;
    }
    hub->running = hub->launch->nodes;
    hub->reads = true;
    for (unsigned r = 0; r < hub->n_remotes; r++)
        tell_start(hub, &hub->remotes[r]);
    return true;
}

/* ---- The wire ---- */

static void tell_failure(struct hub *hub, unsigned node, const char *text)
{
    struct hub_failure failure = {.code = REM_EDEAD};
    snprintf(failure.text, sizeof failure.text, "%s", text);
    if (!hub->failed)
        tell_all(hub, HUB_FAIL, node, &failure, sizeof failure);
    hub->failed = true;
}

static void mourn_absent(struct hub *hub)
{
    char text[64];
    snprintf(text, sizeof text, "node %d has ended without calling rem_open", hub->absent);
    tell_failure(hub, (unsigned)hub->absent, text);
}

static void show_all(struct hub *hub)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        abort();
    for (unsigned n = 0; n < hub->launch->nodes; n++) {
        struct member *member = &hub->members[n];
        fwrite(member->piece, 1, member->size, out);
        free(member->piece);
        member->piece = NULL;
        member->come = false;
    }
    hub->n_come = 0;
    fclose(out);
    tell_all(hub, HUB_ALL, 0, all, size);
    free(all);
}

static void take_piece(struct hub *hub, unsigned node, const char *bytes, size_t size)
{
    struct member *member = &hub->members[node];
    member->state = member->state == NODE_CLOSED ? NODE_CLOSED : NODE_OPEN;
    free(member->piece);
    member->piece = malloc(size + 1);
    if (!member->piece)
        abort();
    memcpy(member->piece, bytes, size);
    member->size = size;
    hub->n_come += !member->come;
    member->come = true;
    if (hub->absent >= 0)
        mourn_absent(hub);
    else if (hub->n_come == hub->launch->nodes)
        show_all(hub);
}

/* ---- Ends ---- */

/* `lost`: with its host. */
static void node_ended(struct hub *hub, unsigned node, int status, const char *lost)
{
    struct member *member = &hub->members[node];
    bool left_open = member->state == NODE_OPEN, failed = status != 0;
    if (member->ended)
        return;
    member->ended = true;
    hub->running--;
    if (!lost)
        ending_node(&hub->ending, node, status, left_open);
    if (left_open || (failed && member->state == NODE_FRESH)) {
        tell_failure(hub, node, lost ? lost : "");
        ending_plan(&hub->ending);
    } else if (member->state == NODE_FRESH) {
        hub->absent = (int)node;
        if (hub->n_come)
            mourn_absent(hub);
    }
}

/* The connection has ended. With all nodes ended that is as it should be. */
static void remote_ended(struct hub *hub, struct remote *remote)
{
    int status = 0;
    char text[128];
    bool lost = false;
    channel_close(&remote->channel);
    kill(remote->pid, SIGTERM);
    waitpid(remote->pid, &status, 0);
    remote->pid = 0;
    for (unsigned n = remote->first; n < remote->first + remote->count; n++)
        lost = lost || !hub->members[n].ended;
    if (!lost)
        return;
    snprintf(text, sizeof text, "%s host `%.60s'",
             remote->there ? "lost the connection to" : "cannot start on", remote->name);
    if (!hub->launch->quiet || !remote->there)
        complain(command, "%s", text);
    if (hub->ending.status == 0)
        hub->ending.status = remote->there ? LOST : STATUS_BAD;
    ending_plan(&hub->ending);
    for (unsigned n = remote->first; n < remote->first + remote->count; n++)
        node_ended(hub, n, LOST << 8, text);
}

/* ---- Output and input ---- */

static void write_output(struct hub *hub, unsigned node, int which, const char *bytes, size_t size)
{
    struct member *member = &hub->members[node];
    int target = hub->launch->prefix ? member->ends[which] : STDOUT_FILENO + which;
    while (size) {
        size_t piece = size < PIPE_BUF ? size : PIPE_BUF;
        ssize_t done = write(target, bytes, piece);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return;
        bytes += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
        if (hub->launch->prefix)
            prefixed_read(&member->lines[which]);
    }
}

static void finish_output(struct hub *hub)
{
    for (unsigned n = 0; n < hub->launch->nodes && hub->launch->prefix; n++)
        for (int which = 0; which < OUTPUTS; which++) {
            close(hub->members[n].ends[which]);
            prefixed_close(&hub->members[n].lines[which]);
        }
}

/* To node 0, which is on the first host. */
static void read_input(struct hub *hub)
{
    char bytes[INPUT];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    hub->reads = false;
    channel_send(&hub->remotes[0].channel, HUB_INPUT, 0, bytes, got > 0 ? (size_t)got : 0);
}

/* ---- The loop ---- */

static void take_frame(struct hub *hub, struct remote *remote, const struct hub_head *head, const char *bytes)
{
    int32_t status;
    if (head->kind == HUB_HELLO)
        remote->there = true;
    if (head->node < remote->first || head->node >= remote->first + remote->count)
        return;
    switch ((enum hub_kind)head->kind) {
    case HUB_PIECE:
        take_piece(hub, head->node, bytes, head->size);
        break;
    case HUB_BYE:
        hub->members[head->node].state = NODE_CLOSED;
        break;
    case HUB_OUT:
    case HUB_ERR:
        write_output(hub, head->node, head->kind == HUB_ERR, bytes, head->size);
        break;
    case HUB_TAKEN:
        hub->reads = true;
        break;
    case HUB_END:
        if (head->size == sizeof status) {
            memcpy(&status, bytes, sizeof status);
            node_ended(hub, head->node, status, NULL);
        }
        break;
    default:
        break;
    }
}

static void hear(struct hub *hub, struct remote *remote)
{
    struct hub_head head;
    const char *bytes;
    if (!remote->pid)
        return;
    channel_flush(&remote->channel);
    channel_fill(&remote->channel);
    while (channel_next(&remote->channel, &head, &bytes))
        take_frame(hub, remote, &head, bytes);
    if (remote->channel.in < 0)
        remote_ended(hub, remote);
}

/* Hosts that do not answer when all should have ended. */
static void give_up_late(struct hub *hub)
{
    double time = (double)rem_clock() * 1e-9;
    for (unsigned r = 0; r < hub->n_remotes; r++)
        if (hub->ending.kill_at != 0 && time > hub->ending.kill_at + GIVE_UP_AFTER && hub->remotes[r].pid)
            kill(hub->remotes[r].pid, SIGKILL);
}

static void loop(struct hub *hub)
{
    struct pollfd polled[2 + 2 * REM_MAX_NODES];
    while (hub->running > 0) {
        nfds_t count = 0;
        polled[count++] = (struct pollfd){.fd = hub->ending.signals, .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = hub->reads ? STDIN_FILENO : -1, .events = POLLIN};
        for (unsigned r = 0; r < hub->n_remotes; r++)
            count += channel_poll(&hub->remotes[r].channel, &polled[count]);
        poll(polled, count, ending_timeout(&hub->ending));
        if (polled[1].revents)
            read_input(hub);
        for (unsigned r = 0; r < hub->n_remotes; r++)
            hear(hub, &hub->remotes[r]);
        ending_signals(&hub->ending);
        ending_keep_times(&hub->ending);
        give_up_late(hub);
    }
}

static void end_remotes(struct hub *hub)
{
    for (unsigned r = 0; r < hub->n_remotes; r++) {
        struct remote *remote = &hub->remotes[r];
        channel_close(&remote->channel);
        if (remote->pid)
            waitpid(remote->pid, NULL, 0);
    }
}

int launch_by_ssh(const struct launch *launch, const struct hosts *hosts)
{
    struct hub *hub = calloc(1, sizeof *hub);
    if (!hub)
        return STATUS_BAD;
    hub->launch = launch;
    hub->absent = -1;
    hub->ending = (struct ending){
        .launch = launch, .signals = -1, .signal_all = signal_all, .context = hub, .far = true};
    signal(SIGPIPE, SIG_IGN);
    if (!ending_open(&hub->ending) || !open_lines(hub) || !start_all(hub, hosts)) {
        complain(command, "cannot start: %s", strerror(errno));
        hub->ending.status = STATUS_BAD;
        hub->running = 0;
    }
    loop(hub);
    end_remotes(hub);
    finish_output(hub);
    int status = hub->ending.status;
    ending_close(&hub->ending);
    free(hub);
    return status;
}
