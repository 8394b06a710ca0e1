/* A node's output through a pipe, each line with the node's number before it. */
#ifndef REMORA_CLI_PREFIX_H
#define REMORA_CLI_PREFIX_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct prefixed {
    int pipe; /* the end we read; 0 when there is none */
    int target;
    unsigned node;
    size_t length;
    char line[8192]; /* begun; longer lines are broken */
};

/* *end becomes the end to write to. Errno on failure. */
bool prefixed_open(struct prefixed *stream, int target, unsigned node, int *end);

/* 1 and the entry for poll, or 0 if the pipe is closed. */
nfds_t prefixed_poll(struct prefixed *stream, struct pollfd *polled, struct prefixed **which);

/* Passes on what is there, without blocking. */
void prefixed_read(struct prefixed *stream);

/* Passes on all that is there and what is left of a line. */
void prefixed_close(struct prefixed *stream);

#endif
