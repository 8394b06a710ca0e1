/* The words of one put or get arrive in any order. A program that has such operations is explored once for every choice of
 * orders, as far as they are few: all orders of at most four words; of more, ascending and descending. */
#ifndef REMORA_VERIFY_WORD_ORDERS_H
#define REMORA_VERIFY_WORD_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

enum { WORD_THREADS = 64, WORD_OPS = 4, WORDS_ALL_ORDERS = 4 };

/* How many words the n-th such operation of a thread has; those from the WORD_OPS-th on are one. 0: there is none. */
struct word_counts {
    uint8_t words[WORD_THREADS][WORD_OPS];
};

/* Of each the number of its order; 0: ascending. */
struct word_orders {
    uint8_t number[WORD_THREADS][WORD_OPS];
};

/* A permutation of `words` words, which stays where it is; NULL: ascending. */
const unsigned char *word_order(unsigned words, unsigned number);

/* How many orders are explored of so many words; and whether these are all. */
unsigned word_orders_of(unsigned words);
/* How many choices there are for all operations together; UINT64_MAX: more than can be counted. */
uint64_t word_orders_count(const struct word_counts *);
/* The next choice, false after the last one. together: all operations get the same number. */
bool word_orders_next(struct word_orders *, const struct word_counts *, bool together);
unsigned word_counts_most(const struct word_counts *);

#endif
