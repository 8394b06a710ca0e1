/* Peterson's algorithm, as the textbooks have it, between two nodes: right on sequentially consistent locations, and wrong on plain
 * puts and gets, where each node may read the other's flag before its own has arrived.
 *
 *   remora launch -n 2 -- ./peterson */
#include "example.h"

enum { FLAG, TURN = 2, LOCATIONS, TIMES = 20000 };

static void enter(rem_thread *thread, rem_sc *sc, size_t self)
{
    uint64_t flag, turn;
    TRY(rem_sc_write(thread, sc, FLAG + self, 1));
    TRY(rem_sc_write(thread, sc, TURN, 1 - self));
    do {
        TRY(rem_sc_read(thread, sc, FLAG + 1 - self, &flag));
        TRY(rem_sc_read(thread, sc, TURN, &turn));
        rem_pause(thread);
    } while (flag && turn == 1 - self);
}

static void leave(rem_thread *thread, rem_sc *sc, size_t self)
{
    TRY(rem_sc_write(thread, sc, FLAG + self, 0));
}

/* The section's own accesses are remote ones, which sc operations do not complete: hence the fence. */
static void increment(rem_thread *thread, uint64_t *counter)
{
    uint64_t value;
    TRY(rem_get_value(thread, &value, 0, counter));
    TRY(rem_put_value(thread, 0, counter, value + 1, 0));
    TRY(rem_gfence(thread, REM_NODE(0)));
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_sc sc;
    void *memory;
    uint64_t value;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_sc_init(&job, &sc, LOCATIONS, REM_SPREAD));
    TRY(rem_alloc(&job, sizeof(uint64_t), &memory));
    int self = rem_node_self(&job);
    for (int i = 0; i < TIMES && self < 2; i++) {
        enter(&thread, &sc, (size_t)self);
        increment(&thread, memory);
        leave(&thread, &sc, (size_t)self);
    }
    TRY(rem_barrier(&job));
    TRY(rem_get_value(&thread, &value, 0, memory));
    if (self == 0)
        printf("%d of %d\n", (int)value, 2 * TIMES);
    TRY(rem_barrier(&job));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
    return value == 2 * TIMES ? 0 : 1;
}
