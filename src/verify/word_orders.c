/* See word_orders.h. */
#include "verify/word_orders.h"

#include <stddef.h>

static const unsigned char orders_of_2[2][2] = {{0, 1}, {1, 0}};
static const unsigned char orders_of_3[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
static const unsigned char orders_of_4[24][4] = {
    {0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {0, 3, 2, 1},
    {1, 0, 2, 3}, {1, 0, 3, 2}, {1, 2, 0, 3}, {1, 2, 3, 0}, {1, 3, 0, 2}, {1, 3, 2, 0},
    {2, 0, 1, 3}, {2, 0, 3, 1}, {2, 1, 0, 3}, {2, 1, 3, 0}, {2, 3, 0, 1}, {2, 3, 1, 0},
    {3, 0, 1, 2}, {3, 0, 2, 1}, {3, 1, 0, 2}, {3, 1, 2, 0}, {3, 2, 0, 1}, {3, 2, 1, 0}};

#define DOWN_4(n) (n), (n)-1, (n)-2, (n)-3
#define DOWN_16(n) DOWN_4(n), DOWN_4((n)-4), DOWN_4((n)-8), DOWN_4((n)-12)
#define DOWN_64(n) DOWN_16(n), DOWN_16((n)-16), DOWN_16((n)-32), DOWN_16((n)-48)
static const unsigned char descending[256] = {DOWN_64(255), DOWN_64(191), DOWN_64(127), DOWN_64(63)};

const unsigned char *word_order(unsigned words, unsigned number)
{
    if (number == 0 || words < 2 || words > UINT8_MAX || number >= word_orders_of(words))
        return NULL; /* (of operations that all get the same number, the shorter have fewer orders) */
    switch (words) {
    case 2:
        return orders_of_2[number];
    case 3:
        return orders_of_3[number];
    case 4:
        return orders_of_4[number];
    default:
        return descending + 256 - words;
    }
}

unsigned word_orders_of(unsigned words)
{
    static const unsigned char counts[] = {1, 1, 2, 6, 24};
    return words <= WORDS_ALL_ORDERS ? counts[words] : 2;
}

uint64_t word_orders_count(const struct word_counts *counts)
{
    uint64_t all = 1;
    for (unsigned t = 0; t < WORD_THREADS; t++)
        for (unsigned i = 0; i < WORD_OPS; i++)
            if (__builtin_mul_overflow(all, (uint64_t)word_orders_of(counts->words[t][i]), &all))
                return UINT64_MAX;
    return all;
}

unsigned word_counts_most(const struct word_counts *counts)
{
    unsigned most = 0;
    for (unsigned t = 0; t < WORD_THREADS; t++)
        for (unsigned i = 0; i < WORD_OPS; i++)
            most = counts->words[t][i] > most ? counts->words[t][i] : most;
    return most;
}

static bool next_together(struct word_orders *orders, const struct word_counts *counts)
{
    unsigned number = orders->number[0][0] + 1u;
    if (number >= word_orders_of(word_counts_most(counts)))
        return false;
    for (unsigned t = 0; t < WORD_THREADS; t++)
        for (unsigned i = 0; i < WORD_OPS; i++)
            orders->number[t][i] = (uint8_t)number;
    return true;
}

bool word_orders_next(struct word_orders *orders, const struct word_counts *counts, bool together)
{
    if (together)
        return next_together(orders, counts);
    for (unsigned t = 0; t < WORD_THREADS; t++)
        for (unsigned i = 0; i < WORD_OPS; i++) {
            if (orders->number[t][i] + 1u < word_orders_of(counts->words[t][i])) {
                orders->number[t][i]++;
                return true;
            }
            orders->number[t][i] = 0;
        }
    return false;
}
