/* The progress line (progress.h): drawn over itself, never longer than the terminal is wide. */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct progress progress_start(void)
{
    return (struct progress){.on = isatty(STDERR_FILENO) == 1};
}

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

void progress_show(struct progress *progress, size_t done, size_t total, const char *current, uint64_t states)
{
    if (!progress->on)
        return;
    char line[512];
    const char *slash = strrchr(current, '/');
    snprintf(line, sizeof line, "[%zu/%zu] %.200s, %" PRIu64 " states", done, total,
             slash ? slash + 1 : current, states);
    fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
    fflush(stderr);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
