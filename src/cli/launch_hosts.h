/* A job over several hosts, through a launcher that the site has, srun, prterun or mpirun; or by ssh. */
#ifndef REMORA_CLI_LAUNCH_HOSTS_H
#define REMORA_CLI_LAUNCH_HOSTS_H

#include "cli/launcher.h"

struct host {
    char *name;
    unsigned slots;
};

/* What starts the nodes. BY_CHOICE: the first that can. */
enum hosts_by { BY_CHOICE, BY_SRUN, BY_PRTERUN, BY_MPIRUN, BY_SSH };

/* In the order in which nodes fill them. */
struct hosts {
    struct host *list;
    size_t count;
    const char *rsh; /* null: what the launcher takes */
    enum hosts_by by;
};

/* "a,b:4,c". False: not such a list. The text is written into. */
bool hosts_add(struct hosts *hosts, char *text);

/* A file of a host a line: "name", "name:4" or "name slots=4"; # begins a comment. False with errno (0: a line is
 * not so; *line is its number). */
bool hosts_read(struct hosts *hosts, const char *path, unsigned *line);

void hosts_free(struct hosts *hosts);

/* By its name: auto, srun, …. False: there is none of that name. */
bool hosts_choose(struct hosts *hosts, const char *name);

unsigned hosts_slots(const struct hosts *hosts);

/* Becomes the site's launcher, or starts the nodes by ssh: the exit status. */
int launch_on_hosts(const struct launch *launch, const struct hosts *hosts);

#endif
