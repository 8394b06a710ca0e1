/* Litmus shapes run many times on the real thing: an outcome that the specification forbids must never be seen. Two threads
 * (the first of nodes 0 and 1, or both of one node) run the halves of a shape on fresh words, side by side, in blocks of
 * BLOCK instances, and look at the results together.
 *
 * usage: shapes_test SHAPE ROUNDS;  SHAPE may be "all" */
#include "frame.h"

#include <remora/sc.h>

enum { BLOCK = 64, WORDS = 8 }; /* words of an instance: x y a z …, each on a line of its own */

/* Everything that a half needs. `w` are the words of one instance, symmetric. */
struct half {
    rem_thread *thread;
    int self, peer; /* nodes of this half and of the other */
    rem_sc *sc;
    size_t instance;
};

typedef void half_body(struct half *half, uint64_t *w, uint64_t result[2]);

#define X 0
#define Y 8
#define A 16
#define B 24

/* Store buffering between a CPU store and a remote read: row B of the tables, lW before nrR. Both halves put their word in
 * their own memory and read the other's. Forbidden: both read 0. */
static void store_get(struct half *h, uint64_t *w, uint64_t result[2])
{
    rem_store(h->thread, &w[X], 1);
    TRY(rem_get_value(h->thread, &result[0], h->peer, &w[X]));
}

/* The same with put for store and the own node as target: nrW before nrR of one queue pair. */
static void put_get(struct half *h, uint64_t *w, uint64_t result[2])
{
    int mine = h->self == 0 ? X : Y, other = h->self == 0 ? Y : X;
    TRY(rem_put_value(h->thread, 0, &w[mine], 1, 0));
    TRY(rem_get_value(h->thread, &result[0], 0, &w[other]));
}

/* The local read of a put is a remote read, too: lW before nlR. Threads of one node. Forbidden: a and b both end as 0. */
static void store_put(struct half *h, uint64_t *w, uint64_t result[2])
{
    bool first = h->instance & 1 ? h->thread->slot & 1 : !(h->thread->slot & 1);
    rem_store(h->thread, &w[first ? X : Y], 1);
    TRY(rem_put(h->thread, h->self, &w[first ? A : B], &w[first ? Y : X], 8, 0));
    TRY(rem_gfence(h->thread, REM_ALL_NODES));
    result[0] = rem_load(h->thread, &w[first ? A : B]);
}

/* A result that has been waited for is visible before any later load: nlW, poll, lR. The first half gets a 1 into x and reads y, the
 * second stores y, fences and reads x. Forbidden: both read 0. */
static void get_wait_load(struct half *h, uint64_t *w, uint64_t result[2])
{
    if (!(h->thread->slot & 1)) {
        TRY(rem_get(h->thread, &w[X], h->self, &w[B], 8, 0)); /* w[B] is 1 from the start */
        TRY(rem_wait(h->thread, 0));
        result[0] = rem_load(h->thread, &w[Y]);
        return;
    }
    rem_store(h->thread, &w[Y], 1);
    rem_mfence(h->thread);
    result[0] = rem_load(h->thread, &w[X]);
}

/* The same for the result of a fetch-and-add. */
static void rfaa_wait_load(struct half *h, uint64_t *w, uint64_t result[2])
{
    if (!(h->thread->slot & 1)) {
        TRY(rem_rfaa(h->thread, &w[X], h->self, &w[B], 1, 0));
        TRY(rem_wait(h->thread, 0));
        result[0] = rem_load(h->thread, &w[Y]);
        return;
    }
    rem_store(h->thread, &w[Y], 1);
    rem_mfence(h->thread);
    result[0] = rem_load(h->thread, &w[X]);
}

/* A put to the own node, read by its own CPU, is in memory: no forwarding. The first half puts x and reads x and y, the second stores
 * y, fences and reads x. Forbidden: the first sees x but not y, and the second does not see x. */
static void put_own_load(struct half *h, uint64_t *w, uint64_t result[2])
{
    if (!(h->thread->slot & 1)) {
        TRY(rem_put_value(h->thread, h->self, &w[X], 1, 0));
        uint64_t x = rem_load(h->thread, &w[X]);
        uint64_t y = rem_load(h->thread, &w[Y]);
        result[0] = x == 1 && y == 0 ? 0 : 1;
        return;
    }
    rem_store(h->thread, &w[Y], 1);
    rem_mfence(h->thread);
    result[0] = rem_load(h->thread, &w[X]);
}

/* Store buffering on sequentially consistent locations. */
static void sc_store_buffering(struct half *h, uint64_t *w, uint64_t result[2])
{
    size_t x = 2 * h->instance + (h->self == 0 ? 0 : 1), y = 2 * h->instance + (h->self == 0 ? 1 : 0);
    (void)w;
    TRY(rem_sc_write(h->thread, h->sc, x, 1));
    TRY(rem_sc_read(h->thread, h->sc, y, &result[0]));
}

struct shape {
    const char *name;
    half_body *body;
    bool one_node; /* two threads of each node, rather than one of nodes 0 and 1 */
};

static const struct shape shapes[] = {
    {"store-get", store_get, false},          {"put-get", put_get, false},
    {"store-put", store_put, true},           {"get-wait-load", get_wait_load, true},
    {"rfaa-wait-load", rfaa_wait_load, true}, {"put-own-load", put_own_load, true},
    {"sc-sb", sc_store_buffering, false},
};

struct run {
    const struct shape *shape;
    uint64_t *words, *meeting; /* BLOCK instances */
    uint64_t *results;         /* on node 0: two for each instance */
    uint64_t *go;              /* when the first instance starts */
    rem_sc sc;
    unsigned long rounds;
    unsigned long forbidden;
};

/* The halves of instance i start at the same moment of the time stamp counter, give or take a few cycles that vary. */
enum { LEAD = 20000, INTERVAL = 1500 };

static void agree_on_start(rem_thread *thread, struct run *run, unsigned half, uint64_t round, int peer)
{
    if (half == 0)
        rem_store(thread, &run->go[0], __builtin_ia32_rdtsc() + LEAD);
    if (half == 0 && !run->shape->one_node) {
        TRY(rem_put(thread, peer, &run->go[0], &run->go[0], 8, 0));
        TRY(rem_gfence(thread, REM_ALL_NODES));
    }
    (void)round;
    frame_meet(thread, run->meeting, 2);
}

static void await_start(rem_thread *thread, struct run *run, unsigned half, unsigned instance, uint64_t round)
{
    uint64_t jitter = (round * 7 + instance) * (half ? 13 : 29) % 97;
    uint64_t start = rem_load(thread, &run->go[0]) + instance * INTERVAL + jitter;
    rem_mfence(thread);
    while (__builtin_ia32_rdtsc() < start)
        ;
}

/* The words of one node's shapes start where a store takes long and a load does not: x in the cache of the second half, which
 * reads it last; y in both. That is what makes a store linger in the first half's buffer. */
static void reset(rem_thread *thread, struct run *run, unsigned half)
{
    for (unsigned i = 0; i < BLOCK; i++)
        for (unsigned word = 0; word < WORDS; word++) {
            unsigned owner = word * 8 == X ? 1 : 0;
            if (!run->shape->one_node || half == owner)
                rem_store(thread, &run->words[(i * WORDS + word) * 8], word * 8 == B ? 1 : 0);
        }
    for (size_t i = 0; i < 2 * BLOCK && half == 0; i++)
        TRY(rem_sc_write(thread, &run->sc, i, 0));
    frame_meet(thread, run->meeting, 2);
    for (unsigned i = 0; i < BLOCK; i++)
        CHECK(rem_load(thread, &run->words[i * WORDS * 8 + Y]) == 0);
}

static void judge(rem_thread *thread, struct run *run)
{
    for (unsigned i = 0; i < BLOCK; i++)
        if (rem_load(thread, &run->results[2 * i]) == 0 && rem_load(thread, &run->results[2 * i + 1]) == 0)
            run->forbidden++;
}

static void body(rem_job *job, rem_thread *thread, unsigned number, void *argument)
{
    struct run *run = argument;
    bool one_node = run->shape->one_node;
    int self = rem_node_self(job);
    unsigned half = one_node ? number : (unsigned)self;
    int peer = one_node ? self : 1 - self;
    for (unsigned long round = 1; round <= run->rounds; round++) {
        uint64_t results[BLOCK][2] = {{0}};
        reset(thread, run, half);
        frame_meet(thread, run->meeting, 2);
        agree_on_start(thread, run, half, round, peer);
        for (unsigned i = 0; i < BLOCK; i++) {
            struct half h = {thread, self, peer, &run->sc, i};
            await_start(thread, run, half, i, round);
            run->shape->body(&h, &run->words[i * WORDS * 8], results[i]);
        }
        for (unsigned i = 0; i < BLOCK; i++)
            TRY(rem_put_value(thread, 0, &run->results[2 * i + half], results[i][0], 0));
        TRY(rem_gfence(thread, REM_ALL_NODES));
        frame_meet(thread, run->meeting, 2);
        if (half == 0)
            judge(thread, run);
    }
}

static void run_shape(rem_job *job, struct run *run, const struct shape *shape)
{
    int self = rem_node_self(job);
    run->shape = shape;
    run->forbidden = 0;
    memset(run->go, 0, 128);
    TRY(rem_barrier(job));
    /* slots 0 and 1 of node 0, or slot 0 of nodes 0 and 1 */
    if (shape->one_node ? self == 0 : self < 2)
        frame_threads(job, shape->one_node ? 2 : 1, body, run);
    TRY(rem_barrier(job));
    if (self == 0)
        printf("%s: %lu times, forbidden %lu\n", shape->name, run->rounds * BLOCK, run->forbidden);
    CHECK(run->forbidden == 0 || getenv("REMORA_TEST_TEETH"));
}

static uint64_t *alloc_words(rem_job *job, size_t count)
{
    void *memory;
    TRY(rem_alloc(job, count * sizeof(uint64_t), &memory));
    return memory;
}

static void node(rem_job *job, int argc, char **argv)
{
    struct run run = {0};
    CHECK(argc == 3 && rem_node_count(job) >= 2);
    run.rounds = frame_scaled(strtoul(argv[2], NULL, 10)) / BLOCK + 1;
    run.words = alloc_words(job, (size_t)BLOCK * WORDS * 8);
    run.results = alloc_words(job, 2 * (size_t)BLOCK);
    run.meeting = alloc_words(job, 8);
    run.go = alloc_words(job, 16);
    TRY(rem_sc_init(job, &run.sc, 2 * (size_t)BLOCK, REM_SPREAD));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(argv[1], "all") == 0 || strcmp(argv[1], shapes[i].name) == 0)
            run_shape(job, &run, &shapes[i]);
    TRY(rem_sc_destroy(job, &run.sc));
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
