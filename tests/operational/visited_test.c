/* The visited set: no fingerprint twice, none lost when segments grow, at most 16 bytes a state from some thousands of states
 * on at every moment, also when several threads add. */
#include "search/visited.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STATES = 300000 };

static struct fingerprint print_of(uint64_t i)
{
    return visited_fingerprint(&i, sizeof i);
}

static void every_state_once(void **state)
{
    (void)state;
    struct visited *set = visited_new(false);
    for (uint64_t i = 0; i < STATES; i++) {
        assert_true(visited_add(set, print_of(i)));
        if (i % 100 == 0)
            assert_false(visited_add(set, print_of(i / 2)));
        if (i >= 50000 && i % 10 == 0)
            assert_true(visited_bytes(set) <= 16 * (i + 1));
    }
    for (uint64_t i = 0; i < STATES; i++)
        assert_false(visited_add(set, print_of(i)));
    assert_int_equal(visited_count(set), STATES);
    visited_free(set);
}

static void extreme_hashes(void **state)
{
    (void)state;
    struct visited *set = visited_new(false);
    for (uint64_t i = 1; i < 2000; i++) {
        /* all at the very end of one segment, then all at its start */
        assert_true(visited_add(set, (struct fingerprint){.high = UINT64_MAX, .low = i}));
        assert_true(visited_add(set, (struct fingerprint){.high = 0, .low = 5000 - i}));
        assert_false(visited_add(set, (struct fingerprint){.high = UINT64_MAX, .low = (i + 1) / 2}));
    }
    visited_free(set);
}

static void *add_many(void *set)
{
    uintptr_t new = 0;
    for (uint64_t i = 0; i < STATES; i++)
        new += visited_add(set, print_of(i));
    return (void *)new;
}

static void several_threads(void **state)
{
    (void)state;
    struct visited *set = visited_new(true);
    pthread_t threads[3];
    uintptr_t new = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, set), 0);
    for (unsigned i = 0; i < 3; i++) {
        void *count;
        pthread_join(threads[i], &count);
        new += (uintptr_t)count;
    }
    assert_int_equal(new, STATES);
    assert_int_equal(visited_count(set), STATES);
    visited_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_state_once), cmocka_unit_test(extreme_hashes),
                                       cmocka_unit_test(several_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
