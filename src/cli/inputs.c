/* The files behind a subcommand's arguments (inputs.h). */
#include "cli/inputs.h"

#include "base/arena.h"
#include "cli/cli.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct list {
    struct arena *arena;
    const char **files;
    size_t count, capacity;
};

static void add(struct list *list, const char *file)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->files = xrealloc(list->files, list->capacity * sizeof *list->files);
    }
    list->files[list->count++] = arena_strdup(list->arena, file);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_litmus(const char *name)
{
    static const char suffix[] = ".litmus";
    size_t length = strlen(name);
    return length > sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* False if something in it could not be read. */
static bool add_folder(struct list *list, const char *command, const char *folder)
{
    char *roots[] = {arena_strdup(list->arena, folder), NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!walk) {
        complain(command, "%s: %s", folder, strerror(errno));
        return false;
    }
    bool good = true;
    size_t before = list->count;
    for (FTSENT *entry; (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            complain(command, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
            good = false;
        } else if ((entry->fts_info == FTS_F || entry->fts_info == FTS_SLNONE) &&
                   is_litmus(entry->fts_name)) {
            add(list, entry->fts_path);
        }
    }
    fts_close(walk);
    if (good && list->count == before) {
        complain(command, "%s: no *.litmus file in this folder", folder);
        good = false;
    }
    return good;
}

struct inputs inputs_find(struct arena *arena, const char *command, char *const *arguments, size_t count)
{
    struct list list = {.arena = arena};
    bool failed = false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(arguments[i], "-") != 0 && is_folder(arguments[i]))
            failed |= !add_folder(&list, command, arguments[i]);
        else
            add(&list, arguments[i]);
    }
    struct inputs inputs = {
        .files = ARENA_ARRAY(arena, const char *, list.count), .count = list.count, .failed = failed};
    if (list.count)
        memcpy(inputs.files, list.files, list.count * sizeof *list.files);
    free(list.files);
    return inputs;
}

/* Far beyond any test; so that an endless file ends too. */
enum { LARGEST_INPUT = 1 << 27 };

char *read_stream(struct arena *arena, FILE *in, size_t *length)
{
    char *text = NULL;
    size_t capacity = 0, used = 0, n = 0;
    do {
        used += n;
        if (used == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            text = xrealloc(text, capacity);
        }
        n = fread(text + used, 1, capacity - used, in);
    } while (n && used + n <= LARGEST_INPUT);
    int error = ferror(in) ? errno : n ? EFBIG : 0;
    char *copy = error ? NULL : arena_strndup(arena, text, used);
    free(text);
    *length = used;
    errno = error;
    return copy;
}
