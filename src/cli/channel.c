/* Frames without blocking (channel.h). */
#include "cli/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 65536 };

static void make_room(struct buffer *buffer, size_t size)
{
    if (buffer->begin) {
        memmove(buffer->bytes, buffer->bytes + buffer->begin, buffer->end - buffer->begin);
        buffer->end -= buffer->begin;
        buffer->begin = 0;
    }
    if (buffer->capacity - buffer->end >= size)
        return;
    buffer->capacity = 2 * (buffer->end + size);
    buffer->bytes = realloc(buffer->bytes, buffer->capacity);
    if (!buffer->bytes)
        abort();
}

static void append(struct buffer *buffer, const void *bytes, size_t size)
{
    if (!size)
        return;
    make_room(buffer, size);
    memcpy(buffer->bytes + buffer->end, bytes, size);
    buffer->end += size;
}

static void unblock(int descriptor)
{
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

void channel_open(struct channel *channel, int in, int out)
{
    *channel = (struct channel){.in = in, .out = out};
    unblock(in);
    unblock(out);
}

void channel_close(struct channel *channel)
{
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    free(channel->inbox.bytes);
    free(channel->outbox.bytes);
    *channel = (struct channel){.in = -1, .out = -1};
}

void channel_send(struct channel *channel, enum hub_kind kind, unsigned node, const void *bytes, size_t size)
{
    struct hub_head head = {(uint16_t)kind, (uint16_t)node, (uint32_t)size};
    if (channel->out < 0)
        return;
    append(&channel->outbox, &head, sizeof head);
    append(&channel->outbox, bytes, size);
    channel_flush(channel);
}

void channel_flush(struct channel *channel)
{
    struct buffer *box = &channel->outbox;
    while (channel->out >= 0 && box->begin != box->end) {
        ssize_t done = write(channel->out, box->bytes + box->begin, box->end - box->begin);
        if (done < 0 && errno == EAGAIN)
            return;
        if (done < 0 && errno != EINTR)
            box->begin = box->end; /* nobody reads it: reading will tell */
        box->begin += done > 0 ? (size_t)done : 0;
    }
}

size_t channel_waiting(const struct channel *channel)
{
    return channel->outbox.end - channel->outbox.begin;
}

static void end_reading(struct channel *channel)
{
    if (channel->in != channel->out)
        close(channel->in);
    channel->in = -1;
}

bool channel_fill(struct channel *channel)
{
    struct buffer *box = &channel->inbox;
    if (channel->in < 0)
        return false;
    make_room(box, PIECE);
    ssize_t done = read(channel->in, box->bytes + box->end, PIECE);
    if (done > 0)
        box->end += (size_t)done;
    else if (done == 0 || (errno != EAGAIN && errno != EINTR))
        end_reading(channel);
    return done > 0;
}

bool channel_next(struct channel *channel, struct hub_head *head, const char **bytes)
{
    struct buffer *box = &channel->inbox;
    if (box->end - box->begin < sizeof *head)
        return false;
    memcpy(head, box->bytes + box->begin, sizeof *head);
    if (head->size > HUB_MOST) {
        box->begin = box->end;
        if (channel->in >= 0)
            end_reading(channel);
        return false;
    }
    if (box->end - box->begin < sizeof *head + head->size)
        return false;
    *bytes = box->bytes + box->begin + sizeof *head;
    box->begin += sizeof *head + head->size;
    return true;
}

nfds_t channel_poll(const struct channel *channel, struct pollfd *polled)
{
    nfds_t count = 0;
    if (channel->in >= 0)
        polled[count++] = (struct pollfd){.fd = channel->in, .events = POLLIN};
    if (channel->out >= 0 && channel_waiting(channel))
        polled[count++] = (struct pollfd){.fd = channel->out, .events = POLLOUT};
    return count;
}
