/* A hash map shared by all nodes: khash.h, a single-header library of sequential code, in a flat struct, made linearisable by
 * rem_object. Every node counts words of its own list; the map ends with the counts of all.
 *
 *   remora launch -n 4 -- ./map */
#include "example.h"

#include <htslib/khash.h>

#pragma GCC diagnostic ignored "-Wconversion" /* in the code that the macro makes */
KHASH_MAP_INIT_INT64(counts, uint64_t)
enum { BUCKETS = 256, KEYS = 100, TIMES = 2000 };

/* khash's own struct, and the arrays that it points to. */
struct map {
    khash_t(counts) table;
    khint32_t flags[__ac_fsize(BUCKETS)];
    khint64_t keys[BUCKETS];
    uint64_t values[BUCKETS];
};

/* Each call works on a copy at another address, so the pointers are set anew. */
static khash_t(counts) * open_map(struct map *map)
{
    map->table.flags = map->flags;
    map->table.keys = map->keys;
    map->table.vals = map->values;
    return &map->table;
}

static int set_up(void *copy, void *argument)
{
    struct map *map = copy;
    (void)argument;
    map->table.n_buckets = BUCKETS;
    map->table.upper_bound = (khint_t)(BUCKETS * __ac_HASH_UPPER);
    kh_clear(counts, open_map(map));
    return 0;
}

/* Adds 1 to the key's count. 0 if there is no room, since the table must not grow. */
static int add(void *copy, void *key)
{
    khash_t(counts) *table = open_map(copy);
    int state;
    if (table->n_occupied >= table->upper_bound)
        return 0;
    khint_t at = kh_put(counts, table, *(khint64_t *)key, &state);
    kh_value(table, at) = state == 0 ? kh_value(table, at) + 1 : 1;
    return 1;
}

struct question {
    uint64_t key, count;
};

static int look_up(void *copy, void *argument)
{
    khash_t(counts) *table = open_map(copy);
    struct question *asked = argument;
    khint_t at = kh_get(counts, table, asked->key);
    asked->count = at == kh_end(table) ? 0 : kh_value(table, at);
    return 0;
}

static void check(rem_job *job, rem_thread *thread, rem_object *map)
{
    uint64_t total = 0;
    for (khint64_t key = 0; key < KEYS; key++) {
        struct question question = {.key = key * key};
        TRY(rem_object_call(thread, map, look_up, &question));
        total += question.count;
    }
    printf("%d nodes counted %llu words\n", rem_node_count(job), (unsigned long long)total);
    if (total != (uint64_t)rem_node_count(job) * TIMES)
        exit(1);
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_object map;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_object_init(&job, &map, sizeof(struct map), 0));
    if (rem_node_self(&job) == 0)
        TRY(rem_object_call(&thread, &map, set_up, NULL));
    TRY(rem_barrier(&job));
    for (int i = 0; i < TIMES; i++) {
        khint64_t word = (khint64_t)((i * 7 + rem_node_self(&job)) % KEYS), key = word * word;
        TRY(rem_object_call(&thread, &map, add, &key));
    }
    TRY(rem_barrier(&job));
    if (rem_node_self(&job) == 0)
        check(&job, &thread, &map);
    TRY(rem_barrier(&job));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
