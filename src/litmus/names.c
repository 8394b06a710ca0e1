/* Name tables and the edit distance behind "did you mean" (see names.h). */
#include "litmus/names.h"

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_ROOM = 8, LONGEST_GUESS = 64 };

static unsigned first_slot(const struct names *names, const char *name)
{
    return (unsigned)(XXH3_64bits(name, strlen(name)) & (names->n_slots - 1));
}

unsigned names_find(const struct names *names, const char *name)
{
    if (!names->n_slots)
        return NAMES_NONE;
    for (unsigned s = first_slot(names, name); names->slots[s]; s = (s + 1) & (names->n_slots - 1))
        if (!strcmp(names->list[names->slots[s] - 1], name))
            return names->slots[s] - 1;
    return NAMES_NONE;
}

static void insert(struct names *names, unsigned number)
{
    unsigned s = first_slot(names, names->list[number]);
    while (names->slots[s])
        s = (s + 1) & (names->n_slots - 1);
    names->slots[s] = number + 1;
}

static void grow(struct names *names, struct arena *arena)
{
    unsigned room = names->room ? 2 * names->room : FIRST_ROOM;
    const char **list = ARENA_ARRAY(arena, const char *, room);
    if (names->n)
        memcpy(list, names->list, names->n * sizeof *list);
    names->list = list;
    names->room = room;
    names->n_slots = 2 * room;
    names->slots = ARENA_ARRAY(arena, unsigned, names->n_slots);
    for (unsigned i = 0; i < names->n; i++)
        insert(names, i);
}

unsigned names_add(struct names *names, struct arena *arena, const char *name)
{
    unsigned found = names_find(names, name);
    if (found != NAMES_NONE)
        return found;
    if (names->n == names->room)
        grow(names, arena);
    names->list[names->n] = name;
    insert(names, names->n);
    return names->n++;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, delete, replace, swap of neighbours) between words of at most LONGEST_GUESS letters. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    unsigned rows[3][LONGEST_GUESS + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i - 1) % 3], *twice = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && twice[j - 2] + 1 < row[j])
                row[j] = twice[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

struct guess guess_start(const char *word)
{
    size_t n = strlen(word);
    return (struct guess){.word = word, .distance = n > LONGEST_GUESS ? 0 : 3};
}

void guess_consider(struct guess *guess, const char *candidate)
{
    size_t n = strlen(guess->word), m = strlen(candidate);
    if (n > LONGEST_GUESS || m > LONGEST_GUESS || n > m + 2 || m > n + 2)
        return;
    if (!strcasecmp(guess->word, candidate)) {
        guess->distance = 0;
        guess->best = candidate;
        return;
    }
    unsigned distance = edit_distance(guess->word, n, candidate, m);
    if (distance < guess->distance && 2 * distance < n) {
        guess->distance = distance;
        guess->best = candidate;
    }
}

const char *guess_hint(const struct guess *guess, struct arena *arena)
{
    return guess->best ? arena_printf(arena, "did you mean `%s`?", guess->best) : NULL;
}
