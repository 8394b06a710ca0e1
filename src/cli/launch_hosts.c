/* remora launch --hosts: what a site has for starting processes on its hosts does that here too; the nodes find each other over
 * PMIx (src/job/pmix.c). srun in a Slurm allocation, else prterun or mpirun, which use ssh; this file knows their
 * options. Where there is none of them, ssh alone (launch_ssh.c). There are no daemons of our own. */
#include "cli/launch_hosts.h"
#include "cli/cli.h"
#include "cli/launch_ssh.h"
#include "job/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char command[] = "remora launch";

extern char **environ;

/* ---- Lists of hosts ---- */

static bool read_slots(const char *text, unsigned *slots)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || number == 0 || number > REM_MAX_NODES)
        return false;
    *slots = (unsigned)number;
    return true;
}

static bool add(struct hosts *hosts, const char *name, const char *slots_text)
{
    unsigned slots = 1;
    if (!*name || *name == '-' || (slots_text && !read_slots(slots_text, &slots)))
        return false;
    struct host *list = realloc(hosts->list, (hosts->count + 1) * sizeof *list);
    if (!list)
        return false;
    hosts->list = list;
    char *copy = strdup(name);
    if (!copy)
        return false;
    hosts->list[hosts->count++] = (struct host){copy, slots};
    return true;
}

static bool add_with_colon(struct hosts *hosts, char *text)
{
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    return add(hosts, text, colon ? colon + 1 : NULL);
}

bool hosts_add(struct hosts *hosts, char *text)
{
    char *rest = text, *name;
    while ((name = strsep(&rest, ",")))
        if (!add_with_colon(hosts, name))
            return false;
    return true;
}

void hosts_free(struct hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        free(hosts->list[i].name);
    free(hosts->list);
}

static bool add_line(struct hosts *hosts, char *line)
{
    static const char blank[] = " \t\r\n", slots[] = "slots=";
    line[strcspn(line, "#")] = '\0';
    char *rest, *name = strtok_r(line, blank, &rest);
    if (!name)
        return true;
    char *word = strtok_r(NULL, blank, &rest);
    if (word && strtok_r(NULL, blank, &rest))
        return false;
    if (!word)
        return add_with_colon(hosts, name);
    return strncmp(word, slots, sizeof slots - 1) == 0 && add(hosts, name, word + sizeof slots - 1);
}

bool hosts_read(struct hosts *hosts, const char *path, unsigned *line)
{
    char *text = NULL;
    size_t size = 0;
    bool good = true;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    for (*line = 1; good && getline(&text, &size, file) >= 0; *line += good)
        good = add_line(hosts, text);
    errno = ferror(file) ? errno : 0;
    free(text);
    fclose(file);
    return good && !errno;
}

unsigned hosts_slots(const struct hosts *hosts)
{
    unsigned slots = 0;
    for (size_t i = 0; i < hosts->count; i++)
        slots += hosts->list[i].slots;
    return slots;
}

/* ---- Command lines ---- */

struct words {
    char **list;
    size_t count, capacity;
};

static void add_word(struct words *words, const char *word)
{
    if (words->count + 1 >= words->capacity) {
        words->capacity = words->capacity ? 2 * words->capacity : 64;
        words->list = realloc(words->list, words->capacity * sizeof *words->list);
        if (!words->list)
            abort();
    }
    words->list[words->count++] = (char *)(uintptr_t)word;
    words->list[words->count] = NULL;
}

static void add_number(struct words *words, const char *option, unsigned number)
{
    char *text;
    if (asprintf(&text, "%u", number) < 0)
        abort();
    add_word(words, option);
    add_word(words, text);
}

static void add_program(struct words *words, const struct launch *launch)
{
    for (char **word = launch->argv; *word; word++)
        add_word(words, *word);
}

/* The hosts as a:2,b:1, as far as they are used. */
static char *host_list(const struct hosts *hosts, unsigned nodes)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        abort();
    for (size_t i = 0; i < hosts->count && nodes; i++) {
        const struct host *host = &hosts->list[i];
        unsigned used = host->slots < nodes ? host->slots : nodes;
        fprintf(out, "%s%s:%u", i ? "," : "", host->name, used);
        nodes -= used;
    }
    fclose(out);
    return text;
}

/* Of the variables that are for the nodes: all of ours but the one that names a job on this machine. */
static void pass_variables(struct words *words)
{
    for (char **variable = environ; *variable; variable++) {
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, "REMORA_", 7) != 0)
            continue;
        char *name = strndup(*variable, length);
        if (!name)
            abort();
        add_word(words, "-x");
        add_word(words, name);
    }
}

/* Nodes fill the hosts in order, and have their threads run where there is a processor. */
static void mpirun_words(struct words *words, const struct launch *launch, const struct hosts *hosts,
                         bool is_prte)
{
    add_word(words, is_prte ? "prterun" : "mpirun");
    add_number(words, "-n", launch->nodes);
    add_word(words, "--host");
    add_word(words, host_list(hosts, launch->nodes));
    add_word(words, "--map-by");
    add_word(words, "slot");
    add_word(words, "--bind-to");
    add_word(words, "none");
    if (geteuid() == 0)
        add_word(words, "--allow-run-as-root");
    if (hosts->rsh) {
        add_word(words, is_prte ? "--prtemca" : "--mca");
        add_word(words, is_prte ? "plm_ssh_agent" : "plm_rsh_agent");
        add_word(words, hosts->rsh);
    }
    if (launch->prefix)
        add_word(words, "--tag-output");
    if (launch->quiet)
        add_word(words, "--quiet");
    pass_variables(words);
    add_program(words, launch);
}

/* srun reads the host of each node from a file; this one has no name. */
static bool set_host_file(const struct launch *launch, const struct hosts *hosts)
{
    char path[64];
    int descriptor = memfd_create("hosts", 0);
    if (descriptor < 0)
        return false;
    unsigned left = launch->nodes;
    for (size_t i = 0; i < hosts->count; i++)
        for (unsigned slot = 0; slot < hosts->list[i].slots && left; slot++, left--)
            dprintf(descriptor, "%s\n", hosts->list[i].name);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), descriptor);
    return setenv("SLURM_HOSTFILE", path, 1) == 0;
}

static void srun_words(struct words *words, const struct launch *launch)
{
    add_word(words, "srun");
    add_number(words, "-n", launch->nodes);
    add_word(words, "--mpi=pmix");
    add_word(words, "--distribution=arbitrary");
    add_word(words, "--cpu-bind=none");
    add_word(words, "--kill-on-bad-exit=1");
    add_word(words, "--input=0");
    if (launch->prefix)
        add_word(words, "--label");
    if (launch->quiet)
        add_word(words, "--quiet");
    add_program(words, launch);
}

/* ---- Choosing ---- */

static bool in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : ""), *rest = copy, *folder;
    bool found = false;
    while (!found && copy && (folder = strsep(&rest, ":"))) {
        char *file;
        if (asprintf(&file, "%s/%s", *folder ? folder : ".", name) < 0)
            break;
        found = access(file, X_OK) == 0;
        free(file);
    }
    free(copy);
    return found;
}

static void set_variables(const struct launch *launch)
{
    char text[32];
    unsetenv(ENVIRONMENT_JOB);
    if (launch->provider)
        setenv(ENVIRONMENT_PROVIDER, launch->provider, 1);
    snprintf(text, sizeof text, "%zu", launch->options.heap);
    if (launch->options.heap)
        setenv(ENVIRONMENT_HEAP, text, 1);
    snprintf(text, sizeof text, "%u", launch->options.threads);
    if (launch->options.threads)
        setenv(ENVIRONMENT_THREADS, text, 1);
    snprintf(text, sizeof text, "%.3f", (double)launch->patience * 1e-9);
    setenv(ENVIRONMENT_TIMEOUT, text, 1);
}

bool hosts_choose(struct hosts *hosts, const char *name)
{
    static const char *const names[] = {[BY_CHOICE] = "auto",
                                        [BY_SRUN] = "srun",
                                        [BY_PRTERUN] = "prterun",
                                        [BY_MPIRUN] = "mpirun",
                                        [BY_SSH] = "ssh"};
    for (unsigned by = 0; by < sizeof names / sizeof *names; by++)
        if (strcmp(name, names[by]) == 0) {
            hosts->by = (enum hosts_by)by;
            return true;
        }
    return false;
}

static enum hosts_by choose(const struct hosts *hosts)
{
    if (hosts->by != BY_CHOICE)
        return hosts->by;
    if (getenv("SLURM_JOB_ID") && in_path("srun") && !hosts->rsh)
        return BY_SRUN;
    return in_path("prterun") ? BY_PRTERUN : in_path("mpirun") ? BY_MPIRUN : BY_SSH;
}

int launch_on_hosts(const struct launch *launch, const struct hosts *hosts)
{
    struct words words = {0};
    enum hosts_by by = choose(hosts);
    if (launch->nodes > hosts_slots(hosts)) {
        complain(command, "%u nodes, but the hosts have %u places: write HOST:PLACES", launch->nodes,
                 hosts_slots(hosts));
        return STATUS_BAD;
    }
    set_variables(launch);
    if (by == BY_SSH)
        return launch_by_ssh(launch, hosts);
    if (by == BY_SRUN && set_host_file(launch, hosts))
        srun_words(&words, launch);
    else
        mpirun_words(&words, launch, hosts, by == BY_PRTERUN);
    execvp(words.list[0], words.list);
    complain(command, "cannot run `%s': %s", words.list[0], strerror(errno));
    return STATUS_BAD;
}
