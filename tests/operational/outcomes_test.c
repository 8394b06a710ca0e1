/* The set of outcomes: no row twice, found again after growth and sorting, rows of no values. */
#include "search/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void rows_are_kept_once(void **state)
{
    (void)state;
    struct outcomes *set = outcomes_new(2);
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t row[2] = {(i * 7919) % 1000, i % 3};
        bool known = outcomes_has(set, row);
        assert_int_equal(outcomes_add(set, row), !known);
    }
    assert_int_equal(outcomes_count(set), 3000);
    outcomes_sort(set);
    for (size_t i = 0; i < 3000; i++) {
        assert_int_equal(outcomes_row(set, i)[0], i / 3);
        assert_int_equal(outcomes_row(set, i)[1], i % 3);
        assert_true(outcomes_has(set, outcomes_row(set, i)));
    }
    outcomes_free(set);
}

static void empty_rows(void **state)
{
    (void)state;
    struct outcomes *set = outcomes_new(0);
    uint64_t nothing = 0;
    assert_false(outcomes_has(set, &nothing));
    assert_true(outcomes_add(set, &nothing));
    assert_false(outcomes_add(set, &nothing));
    assert_int_equal(outcomes_count(set), 1);
    outcomes_sort(set);
    outcomes_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_kept_once), cmocka_unit_test(empty_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
