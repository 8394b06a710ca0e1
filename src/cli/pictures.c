/* Where pictures go: one test's to the file that was named; several tests' into a folder, each called like
 * its test file. */
#include "cli/pictures.h"

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/report/picture.h"

#include <errno.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *stem(struct arena *arena, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');
    if (strcmp(base, "-") == 0)
        return arena_strdup(arena, "stdin");
    return arena_strndup(arena, base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

/* The entry of a name; entered as new, with count 1, if it is not in the table. */
static ENTRY *look_up(struct hsearch_data *table, char *name, bool *is_new)
{
    ENTRY item = {.key = name}, *entry;
    *is_new = hsearch_r(item, FIND, &entry, table) == 0;
    item.data = (void *)(uintptr_t)1;
    if (*is_new && hsearch_r(item, ENTER, &entry, table) == 0)
        out_of_memory();
    return entry;
}

/* The second one called `t` is t-2. How far one has come is kept with the name, as thousands may be called alike. */
static char *unused_name(struct arena *arena, struct hsearch_data *table, char *name)
{
    bool is_new;
    ENTRY *first = look_up(table, name, &is_new);
    char *unused = name;
    while (!is_new) {
        uintptr_t count = (uintptr_t)first->data + 1;
        first->data = (void *)count;
        unused = arena_printf(arena, "%s-%ju", name, (uintmax_t)count);
        look_up(table, unused, &is_new);
    }
    return unused;
}

static char **choose_names(struct arena *arena, const struct inputs *inputs)
{
    char **names = ARENA_ARRAY(arena, char *, inputs->count);
    struct hsearch_data table = {0};
    if (!hcreate_r(2 * inputs->count + 1, &table))
        out_of_memory();
    for (size_t i = 0; i < inputs->count; i++)
        names[i] = unused_name(arena, &table, stem(arena, inputs->files[i]));
    hdestroy_r(&table);
    return names;
}

static bool make_folder(const char *command, const char *folder)
{
    struct stat status;
    if (!folder || mkdir(folder, 0777) == 0)
        return true;
    if (errno == EEXIST && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    complain(command, "%s: %s (with several tests it must be a folder)", folder, strerror(errno));
    return false;
}

bool pictures_prepare(struct arena *arena, const char *command, struct pictures *pictures,
                      const struct inputs *inputs)
{
    if (pictures->svg && !picture_can_draw()) {
        complain(command, "--svg needs graphviz's program `dot', which is not installed; --dot does not");
        return false;
    }
    if ((!pictures->dot && !pictures->svg) || inputs->count == 1)
        return true;
    pictures->names = choose_names(arena, inputs);
    return make_folder(command, pictures->dot) && make_folder(command, pictures->svg);
}

static const char *file_name(struct arena *arena, const struct pictures *pictures, const char *given,
                             size_t i, const char *suffix)
{
    return pictures->names ? arena_printf(arena, "%s/%s.%s", given, pictures->names[i], suffix) : given;
}

static const char *write_file(struct arena *arena, const char *name, const char *text, size_t length)
{
    FILE *file = fopen(name, "w");
    if (!file)
        return arena_printf(arena, "%s: %s", name, strerror(errno));
    bool written = fwrite(text, 1, length, file) == length;
    if (fclose(file) != 0 || !written)
        return arena_printf(arena, "%s: %s", name, strerror(errno));
    return NULL;
}

const char *pictures_write(struct arena *arena, const struct pictures *pictures, size_t i,
                           const struct lm_test *test, const struct explained_test *explained, bool *bad)
{
    *bad = false;
    if (!pictures->dot && !pictures->svg)
        return NULL;
    if (!explained->explanation.events)
        return arena_printf(arena, "no picture of %s: %s", test->name, explained->verdict);
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        out_of_memory();
    struct caption caption = {test->name, explained->outcome, explained->verdict};
    picture_dot(out, &explained->explanation, &caption);
    if (fclose(out) != 0)
        out_of_memory();
    const char *wrong = NULL;
    if (pictures->dot)
        wrong = write_file(arena, file_name(arena, pictures, pictures->dot, i, "dot"), text, length);
    if (pictures->svg && !wrong)
        wrong = picture_draw(arena, text, length, file_name(arena, pictures, pictures->svg, i, "svg"));
    free(text);
    *bad = wrong != NULL;
    return wrong;
}
