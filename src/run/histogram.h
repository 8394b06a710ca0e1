/* How often each outcome was seen. */
#ifndef REMORA_RUN_HISTOGRAM_H
#define REMORA_RUN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Rows of n values with their counts. Not thread-safe. */
struct histogram {
    unsigned n;
    size_t count, capacity;
    uint64_t *rows, *counts, *firsts; /* firsts: the tag that came with the row first */
    size_t slots;                     /* a power of two, more than twice count */
    uint32_t *table;
    uint64_t total;
};

struct histogram *histogram_new(unsigned n);
void histogram_free(struct histogram *);
/* The row's number; it is new if its count is 1 now. */
size_t histogram_add(struct histogram *, const uint64_t *row, uint64_t tag);
/* Lexicographic; the numbers change. */
void histogram_sort(struct histogram *);

static inline const uint64_t *histogram_row(const struct histogram *histogram, size_t i)
{
    return histogram->rows + i * histogram->n;
}

#endif
