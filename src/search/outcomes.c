/* The set of outcomes (engine.h): rows of n values in one growing array, and an open-addressing table of row
 * numbers over it. */
#include "base/arena.h"
#include "search/engine.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct outcomes {
    unsigned n;
    size_t count, capacity;
    uint64_t *rows;
    size_t slots;    /* a power of two, more than twice count */
    uint32_t *table; /* row number plus one; 0 is free */
};

struct outcomes *outcomes_new(unsigned n)
{
    struct outcomes *set = xcalloc(1, sizeof *set);
    set->n = n;
    set->slots = 16;
    set->table = xcalloc(set->slots, sizeof *set->table);
    return set;
}

void outcomes_free(struct outcomes *set)
{
    if (!set)
        return;
    free(set->rows);
    free(set->table);
    free(set);
}

static size_t row_bytes(const struct outcomes *set)
{
    return set->n * sizeof *set->rows;
}

size_t outcomes_bytes(const struct outcomes *set)
{
    return set->capacity * row_bytes(set) + set->slots * sizeof *set->table;
}

/* The slot that holds the row, or the free one where it belongs. */
static uint32_t *find(const struct outcomes *set, const uint64_t *row)
{
    size_t slot = XXH3_64bits(row, row_bytes(set)) & (set->slots - 1);
    while (set->table[slot] &&
           (set->n && memcmp(outcomes_row(set, set->table[slot] - 1), row, row_bytes(set)) != 0))
        slot = (slot + 1) & (set->slots - 1);
    return &set->table[slot];
}

static void rebuild_table(struct outcomes *set)
{
    memset(set->table, 0, set->slots * sizeof *set->table);
    for (size_t i = 0; i < set->count; i++)
        *find(set, outcomes_row(set, i)) = (uint32_t)(i + 1);
}

static void grow(struct outcomes *set)
{
    set->capacity = set->capacity ? 2 * set->capacity : 8;
    set->rows = xrealloc(set->rows, set->capacity * row_bytes(set));
    while (set->slots < 2 * set->capacity)
        set->slots *= 2;
    set->table = xrealloc(set->table, set->slots * sizeof *set->table);
    rebuild_table(set);
}

bool outcomes_add(struct outcomes *set, const uint64_t *row)
{
    uint32_t *slot = find(set, row);
    if (*slot)
        return false;
    if (set->count == set->capacity) {
        grow(set);
        slot = find(set, row);
    }
    if (set->n)
        memcpy(set->rows + set->count * set->n, row, row_bytes(set));
    *slot = (uint32_t)++set->count;
    return true;
}

bool outcomes_has(const struct outcomes *set, const uint64_t *row)
{
    return *find(set, row) != 0;
}

size_t outcomes_count(const struct outcomes *set)
{
    return set->count;
}

const uint64_t *outcomes_row(const struct outcomes *set, size_t i)
{
    return set->rows + i * set->n;
}

static int compare_rows(const void *a, const void *b, void *n)
{
    const uint64_t *left = a, *right = b;
    for (unsigned i = 0; i < *(unsigned *)n; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

void outcomes_sort(struct outcomes *set)
{
    if (!set->n || set->count < 2)
        return;
    qsort_r(set->rows, set->count, row_bytes(set), compare_rows, &set->n);
    rebuild_table(set);
}
