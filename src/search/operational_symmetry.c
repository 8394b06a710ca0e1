/* Symmetry of the operational search (docs/reduction.md): of states that differ by an exchange of threads that run the same
 * code, only one is explored, the one in which those threads' parts (operational_parts.h) are in ascending order. What is found is then
 * completed by exchanging the threads' columns. */
#include "base/arena.h"
#include "search/operational.h"

#include <stdlib.h>

struct class
{
    unsigned n;         /* at least 2 */
    unsigned *threads;  /* ascending */
    unsigned n_columns; /* of each thread's registers in a row */
    unsigned *columns;  /* [i * n_columns + k]: where thread i's k-th is */
};

struct symmetry {
    unsigned n_classes;
    struct class *classes;
};

/* --- finding the classes --- */

static void find_columns(struct arena *arena, const struct query *query, struct class *class)
{
    class->n_columns = 0;
    for (unsigned i = 0; i < query->n_observables; i++)
        class->n_columns += query->observables[i].is_reg && query->observables[i].thread == class->threads[0];
    class->columns = ARENA_ARRAY(arena, unsigned, class->n *class->n_columns);
    unsigned k = 0;
    for (unsigned i = 0; i < query->n_observables; i++) {
        const struct observable *what = &query->observables[i];
        if (!what->is_reg || what->thread != class->threads[0])
            continue;
        for (unsigned j = 0; j < query->n_observables; j++)
            for (unsigned u = 0; u < class->n; u++)
                if (query->observables[j].is_reg && query->observables[j].index == what->index &&
                    query->observables[j].thread == class->threads[u])
                    class->columns[u * class->n_columns + k] = j;
        k++;
    }
}

const struct symmetry *symmetry_new(struct arena *arena, const struct machine *m, const struct query *query)
{
    struct symmetry *symmetry = ARENA_NEW(arena, struct symmetry);
    symmetry->classes = ARENA_ARRAY(arena, struct class, m->n_threads);
    for (unsigned t = 0; t < m->n_threads; t++) {
        struct class *class = &symmetry->classes[symmetry->n_classes];
        class->threads = ARENA_ARRAY(arena, unsigned, m->n_threads);
        class->n = 0;
        for (unsigned u = t; u < m->n_threads && m->class_of[t] == t; u++)
            if (m->class_of[u] == t)
                class->threads[class->n++] = u;
        if (class->n < 2)
            continue;
        find_columns(arena, query, class);
        symmetry->n_classes++;
    }
    return symmetry->n_classes ? symmetry : NULL;
}

/* --- sorting a state --- */

/* By content, not by number: the numbers of parts and local states depend on the course of the search. */
static int compare_parts(const struct parts *parts, uint32_t a, uint32_t b)
{
    if (a == b)
        return 0;
    const struct machine *m = parts->machine;
    const struct part *p = part_get(parts, a), *q = part_get(parts, b);
    const struct local *x = machine_local(m, p->local), *y = machine_local(m, q->local);
    if (x->point != y->point)
        return x->point < y->point ? -1 : 1;
    int order = memcmp(x->regs, y->regs, m->program->n_regs[x->thread] * sizeof *x->regs);
    if (order == 0)
        order = memcmp(p->ends, q->ends, p->n_ends * sizeof *p->ends);
    if (order == 0)
        order = memcmp(p->entries, q->entries, p->n_entries * sizeof *p->entries);
    return order;
}

void symmetry_sort(const struct search *search, uint8_t *compound)
{
    const struct symmetry *symmetry = search->symmetry;
    uint32_t *part = compound_parts(compound);
    for (unsigned c = 0; c < symmetry->n_classes; c++) {
        const struct class *class = &symmetry->classes[c];
        for (unsigned i = 1; i < class->n; i++) {
            uint32_t moving = part[class->threads[i]];
            unsigned j = i;
            for (; j > 0 && compare_parts(search->parts, moving, part[class->threads[j - 1]]) < 0; j--)
                part[class->threads[j]] = part[class->threads[j - 1]];
            part[class->threads[j]] = moving;
        }
    }
}

/* --- completing what was found --- */

struct closing {
    struct search *search;
    struct outcomes *rows;
    bool stuck;
    unsigned width; /* values a row */
};

static unsigned column(const struct closing *closing, const struct class *class, unsigned i, unsigned k)
{
    return k < class->n_columns ? class->columns[i * class->n_columns + k]
                                : closing->search->query->n_observables + class->threads[i];
}

static unsigned n_columns(const struct closing *closing, const struct class *class)
{
    return class->n_columns + closing->stuck;
}

static bool same_values(const struct closing *closing, const struct class *class, const uint64_t *row,
                        unsigned i, unsigned j)
{
    for (unsigned k = 0; k < n_columns(closing, class); k++)
        if (row[column(closing, class, i, k)] != row[column(closing, class, j, k)])
            return false;
    return true;
}

/* The next arrangement of numbers, ascending ones first; false after the last. */
static bool next_arrangement(unsigned *numbers, unsigned n)
{
    unsigned i = n - 1, j = n - 1;
    while (i > 0 && numbers[i - 1] >= numbers[i])
        i--;
    if (i == 0)
        return false;
    while (numbers[j] <= numbers[i - 1])
        j--;
    unsigned number = numbers[i - 1];
    numbers[i - 1] = numbers[j];
    numbers[j] = number;
    for (unsigned a = i, b = n - 1; a < b; a++, b--) {
        number = numbers[a];
        numbers[a] = numbers[b];
        numbers[b] = number;
    }
    return true;
}

static void arrange(struct closing *closing, const uint64_t *row, unsigned c);

/* Threads with the same values get the same number, so that no arrangement comes twice. */
static void arrange_class(struct closing *closing, const uint64_t *row, unsigned c)
{
    const struct class *class = &closing->search->symmetry->classes[c];
    unsigned numbers[PROG_MAX_THREADS], sorted[PROG_MAX_THREADS], n = 0;
    uint64_t *next = xmalloc((closing->width + 1) * sizeof *next);
    memcpy(next, row, closing->width * sizeof *next);
    for (unsigned i = 0; i < class->n; i++) {
        unsigned same = 0;
        while (same < i && !same_values(closing, class, row, i, same))
            same++;
        numbers[i] = same;
    }
    for (unsigned number = 0; number < class->n; number++)
        for (unsigned i = 0; i < class->n; i++)
            if (numbers[i] == number)
                sorted[n++] = number;
    do {
        for (unsigned i = 0; i < class->n; i++)
            for (unsigned k = 0; k < n_columns(closing, class); k++)
                next[column(closing, class, i, k)] = row[column(closing, class, sorted[i], k)];
        arrange(closing, next, c + 1);
    } while (atomic_load(&closing->search->halted) == DONE && next_arrangement(sorted, class->n));
    free(next);
}

static void arrange(struct closing *closing, const uint64_t *row, unsigned c)
{
    if (c < closing->search->symmetry->n_classes) {
        arrange_class(closing, row, c);
        return;
    }
    if (outcomes_add(closing->rows, row) && outcomes_count(closing->rows) % 4096 == 0)
        check_time_and_memory(closing->search, outcomes_bytes(closing->rows));
}

struct outcomes *symmetry_close(struct search *search, struct outcomes *found, bool stuck)
{
    struct closing closing = {.search = search, .stuck = stuck};
    closing.width = search->query->n_observables + (stuck ? search->machine->n_threads : 0);
    closing.rows = outcomes_new(closing.width);
    for (size_t i = 0; i < outcomes_count(found); i++) {
        outcomes_add(closing.rows, outcomes_row(found, i)); /* even if the search is cut short */
        arrange(&closing, outcomes_row(found, i), 0);
    }
    outcomes_free(found);
    return closing.rows;
}
