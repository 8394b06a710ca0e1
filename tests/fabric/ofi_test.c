/* What is the ofi provider's own: operations of all sizes, more of them than a queue pair holds, results that nobody waits
 * for, a target that computes, a release that is held back, strangers; and a first message to a node when gets from another
 * have all buffers. Two nodes, or three for the last.
 *
 * usage: ofi_test PART;  PART: sizes, flood, landing, computing, release, fence, stranger, acquaintance, all */
#include "fabric/ofi_intern.h"

#include "../runtime/frame.h"

enum { BYTES = 32768, WORDS = BYTES / 8, GIVE_UP = 20 };
#define SECOND UINT64_C(1000000000)

struct scene {
    rem_job *job;
    rem_thread thread;
    int self;
    unsigned char *bytes; /* of BYTES, symmetric */
    unsigned char *local; /* the same */
    uint64_t *word;
    rem_nlock lock;
};

static void meet(struct scene *scene)
{
    TRY(rem_gfence(&scene->thread, REM_NODE(0) | REM_NODE(1)));
    TRY(rem_barrier(scene->job));
}

/* ---- Sizes and places ---- */

static unsigned char byte_at(size_t i, size_t salt)
{
    return (unsigned char)(i * 7 + i / 251 + salt);
}

static void put_and_get(struct scene *scene, size_t from, size_t to, size_t size)
{
    rem_thread *thread = &scene->thread;
    for (size_t i = 0; i < size; i++)
        scene->local[from + i] = byte_at(i, size);
    rem_plain_out(thread, scene->local, BYTES);
    TRY(rem_put(thread, 1, scene->bytes + to, scene->local + from, size, 0));
    TRY(rem_get(thread, scene->local + BYTES / 2 + to, 1, scene->bytes + to, size, 1));
    TRY(rem_wait(thread, 1));
    rem_plain_in(thread, scene->local, BYTES);
    for (size_t i = 0; i < size; i++)
        CHECK(scene->local[BYTES / 2 + to + i] == byte_at(i, size));
    /* and once more when nothing is outstanding, as a remote read */
    memset(scene->local + BYTES / 2, 0, BYTES / 2);
    TRY(rem_get(thread, scene->local + BYTES / 2 + from, 1, scene->bytes + to, size, 1));
    TRY(rem_wait(thread, 1));
    for (size_t i = 0; i < size; i++)
        CHECK(scene->local[BYTES / 2 + from + i] == byte_at(i, size));
}

static void sizes(struct scene *scene)
{
    static const size_t some[] = {1, 2, 7, 8, 9, 15, 16, 63, 64, 65, 72, 100, 4095, 4096, 4097, 10000};
    for (size_t i = 0; scene->self == 0 && i < sizeof some / sizeof *some; i++)
        for (size_t from = 0; from < 10; from += 3)
            for (size_t to = 0; to < 10; to += 3)
                put_and_get(scene, from, to, some[i]);
    meet(scene);
}

/* ---- More than there is room for ---- */

static void flood(struct scene *scene)
{
    enum { PUTS = 20000, GETS = 3000 };
    rem_thread *thread = &scene->thread;
    uint64_t *words = (uint64_t *)(void *)scene->bytes, *results = (uint64_t *)(void *)scene->local;
    if (scene->self == 0) {
        for (uint64_t i = 1; i <= PUTS; i++)
            TRY(rem_put_value(thread, 1, &words[i % WORDS], i, 0));
        uint64_t last;
        TRY(rem_get_value(thread, &last, 1, &words[PUTS % WORDS]));
        CHECK(last == PUTS);
        for (uint64_t i = 0; i < GETS; i++)
            TRY(rem_get(thread, &results[i % WORDS], 1, &words[i % WORDS], 8, 1));
        for (uint64_t i = 0; i < GETS; i++)
            TRY(rem_rfaa(thread, &results[i % WORDS], 1, scene->word, 1, 1));
        TRY(rem_wait(thread, 1));
        for (uint64_t i = 0; i < GETS; i++)
            CHECK(rem_load(thread, &results[i % WORDS]) == i);
    }
    meet(scene);
}

/* ---- Without a call ---- */

static void await(struct scene *scene, const uint64_t *word, uint64_t value)
{
    uint64_t end = rem_clock() + GIVE_UP * SECOND;
    while (rem_load(&scene->thread, word) != value)
        CHECK(rem_clock() < end);
}

/* A result comes though the thread neither waits nor posts any more. */
static void landing(struct scene *scene)
{
    uint64_t *result = (uint64_t *)(void *)scene->local;
    if (scene->self == 1)
        rem_store(&scene->thread, scene->word, 77);
    meet(scene);
    if (scene->self == 0) {
        TRY(rem_get(&scene->thread, result, 1, scene->word, 8, 0));
        await(scene, result, 77);
        TRY(rem_wait(&scene->thread, 0));
    }
    meet(scene);
}

/* Operations are executed while the target's only thread does nothing but compute. */
static void computing(struct scene *scene)
{
    uint64_t old;
    if (scene->self == 1)
        await(scene, scene->word, 1);
    for (int i = 0; scene->self == 0 && i < 50; i++) {
        TRY(rem_fetch_add(&scene->thread, &old, 1, scene->word + 1, 1));
        TRY(rem_get_value(&scene->thread, &old, 1, scene->word + 1));
        CHECK(old == (uint64_t)i + 1);
    }
    if (scene->self == 0)
        TRY(rem_put_value(&scene->thread, 1, scene->word, 1, 0));
    meet(scene);
}

/* A thread that has always acquired again at once releases, and then does not call in for a while. */
static void release(struct scene *scene)
{
    uint64_t *words = scene->word; /* on node 1: 0 the lock is held, 1 the other one has it */
    meet(scene);
    if (scene->self == 0) {
        for (int i = 0; i < 100; i++) {
            TRY(rem_nlock_acquire(&scene->thread, &scene->lock));
            if (i == 99) {
                TRY(rem_put_value(&scene->thread, 1, &words[0], 1, 0));
                TRY(rem_put_value(&scene->thread, 0, &words[0], 1, 0));
            }
            TRY(rem_nlock_release(&scene->thread, &scene->lock));
        }
        await(scene, &words[1], 1);
    } else {
        await(scene, &words[0], 1);
        TRY(rem_nlock_acquire(&scene->thread, &scene->lock));
        TRY(rem_put_value(&scene->thread, 0, &words[1], 1, 0));
        TRY(rem_nlock_release(&scene->thread, &scene->lock));
    }
    meet(scene);
}

/* Behind a fence a put reads what the get before it has brought. */
static void fence(struct scene *scene)
{
    uint64_t *result = (uint64_t *)(void *)scene->local, value;
    for (uint64_t i = 1; scene->self == 0 && i <= 300; i++) {
        rem_thread *thread = &scene->thread;
        TRY(rem_put_value(thread, 1, &scene->word[0], i, 0));
        if (i % 2)
            TRY(rem_gfence(thread, REM_NODE(1)));
        TRY(rem_get(thread, result, 1, &scene->word[0], 8, 1));
        TRY(rem_rfence(thread, 1));
        TRY(rem_put(thread, 1, &scene->word[1], result, 8, 0));
        TRY(rem_get_value(thread, &value, 1, &scene->word[1]));
        CHECK(value == i);
        TRY(rem_wait(thread, 1));
    }
    meet(scene);
}

/* ---- Strangers ---- */

static void send_to(struct ofi_port *port, fi_addr_t to, const void *bytes, size_t size)
{
    struct ofi_slot *slot = port_take(port);
    struct fi_cq_msg_entry done;
    CHECK(slot);
    memcpy(slot->data, bytes, size);
    uint64_t end = rem_clock() + GIVE_UP * SECOND;
    while (port_send(port, slot, size, to) == -FI_EAGAIN) {
        CHECK(rem_clock() < end);
        fi_cq_read(port->cq, &done, 1);
    }
    for (int i = 0; i < 100; i++)
        if (fi_cq_read(port->cq, &done, 1) == 1)
            port_give(port, done.op_context);
}

/* Who knows the address, but not the job's secret, changes nothing; nor does nonsense from who knows it. */
static void stranger(struct scene *scene)
{
    struct fabric_node *link = scene->job->node->link;
    struct {
        struct message_head head;
        struct message_item item;
        uint64_t value;
    } message = {{link->secret + 1, 0, MESSAGE_OPERATIONS, 1, 0}, {FABRIC_PUT_VALUE, 0, 0, 0}, 666};
    if (scene->self == 0) {
        struct ofi_port port = {0};
        fi_addr_t to;
        uint64_t value;
        CHECK(port_open(&port, link->fabric, link->info, 64, false) == 0);
        CHECK(fi_av_insert(port.av, link->card[1].name, 1, &to, 0, NULL) == 1);
        message.item.offset = (uint64_t)((char *)scene->word - scene->job->node->home);
        send_to(&port, to, &message, sizeof message);
        send_to(&port, to, &message, 3);
        message.head.secret--;
        message.head.sender = 2 * link->threads; /* no thread has that number */
        send_to(&port, to, &message, sizeof message);
        message.head.sender = link->threads - 1; /* nobody is this one yet; outside the heap, and cut off */
        message.item.offset = link->node->heap_size;
        send_to(&port, to, &message, sizeof message);
        message.head.number = 1;
        message.item = (struct message_item){FABRIC_PUT, 0, 4096, 64};
        send_to(&port, to, &message, sizeof message);
        message.head.number = 2;
        message.item = (struct message_item){99, 0, 4096, 64};
        send_to(&port, to, &message, sizeof message);
        TRY(rem_get_value(&scene->thread, &value, 1, scene->word));
        CHECK(value == 0);
        port_close(&port);
    }
    meet(scene);
}

/* ---- A third node ---- */

static void acquaintance(struct scene *scene)
{
    rem_thread *thread = &scene->thread;
    if (scene->self == 0 && rem_node_count(scene->job) > 2) {
        uint64_t value;
        TRY(rem_get(thread, scene->local, 1, scene->bytes, BYTES, 1));
        TRY(rem_get(thread, scene->local, 1, scene->bytes, BYTES, 1));
        TRY(rem_put_value(thread, 2, scene->word, 3, 0));
        TRY(rem_get_value(thread, &value, 2, scene->word));
        CHECK(value == 3);
        TRY(rem_wait(thread, 1));
    }
    TRY(rem_barrier(scene->job));
}

/* ---- All ---- */

static const struct {
    const char *name;
    void (*run)(struct scene *);
} parts[] = {{"sizes", sizes},     {"flood", flood}, {"landing", landing},   {"computing", computing},
             {"release", release}, {"fence", fence}, {"stranger", stranger}, {"acquaintance", acquaintance}};

static void clear(struct scene *scene)
{
    for (int i = 0; i < 2; i++)
        rem_store(&scene->thread, &scene->word[i], 0);
    TRY(rem_barrier(scene->job));
}

static void node(rem_job *job, int argc, char **argv)
{
    struct scene scene = {.job = job, .self = rem_node_self(job)};
    void *memory[3];
    CHECK(argc == 2 && rem_node_count(job) >= 2);
    TRY(rem_attach(job, &scene.thread));
    TRY(rem_alloc(job, BYTES, &memory[0]));
    TRY(rem_alloc(job, BYTES, &memory[1]));
    TRY(rem_alloc(job, 64, &memory[2]));
    TRY(rem_nlock_init(job, &scene.lock, 1));
    scene.bytes = memory[0];
    scene.local = memory[1];
    scene.word = memory[2];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], "all") == 0 || strcmp(argv[1], parts[i].name) == 0) {
            clear(&scene);
            parts[i].run(&scene);
        }
    TRY(rem_nlock_destroy(job, &scene.lock));
    TRY(rem_detach(&scene.thread));
}

int main(int argc, char **argv)
{
    return frame_run(node, argc, argv);
}
