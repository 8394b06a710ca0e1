/* Coroutines go on from where they were saved, as often as one likes; worlds remember what has changed. */
#include "verify/coroutine.h"
#include "verify/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct counting {
    struct coroutine coroutine;
    int step, shown;
};

/* `sum` lives on the coroutine's stack, or in a register that is saved there. */
static void count(void *argument)
{
    struct counting *counting = argument;
    int sum = 0;
    for (;;) {
        sum += counting->step;
        counting->shown = sum;
        coroutine_pause(&counting->coroutine);
    }
}

static void goes_on_from_an_image(void **state)
{
    (void)state;
    struct counting counting = {.step = 1};
    coroutine_new(&counting.coroutine, 16384);
    coroutine_start(&counting.coroutine, count, &counting);
    assert_int_equal(counting.shown, 1);
    size_t size = coroutine_live(&counting.coroutine);
    void *image = malloc(size);
    coroutine_save(&counting.coroutine, image);
    for (int round = 2; round < 5; round++) {
        counting.step = 10 * round;
        coroutine_resume(&counting.coroutine);
        assert_int_equal(counting.shown, 1 + 10 * round);
        coroutine_resume(&counting.coroutine);
        assert_int_equal(counting.shown, 1 + 20 * round);
        coroutine_restore(&counting.coroutine, image, size);
    }
    free(image);
    coroutine_free(&counting.coroutine);
}

static void finds_its_callers(void **state)
{
    (void)state;
    struct counting counting = {.step = 1};
    coroutine_new(&counting.coroutine, 16384);
    coroutine_start(&counting.coroutine, count, &counting);
    size_t size = coroutine_live(&counting.coroutine);
    void *image = malloc(size), *addresses[8];
    coroutine_save(&counting.coroutine, image);
    unsigned n = coroutine_backtrace(&counting.coroutine, image, size, addresses, 8);
    assert_in_range(n, 1, 8);
    free(image);
    coroutine_free(&counting.coroutine);
}

static void changes_of_a_world(void **state)
{
    (void)state;
    struct world_shape shape = {.n_nodes = 2, .n_threads = 2, .thread_node = {0, 1}, .heap = 64 << 10};
    struct world world;
    world_new(&world, &shape, 1);
    uint64_t *words = world_alloc(&world, 100 * sizeof *words);
    words[3] = 7;
    world_seal(&world);
    uint32_t offsets[4];
    uint64_t values[4];
    assert_int_equal(world_changes(&world, offsets, values, 4), 0);
    words[3] = 8;
    words[99] = 9;
    assert_int_equal(world_changes(&world, offsets, values, 4), 2);
    assert_true(world_address(&world, offsets[0]) == &words[3]);
    struct changes changes = {.n = 1, .offsets = offsets + 1, .values = values + 1};
    world_restore(&world, &changes);
    assert_int_equal(words[3], 7);
    assert_int_equal(words[99], 9);
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_on_from_an_image),
                                       cmocka_unit_test(finds_its_callers),
                                       cmocka_unit_test(changes_of_a_world)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
