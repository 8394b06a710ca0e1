/* How often each outcome was seen (histogram.h): an open-addressing table of row numbers over the rows. */
#include "run/histogram.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct histogram *histogram_new(unsigned n)
{
    struct histogram *h = xcalloc(1, sizeof *h);
    h->n = n;
    h->capacity = 16;
    h->slots = 64;
    h->rows = xcalloc(h->capacity * (n ? n : 1), sizeof *h->rows);
    h->counts = xcalloc(h->capacity, sizeof *h->counts);
    h->firsts = xcalloc(h->capacity, sizeof *h->firsts);
    h->table = xcalloc(h->slots, sizeof *h->table);
    return h;
}

void histogram_free(struct histogram *h)
{
    if (!h)
        return;
    free(h->rows);
    free(h->counts);
    free(h->firsts);
    free(h->table);
    free(h);
}

static size_t row_bytes(const struct histogram *h)
{
    return h->n * sizeof *h->rows;
}

/* The slot that has the row's number plus one, or the free one where it belongs. */
static uint32_t *find(const struct histogram *h, const uint64_t *row)
{
    size_t slot = XXH3_64bits(row, row_bytes(h)) & (h->slots - 1);
    while (h->table[slot] && h->n && memcmp(histogram_row(h, h->table[slot] - 1), row, row_bytes(h)) != 0)
        slot = (slot + 1) & (h->slots - 1);
    return &h->table[slot];
}

static void rebuild(struct histogram *h)
{
    memset(h->table, 0, h->slots * sizeof *h->table);
    for (size_t i = 0; i < h->count; i++)
        *find(h, histogram_row(h, i)) = (uint32_t)(i + 1);
}

static void grow(struct histogram *h)
{
    h->capacity *= 2;
    h->slots *= 2;
    h->rows = xrealloc(h->rows, h->capacity * (h->n ? h->n : 1) * sizeof *h->rows);
    h->counts = xrealloc(h->counts, h->capacity * sizeof *h->counts);
    h->firsts = xrealloc(h->firsts, h->capacity * sizeof *h->firsts);
    h->table = xrealloc(h->table, h->slots * sizeof *h->table);
    rebuild(h);
}

size_t histogram_add(struct histogram *h, const uint64_t *row, uint64_t tag)
{
    h->total++;
    uint32_t *slot = find(h, row);
    if (!*slot) {
        if (h->count == h->capacity) {
            grow(h);
            slot = find(h, row);
        }
        if (h->n)
            memcpy(h->rows + h->count * h->n, row, row_bytes(h));
        h->counts[h->count] = 0;
        h->firsts[h->count] = tag;
        *slot = (uint32_t)++h->count;
    }
    h->counts[*slot - 1]++;
    return *slot - 1;
}

struct entry {
    const uint64_t *row;
    uint64_t count, first;
    unsigned n;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    for (unsigned i = 0; i < x->n; i++)
        if (x->row[i] != y->row[i])
            return x->row[i] < y->row[i] ? -1 : 1;
    return 0;
}

void histogram_sort(struct histogram *h)
{
    struct entry *entries = xcalloc(h->count + 1, sizeof *entries);
    for (size_t i = 0; i < h->count; i++)
        entries[i] = (struct entry){histogram_row(h, i), h->counts[i], h->firsts[i], h->n};
    qsort(entries, h->count, sizeof *entries, compare);
    uint64_t *rows = xcalloc(h->capacity * (h->n ? h->n : 1), sizeof *rows);
    for (size_t i = 0; i < h->count; i++) {
        if (h->n)
            memcpy(rows + i * h->n, entries[i].row, row_bytes(h));
        h->counts[i] = entries[i].count;
        h->firsts[i] = entries[i].first;
    }
    free(h->rows);
    free(entries);
    h->rows = rows;
    rebuild(h);
}
