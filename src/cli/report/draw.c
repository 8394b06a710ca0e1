/* Draws a text in graphviz's language by the program `dot`. Graphviz's library would do too, but it keeps
 * global state, and pictures are drawn by several threads. */
#include "base/arena.h"
#include "cli/report/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool picture_can_draw(void)
{
    const char *path = getenv("PATH");
    for (const char *next; path && *path; path = next) {
        size_t length = strcspn(path, ":");
        char file[4096];
        int n = snprintf(file, sizeof file, "%.*s/dot", (int)length, path);
        if (n > 0 && (size_t)n < sizeof file && access(file, X_OK) == 0)
            return true;
        next = path + length + (path[length] == ':');
    }
    return false;
}

/* The text goes through an unlinked file, so that neither side can block on the other. */
static FILE *as_input(const char *dot, size_t length)
{
    FILE *input = tmpfile();
    if (input && (fwrite(dot, 1, length, input) != length || fflush(input) != 0 ||
                  lseek(fileno(input), 0, SEEK_SET) != 0)) {
        fclose(input);
        return NULL;
    }
    return input;
}

static int run_dot(int input, int output, int *status)
{
    char *arguments[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawnp(&child, "dot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return error;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

const char *picture_draw(struct arena *arena, const char *dot, size_t length, const char *file)
{
    int output = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output < 0)
        return arena_printf(arena, "%s: %s", file, strerror(errno));
    FILE *input = as_input(dot, length);
    int status = 0, error = input ? run_dot(fileno(input), output, &status) : errno;
    if (input)
        fclose(input);
    if (close(output) != 0 && !error)
        error = errno;
    if (error)
        return arena_printf(arena, "%s: dot: %s", file, strerror(error));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return arena_printf(arena, "%s: dot could not draw it", file);
    return NULL;
}
