/* See model.h. Section 1 speaks of single words: an operation on more of them becomes one operation a word,
 * and the model keeps as many completions in mind as one completion of the fabric stands for. */
#include "fabric/model.h"
#include "job/idle.h"
#include "job/node.h"
#include "tower/thread.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct model_thread *model_current;

__attribute__((noinline)) struct model_thread *model_self(void)
{
    __asm__ volatile("");
    return model_current;
}

enum { WORD = sizeof(uint64_t), IN_FLIGHT = 64 };

struct model_queue {
    uint32_t posted, taken;
    uint8_t words[IN_FLIGHT]; /* of each operation, by its number */
};

struct fabric_thread {
    struct rem_node *node;
    uint64_t several; /* puts and gets of several words so far */
    struct model_queue queue[];
};

static bool is_registered(const struct rem_node *node, const void *pointer, size_t size)
{
    size_t top = node->heap.top;
    return size <= top && (uintptr_t)pointer - (uintptr_t)node->home <= top - size;
}

static void fault(const char *why)
{
    model_self()->fault(model_self(), why);
    abort();
}

static uint16_t word_at(unsigned node, const void *pointer)
{
    struct model_thread *model = model_self();
    if ((uintptr_t)pointer % WORD != 0)
        fault("an access to a word that is not aligned");
    return model->locate(model, node, (size_t)((const char *)pointer - model->node->home));
}

static uint16_t local_word(const void *pointer)
{
    if (!is_registered(model_self()->node, pointer, WORD))
        fault("an access, through the library, to memory that rem_alloc did not give on this node");
    return word_at(model_self()->node->self, pointer);
}

static uint64_t ask(struct op op)
{
    return model_self()->ask(model_self(), &op);
}

static uint64_t ask_cpu(enum op_kind kind, const uint64_t *word, uint64_t e, uint64_t v)
{
    return ask((struct op){.kind = (uint8_t)kind,
                           .loc = word ? local_word(word) : PROG_NO_LOC,
                           .local = PROG_NO_LOC,
                           .e = e,
                           .v = v});
}

/* --- the CPU's accesses (remora/wait.h) --- */

uint64_t rem_load(rem_thread *thread, const uint64_t *word)
{
    (void)thread;
    return ask_cpu(OP_LOAD, word, 0, 0);
}

void rem_store(rem_thread *thread, uint64_t *word, uint64_t value)
{
    (void)thread;
    ask_cpu(OP_STORE, word, 0, value);
}

uint64_t rem_cas(rem_thread *thread, uint64_t *word, uint64_t expected, uint64_t desired)
{
    (void)thread;
    return ask_cpu(OP_CAS, word, expected, desired);
}

uint64_t rem_faa(rem_thread *thread, uint64_t *word, uint64_t add)
{
    (void)thread;
    return ask_cpu(OP_FAA, word, 0, add);
}

uint64_t rem_xchg(rem_thread *thread, uint64_t *word, uint64_t value)
{
    (void)thread;
    return ask_cpu(OP_XCHG, word, 0, value);
}

void rem_mfence(rem_thread *thread)
{
    (void)thread;
    ask_cpu(OP_MFENCE, NULL, 0, 0);
}

void rem_pause(rem_thread *thread)
{
    (void)thread;
    model_self()->wait(model_self(), NULL);
}

void rem_plain_in(rem_thread *thread, void *memory, size_t size)
{
    (void)thread;
    for (uint64_t *word = memory; size >= WORD; word++, size -= WORD)
        *word = ask_cpu(OP_LOAD, word, 0, 0);
}

void rem_plain_out(rem_thread *thread, void *memory, size_t size)
{
    (void)thread;
    for (uint64_t *word = memory; size >= WORD; word++, size -= WORD)
        ask_cpu(OP_STORE, word, 0, *word);
}

/* --- the provider --- */

static const unsigned awake;

static const unsigned char op_of[] = {
    [FABRIC_PUT] = OP_PUT,   [FABRIC_PUT_VALUE] = OP_PUT, [FABRIC_GET] = OP_GET,
    [FABRIC_RCAS] = OP_RCAS, [FABRIC_RFAA] = OP_RFAA,     [FABRIC_RFENCE] = OP_RFENCE};

static size_t size_of(const struct fabric_op *op)
{
    return op->kind == FABRIC_PUT || op->kind == FABRIC_GET ? op->size : WORD;
}

static int check(const struct fabric_thread *thread, const struct fabric_op *op)
{
    if (op->kind == FABRIC_RFENCE)
        return 0;
    size_t size = size_of(op);
    if (!is_registered(thread->node, op->remote, size))
        return REM_EADDRESS;
    if (op->kind != FABRIC_PUT_VALUE && !is_registered(thread->node, op->local, size))
        return REM_ELOCAL;
    if (size % WORD != 0 || size / WORD > UINT8_MAX)
        fault("a put or get of other than whole words, or of more than 255 of them");
    return 0;
}

static const unsigned char *order_of(struct fabric_thread *thread, unsigned words)
{
    uint64_t n = thread->several++;
    return model_self()->order(model_self(), n < UINT32_MAX ? (unsigned)n : UINT32_MAX, words);
}

static void ask_for_word(struct op op, unsigned word, unsigned words)
{
    model_self()->word = (unsigned char)(word + 1);
    model_self()->words = (unsigned char)words;
    ask(op);
}

static void execute(struct fabric_thread *thread, const struct fabric_op *op)
{
    if (op->flags & FABRIC_FENCED)
        ask((struct op){
            .kind = OP_RFENCE, .node = (uint8_t)op->node, .loc = PROG_NO_LOC, .local = PROG_NO_LOC});
    struct op asked = {.kind = op_of[op->kind],
                       .node = (uint8_t)op->node,
                       .loc = PROG_NO_LOC,
                       .local = PROG_NO_LOC,
                       .e = op->kind == FABRIC_RCAS ? op->expected : 0,
                       .v = op->kind == FABRIC_PUT || op->kind == FABRIC_GET ? 0 : op->value};
    if (op->kind == FABRIC_RFENCE) {
        asked.v = 0;
        ask(asked);
        return;
    }
    unsigned words = (unsigned)(size_of(op) / WORD);
    const unsigned char *order = words > 1 ? order_of(thread, words) : NULL;
    for (unsigned i = 0; i < words; i++) {
        unsigned word = order ? order[i] : i;
        asked.loc = word_at(op->node, (char *)op->remote + word * WORD);
        if (op->kind != FABRIC_PUT_VALUE)
            asked.local = local_word((char *)op->local + word * WORD);
        if (words > 1)
            ask_for_word(asked, word, words);
        else
            ask(asked);
    }
    struct model_queue *queue = &thread->queue[op->node];
    if (queue->posted - queue->taken == IN_FLIGHT)
        fault("more than 64 operations of one thread towards one node, none of which has been waited for");
    queue->words[queue->posted++ % IN_FLIGHT] = (uint8_t)words;
}

static int post(struct fabric_thread *thread, const struct fabric_op *ops, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int error = check(thread, &ops[i]);
        if (error)
            return error;
    }
    for (unsigned i = 0; i < count; i++)
        execute(thread, &ops[i]);
    return 0;
}

/* Blocks until there is a completion. A caller that polls until it has what it wants can't tell; the model is
 * not told of polls that find nothing. */
static unsigned poll(struct fabric_thread *thread, unsigned node, unsigned most)
{
    struct model_queue *queue = &thread->queue[node];
    unsigned words = 1;
    if (most == 0)
        return 0;
    if (queue->taken != queue->posted)
        words = queue->words[queue->taken++ % IN_FLIGHT];
    for (unsigned i = 0; i < words; i++)
        ask((struct op){.kind = OP_POLL, .node = (uint8_t)node, .loc = PROG_NO_LOC, .local = PROG_NO_LOC});
    return 1;
}

static bool is_within(const void *word, const void *start, size_t size)
{
    return (uintptr_t)word - (uintptr_t)start < size;
}

bool model_is_counter(const rem_thread *thread, const void *word)
{
    const struct rem_thread_state *state = thread->state;
    if (!state || state->fabric != &fabric_model)
        return false;
    const struct fabric_thread *link = state->link;
    if (is_within(word, &link->several, sizeof link->several))
        return true;
    for (unsigned n = 0; n < state->nodes; n++)
        if (link->queue[n].posted != link->queue[n].taken || state->queue[n].posted != state->queue[n].taken)
            return false;
    return is_within(word, link->queue, state->nodes * sizeof link->queue[0]) ||
           is_within(word, state->queue, sizeof state->queue) ||
           is_within(word, state->last, state->nodes * sizeof state->last[0]);
}

static int attach(struct rem_node *node, unsigned char *owes, struct fabric_thread **result,
                  struct fabric_signals *signals)
{
    (void)owes;
    *signals = (struct fabric_signals){&awake, &awake};
    struct fabric_thread *thread = calloc(1, sizeof *thread + node->nodes * sizeof thread->queue[0]);
    if (!thread)
        return REM_ENOMEM;
    thread->node = node;
    *result = thread;
    return 0;
}

static void detach(struct fabric_thread *thread)
{
    free(thread);
}

static void wait_step(struct fabric_thread *thread, struct idle *idle, uint64_t distance)
{
    (void)thread;
    (void)distance;
    idle->announced = model_self()->announces;
    model_self()->wait(model_self(), idle);
}

static void wait_end(struct fabric_thread *thread, struct idle *idle)
{
    (void)thread;
    model_self()->wait_end(model_self(), idle);
}

static void wake(struct fabric_thread *thread, uint64_t key, uint64_t value)
{
    (void)thread;
    (void)key;
    (void)value;
}

static void drain(struct fabric_thread *thread)
{
    (void)thread;
    ask_cpu(OP_MFENCE, NULL, 0, 0);
}

const struct fabric fabric_model = {
    .traits = {.name = "model", .brief = "the memory model itself, explored by remora verify"},
    .attach = attach,
    .detach = detach,
    .post = post,
    .poll = poll,
    .wait = wait_step,
    .wait_end = wait_end,
    .wake = wake,
    .drain = drain,
};

const struct fabric *fabric_find(const char *name)
{
    (void)name;
    return &fabric_model;
}
