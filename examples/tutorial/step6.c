/* Step 6: a linearisable map. Sequential code for a small table of pairs, on node 0, called from everywhere. */
#include "../example.h"

enum { ROOM = 64, KEYS = 40, TIMES = 50 };

struct map {
    struct pair {
        uint64_t key, value;
    } pairs[ROOM]; /* key 0: free */
};

/* The key's pair, or the free one where it belongs; null if the table is full. */
static struct pair *find(struct map *map, uint64_t key)
{
    for (uint64_t i = 0; i < ROOM; i++) {
        struct pair *pair = &map->pairs[(key * 31 + i) % ROOM];
        if (pair->key == key || pair->key == 0)
            return pair;
    }
    return NULL;
}

static int add(void *copy, void *argument)
{
    const struct pair *more = argument;
    struct pair *pair = find(copy, more->key);
    if (!pair)
        return -1000;
    pair->key = more->key;
    pair->value += more->value;
    return 0;
}

static int look_up(void *copy, void *argument)
{
    struct pair *asked = argument, *found = find(copy, asked->key);
    asked->value = found && found->key ? found->value : 0;
    return 0;
}

int main(void)
{
    rem_job job;
    rem_thread thread;
    rem_object map;
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    TRY(rem_object_init(&job, &map, sizeof(struct map), 0));
    for (uint64_t i = 0; i < KEYS * TIMES; i++) {
        struct pair one = {1 + i % KEYS, 1};
        TRY(rem_object_call(&thread, &map, add, &one));
    }
    TRY(rem_barrier(&job));
    for (uint64_t key = 1; key <= KEYS; key++) {
        struct pair asked = {key, 0};
        TRY(rem_object_call(&thread, &map, look_up, &asked));
        if (asked.value != (uint64_t)rem_node_count(&job) * TIMES)
            return 1;
    }
    if (rem_node_self(&job) == 0)
        printf("%d keys, each counted %d times\n", KEYS, rem_node_count(&job) * TIMES);
    TRY(rem_barrier(&job));
    TRY(rem_object_destroy(&job, &map));
    TRY(rem_detach(&thread));
    TRY(rem_close(&job));
}
