/* A job over several hosts, through a launcher that the site has: srun, prterun or mpirun. */
#ifndef REMORA_CLI_LAUNCH_HOSTS_H
#define REMORA_CLI_LAUNCH_HOSTS_H

#include "cli/launcher.h"

struct host {
    const char *name;
    unsigned slots;
};

/* In the order in which nodes fill them. */
struct hosts {
    struct host *list;
    size_t count;
    const char *rsh; /* null: what the launcher takes */
};

/* "a,b:4,c". False: not such a list. The text is kept and written into. */
bool hosts_add(struct hosts *hosts, char *text);

/* A file of a host a line: "name", "name:4" or "name slots=4"; # begins a comment. False with errno (0: a line is
 * not so; *line is its number). */
bool hosts_read(struct hosts *hosts, const char *path, unsigned *line);

unsigned hosts_slots(const struct hosts *hosts);

/* Becomes the site's launcher. Returns only if it can't, having said why, with the exit status. */
int launch_on_hosts(const struct launch *launch, const struct hosts *hosts);

#endif
