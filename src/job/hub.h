/* The wire through our own launcher where it starts nodes over ssh: the launcher is the hub, and what the nodes show each
 * other travels through the standard streams of the ssh connections. Nothing listens anywhere.
 *
 * A node has a socket to the part of the launcher that runs on its host, which has the connection to the hub. On
 * both, frames: a head and `size` bytes. */
#ifndef REMORA_JOB_HUB_H
#define REMORA_JOB_HUB_H

#include "job/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct rem_node;
struct meeting_place;

/* "SELF:NODES:ONE_HOST:DESCRIPTOR:INODE" of the node's socket. */
#define ENVIRONMENT_HUB "REMORA_HUB"

enum hub_kind {
    /* From a node, through its host, to the hub. */
    HUB_PIECE = 1, /* of an exchange */
    HUB_BYE,       /* the node has closed the job */
    /* From a host to the hub. */
    HUB_OUT, /* the node's output */
    HUB_ERR,
    HUB_END,   /* int32_t: the node has ended, with this status of waitpid */
    HUB_TAKEN, /* the last HUB_INPUT has gone to node 0 */
    /* From the hub to the nodes. */
    HUB_ALL,  /* the pieces of all nodes, in order */
    HUB_FAIL, /* struct hub_failure, about the head's node: the job has failed */
    /* From the hub to a host. */
    HUB_START,  /* struct hub_start */
    HUB_INPUT,  /* standard input of node 0; of size 0: its end */
    HUB_SIGNAL, /* int32_t, for all nodes */
    HUB_HELLO   /* from a host: it is there */
};

struct hub_head {
    uint16_t kind, node;
    uint32_t size;
};

struct hub_failure {
    int32_t code;
    char text[156]; /* may be empty */
};

/* Behind it strings, each with its end: the working directory, the variables, the words of the command line. */
struct hub_start {
    uint32_t first, count; /* the nodes of this host */
    uint32_t nodes, one_host, variables, words;
};

#define HUB_MOST ((uint32_t)16 << 20) /* bytes of a frame */

/* Our launcher's part on this host waits for this process. */
bool hub_called(void);

/* As pmix_open. */
int hub_open(struct rem_node *node, struct meeting_place *place);

#endif
