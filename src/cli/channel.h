/* Frames (job/hub.h) over a pair of descriptors, without blocking: what can't be written yet is kept. */
#ifndef REMORA_CLI_CHANNEL_H
#define REMORA_CLI_CHANNEL_H

#include "job/hub.h"

#include <poll.h>
#include <stddef.h>

struct buffer {
    char *bytes;
    size_t begin, end, capacity;
};

struct channel {
    int in, out; /* -1: closed; or the same */
    struct buffer inbox, outbox;
};

void channel_open(struct channel *channel, int in, int out);
void channel_close(struct channel *channel);

void channel_send(struct channel *channel, enum hub_kind kind, unsigned node, const void *bytes, size_t size);

/* Writes what there is room for. What is left: channel_waiting. An end that nobody reads any more loses it. */
void channel_flush(struct channel *channel);
size_t channel_waiting(const struct channel *channel);

/* Reads some of what is there, if anything; at the end, or after an error, `in` is -1. */
bool channel_fill(struct channel *channel);

/* The next frame that has been read whole; its bytes stay until the next call. A senseless one ends the channel. */
bool channel_next(struct channel *channel, struct hub_head *head, const char **bytes);

/* What poll should look at: at most two entries. */
nfds_t channel_poll(const struct channel *channel, struct pollfd *polled);

#endif
