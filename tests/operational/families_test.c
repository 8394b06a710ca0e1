/* Families of programs whose outcomes are known, with bounds on the states that the reduced search stores for them. */
#include "table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct row op_row(struct op op, uint16_t dst, uint16_t reg)
{
    return (struct row){.kind = ROW_OP, .op = op, .dst = dst, .reg = reg};
}

static struct row store(uint16_t loc, uint64_t v)
{
    return op_row((struct op){.kind = OP_STORE, .loc = loc, .v = v}, NO_REG, NO_REG);
}

static struct row load(uint16_t loc, uint16_t dst)
{
    return op_row((struct op){.kind = OP_LOAD, .loc = loc}, dst, NO_REG);
}

static void expect(struct table *table, size_t outcomes, uint64_t stuck, uint64_t most_states)
{
    table_done(table);
    for (unsigned jobs = 1; jobs <= 2; jobs++) {
        struct result result = table_explore(table, false, jobs);
        assert_int_equal(result.completion, DONE);
        assert_int_equal(outcomes_count(result.states), outcomes);
        assert_int_equal(result.stuck, stuck);
        assert_true(result.explored <= most_states);
        outcomes_free(result.states);
    }
    free(table);
}

static struct table *table_new(unsigned threads, unsigned locs)
{
    struct table *table = malloc(sizeof *table);
    table_init(table, threads, 1, locs);
    for (unsigned t = 0; t < threads; t++)
        table->shown[t] = 1;
    return table;
}

/* Each thread stores its own location and loads the next one's. */
static void store_buffering_ring(void **state)
{
    (void)state;
    struct table *table = table_new(12, 12);
    for (unsigned t = 0; t < 12; t++) {
        table_add(table, t, store((uint16_t)t, 1));
        table_add(table, t, load((uint16_t)((t + 1) % 12), 0));
    }
    expect(table, 4096, 0, 10000);
}

/* Pairs of threads that know nothing of the other pairs; more moves at once than a set of moves holds. */
static void many_pairs(void **state)
{
    (void)state;
    struct table *table = table_new(40, 40);
    for (unsigned t = 0; t < 40; t++) {
        table->shown[t] = t < 2;
        table_add(table, t, store((uint16_t)t, 1));
        table_add(table, t, load((uint16_t)(t ^ 1), 0));
    }
    expect(table, 4, 0, 5000);
}

static void increments(void **state)
{
    (void)state;
    struct table *table = table_new(7, 1);
    for (unsigned t = 0; t < 7; t++) {
        table->program.thread_class[t] = 0;
        table_add(table, t, op_row((struct op){.kind = OP_FAA, .loc = 0, .v = 1}, 0, NO_REG));
    }
    expect(table, 5040, 0, 10);
}

static void different_stores(void **state)
{
    (void)state;
    struct table *table = table_new(7, 1);
    for (unsigned t = 0; t < 7; t++)
        table_add(table, t, store(0, t + 1));
    expect(table, 7, 0, 500);
}

/* r0 = faa(next, 1); await(serving == r0); x = r1 + 1 of r1 = x; serving = r0 + 1, alike or not. */
static struct table *ticket_lock(unsigned threads, bool alike)
{
    struct table *table = table_new(threads, 3);
    for (unsigned t = 0; t < threads; t++) {
        table->program.thread_class[t] = (uint8_t)(alike ? 0 : t);
        table->shown[t] = 0;
        table_add(table, t, op_row((struct op){.kind = OP_FAA, .loc = 0, .v = 1}, 0, NO_REG));
        table_add(table, t, op_row((struct op){.kind = OP_AWAIT, .loc = 1, .cmp = CMP_EQ}, NO_REG, 0));
        table_add(table, t, load(2, 1));
        table_add(table, t, op_row((struct op){.kind = OP_STORE, .loc = 2, .v = 1}, NO_REG, 1));
        table_add(table, t, op_row((struct op){.kind = OP_STORE, .loc = 1, .v = 1}, NO_REG, 0));
    }
    return table;
}

static void ticket_locks(void **state)
{
    (void)state;
    expect(ticket_lock(9, true), 1, 0, 20);
    expect(ticket_lock(6, false), 1, 0, 1000);
}

/* Two threads that wait for each other get stuck in one way; with a spin loop, too. */
static void deadlock(void **state)
{
    (void)state;
    for (int spin = 0; spin < 2; spin++) {
        struct table *table = table_new(2, 2);
        for (unsigned t = 0; t < 2; t++) {
            if (spin) {
                table_add(table, t, (struct row){.kind = ROW_SPIN, .dst = NO_REG, .reg = NO_REG});
                table_add(table, t, load((uint16_t)t, 0));
                table_add(table, t, (struct row){.kind = ROW_UNTIL, .dst = NO_REG, .reg = 0, .value = 1});
            } else {
                table_add(table, t,
                          op_row((struct op){.kind = OP_AWAIT, .loc = (uint16_t)t, .v = 1}, NO_REG, NO_REG));
            }
            table_add(table, t, store((uint16_t)(1 - t), 1));
        }
        expect(table, 0, 1, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_buffering_ring), cmocka_unit_test(many_pairs),   cmocka_unit_test(increments),
        cmocka_unit_test(different_stores),     cmocka_unit_test(ticket_locks), cmocka_unit_test(deadlock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
