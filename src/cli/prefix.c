/* Whole lines are written at once, so that those of several nodes don't mix. */
#include "cli/prefix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool prefixed_open(struct prefixed *stream, int target, unsigned node, int *end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    stream->pipe = ends[0];
    stream->target = target;
    stream->node = node;
    stream->length = 0;
    *end = ends[1];
    return true;
}

nfds_t prefixed_poll(struct prefixed *stream, struct pollfd *polled, struct prefixed **which)
{
    if (!stream->pipe)
        return 0;
    *polled = (struct pollfd){.fd = stream->pipe, .events = POLLIN};
    *which = stream;
    return 1;
}

static void write_all(int target, const char *text, size_t length)
{
    while (length) {
        ssize_t written = write(target, text, length);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

static void write_line(const struct prefixed *stream, size_t length)
{
    char text[sizeof stream->line + 16];
    int begin = snprintf(text, 16, "[%u] ", stream->node);
    memcpy(text + begin, stream->line, length);
    size_t size = (size_t)begin + length;
    if (length == 0 || stream->line[length - 1] != '\n')
        text[size++] = '\n';
    write_all(stream->target, text, size);
}

static void write_lines(struct prefixed *stream)
{
    char *end;
    while ((end = memchr(stream->line, '\n', stream->length)) || stream->length == sizeof stream->line) {
        size_t length = end ? (size_t)(end - stream->line) + 1 : stream->length;
        write_line(stream, length);
        stream->length -= length;
        memmove(stream->line, stream->line + length, stream->length);
    }
}

static void read_chunks(struct prefixed *stream, unsigned most)
{
    ssize_t got = 1;
    for (unsigned chunks = 0; chunks < most && got > 0; chunks++) {
        got = read(stream->pipe, stream->line + stream->length, sizeof stream->line - stream->length);
        if (got > 0) {
            stream->length += (size_t)got;
            write_lines(stream);
        }
    }
    if (got > 0)
        return;
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(stream->pipe);
        stream->pipe = 0;
    }
}

/* Not for ever: other streams and the signals wait. */
void prefixed_read(struct prefixed *stream)
{
    read_chunks(stream, 16);
}

void prefixed_close(struct prefixed *stream)
{
    if (stream->pipe)
        read_chunks(stream, UINT_MAX);
    if (stream->length)
        write_line(stream, stream->length);
    if (stream->pipe)
        close(stream->pipe);
    stream->pipe = 0;
}
