/* The orders in which the words of puts and gets are explored: all of them, each once. */
#include "verify/word_orders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void place(const unsigned char *order, unsigned words, unsigned char *at)
{
    for (unsigned i = 0; i < words; i++)
        at[i] = order ? order[i] : (unsigned char)i;
}

static void orders_are_permutations_and_differ(void **state)
{
    (void)state;
    for (unsigned words = 2; words < 256; words++)
        for (unsigned number = 0; number < word_orders_of(words); number++) {
            unsigned char order[256], other[256];
            bool met[256] = {false};
            place(word_order(words, number), words, order);
            for (unsigned i = 0; i < words; i++) {
                assert_true(order[i] < words && !met[order[i]]);
                met[order[i]] = true;
            }
            for (unsigned before = 0; before < number; before++) {
                place(word_order(words, before), words, other);
                assert_memory_not_equal(order, other, words);
            }
        }
    assert_int_equal(word_orders_of(4), 24);
}

static bool is_met(const struct word_orders *met, unsigned n, const struct word_orders *orders)
{
    for (unsigned i = 0; i < n; i++)
        if (memcmp(&met[i], orders, sizeof *orders) == 0)
            return true;
    return false;
}

static void every_choice_comes_once(void **state)
{
    (void)state;
    struct word_counts counts = {.words = {[1] = {3, 0, 2}, [4] = {[3] = 9}}};
    struct word_orders orders = {0}, *met = calloc(100, sizeof *met);
    unsigned n = 0;
    do {
        assert_false(is_met(met, n, &orders));
        met[n++] = orders;
    } while (word_orders_next(&orders, &counts, false));
    assert_int_equal(n, 6 * 2 * 2);
    assert_int_equal(n, word_orders_count(&counts));
    assert_int_equal(word_counts_most(&counts), 9);
    free(met);
}

static void together_there_are_as_many_as_of_the_longest(void **state)
{
    (void)state;
    struct word_counts counts = {.words = {[0] = {3, 2}, [2] = {4}}};
    struct word_orders orders = {0};
    unsigned n = 1;
    while (word_orders_next(&orders, &counts, true))
        n++;
    assert_int_equal(n, 24);
    assert_null(word_order(3, 23)); /* which a shorter operation does not have */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_are_permutations_and_differ),
                                       cmocka_unit_test(every_choice_comes_once),
                                       cmocka_unit_test(together_there_are_as_many_as_of_the_longest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
