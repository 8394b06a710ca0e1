/* One thread of a C program: its points. */
#include "verify/c_thread.h"

#include "base/arena.h"
#include "job/node.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { STACK = 64 << 10, MOST_CHANGES = 2048, MOST_ROUNDS = 16 };

static struct c_thread *thread_of(struct model_thread *model)
{
    return (struct c_thread *)(void *)model;
}

/* --- called by the C code, on its own stack --- */

static uint64_t ask(struct model_thread *model, const struct op *op)
{
    struct c_thread *thread = thread_of(model);
    thread->asked_word = model->word;
    thread->asked_words = model->words;
    model->word = model->words = 0;
    if (thread->n_replay)
        return thread->replay[--thread->n_replay];
    thread->asked = *op;
    thread->waiting = false;
    coroutine_pause(&thread->coroutine);
    return thread->answer;
}

static uint16_t locate(struct model_thread *model, unsigned node, size_t offset)
{
    return (uint16_t)c_program_location(thread_of(model)->program, node, offset);
}

static const unsigned char *order(struct model_thread *model, unsigned n, unsigned words)
{
    struct c_thread *thread = thread_of(model);
    const struct word_orders *orders = thread->program->code.orders;
    unsigned i = n < WORD_OPS ? n : WORD_OPS - 1;
    if (words > thread->words_seen[i])
        thread->words_seen[i] = (uint8_t)words;
    return orders ? word_order(words, orders->number[thread->index][i]) : NULL;
}

static void wait_step(struct model_thread *model, const void *key)
{
    struct c_thread *thread = thread_of(model);
    if (thread->n_replay) {
        thread->n_replay--;
        return;
    }
    thread->asked = (struct op){.kind = OP_SPIN_BEGIN, .loc = PROG_NO_LOC, .local = PROG_NO_LOC};
    thread->asked_word = thread->asked_words = 0;
    thread->waiting = true;
    thread->loop = key;
    coroutine_pause(&thread->coroutine);
}

static void wait_end(struct model_thread *model, const void *key)
{
    struct meta *meta = &thread_of(model)->meta;
    if (meta->spinning && meta->loop == key)
        meta->spinning = false;
}

static void fault(struct model_thread *model, const char *why)
{
    struct c_thread *thread = thread_of(model);
    thread->faulted = why;
    for (;;)
        coroutine_pause(&thread->coroutine);
}

static void body(void *argument)
{
    struct c_thread *thread = argument;
    const struct c_code *code = &thread->program->code;
    code->body(code->context, &thread->world, thread->index, thread->regs);
    thread->ended = true;
    for (;;)
        coroutine_pause(&thread->coroutine);
}

static struct c_thread *running(void)
{
    return thread_of(model_self());
}

struct world *c_program_running(void)
{
    return &running()->world;
}

void c_program_statement(unsigned statement)
{
    struct meta *meta = &running()->meta;
    *meta = (struct meta){.statement =
                              (uint16_t)(statement < C_MAX_STATEMENTS ? statement : C_MAX_STATEMENTS - 1),
                          .number = statement < C_MAX_STATEMENTS ? 0 : meta->number,
                          .rcas_result = PROG_NO_LOC};
}

uint64_t c_program_ask(const struct op *op)
{
    return ask(model_self(), op);
}

_Noreturn void c_program_fail(const struct c_failure *failure)
{
    struct c_thread *thread = running();
    thread->failure = *failure;
    for (;;)
        coroutine_pause(&thread->coroutine);
}

/* --- waiting loops --- */

/* An iteration that fails must have done nothing that others can see. A CAS counts if it succeeds; of a remote
 * one that is known when its result is loaded. */
static void note_asked(struct meta *meta, const struct op *op)
{
    switch (op->kind) {
    case OP_STORE:
    case OP_FAA:
    case OP_XCHG:
    case OP_PUT:
    case OP_RFAA:
        meta->effects = true;
        break;
    case OP_RCAS:
        meta->effects |= meta->rcas_result != PROG_NO_LOC; /* two at once are too many to follow */
        meta->rcas_result = op->local;
        meta->rcas_expects = op->e;
        break;
    default:
        break;
    }
}

static void note_answered(struct meta *meta, const struct op *op, uint64_t result)
{
    if (op->kind == OP_CAS && result == op->e)
        meta->effects = true;
    if (op->kind == OP_LOAD && op->loc == meta->rcas_result) {
        meta->effects |= result == meta->rcas_expects;
        meta->rcas_result = PROG_NO_LOC;
    }
}

static bool had_effects(const struct meta *meta)
{
    return meta->effects || meta->rcas_result != PROG_NO_LOC;
}

/* The C code stands in a waiting loop, before it looks again. The library names its loops, and says when it
 * leaves one; of a loop with rem_pause, an iteration has failed if the C code is exactly where it was. */
static void settle_wait(struct c_thread *thread, uint64_t state)
{
    struct meta *meta = &thread->meta;
    bool same = meta->spinning && meta->loop == thread->loop;
    if (same && !had_effects(meta) && (thread->loop || meta->loop_state == state)) {
        thread->asked.kind = OP_SPIN_FAIL;
        return;
    }
    meta->rounds = same ? (uint8_t)(meta->rounds + 1) : 0;
    if (meta->rounds > MOST_ROUNDS) {
        thread->program->bounded = true;
        thread->asked.kind = OP_DROP;
    }
    meta->spinning = true;
    meta->effects = false;
    meta->rcas_result = PROG_NO_LOC;
    meta->loop = thread->loop;
    meta->loop_state = state;
}

/* --- points --- */

struct snapshot {
    uint32_t offsets[MOST_CHANGES];
    uint64_t values[MOST_CHANGES];
    unsigned n;
};

static bool same_point(const struct point *a, const struct point *b)
{
    return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] && a->op.kind == b->op.kind;
}

static size_t find(const struct c_thread *thread, const struct point *point)
{
    size_t at = point->hash[0] & (thread->slots - 1);
    while (thread->table[at] && !same_point(&thread->points[thread->table[at] - 1], point))
        at = (at + 1) & (thread->slots - 1);
    return at;
}

static void grow_table(struct c_thread *thread)
{
    free(thread->table);
    thread->slots = thread->slots ? 2 * thread->slots : 256;
    thread->table = xcalloc(thread->slots, sizeof *thread->table);
    for (uint32_t i = 0; i < thread->n_points; i++)
        thread->table[find(thread, &thread->points[i])] = i + 1;
}

/* Adds the point, or finds the one that is there already. */
static uint32_t intern(struct c_thread *thread, const struct point *point, bool *new)
{
    if (2 * (size_t)(thread->n_points + 1) > thread->slots)
        grow_table(thread);
    size_t at = find(thread, point);
    *new = !thread->table[at];
    if (!*new)
        return thread->table[at] - 1;
    if (thread->n_points == thread->points_capacity) {
        thread->points_capacity = thread->points_capacity ? 2 * thread->points_capacity : 64;
        thread->points = xrealloc(thread->points, thread->points_capacity * sizeof *thread->points);
    }
    thread->points[thread->n_points] = *point;
    thread->table[at] = ++thread->n_points;
    return thread->n_points - 1;
}

static void hash_into(struct point *point, const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    point->hash[0] = hash.low64;
    point->hash[1] = hash.high64;
}

/* Of all that the C code can see. */
struct digest {
    XXH128_hash_t stack, offsets, values;
};

static struct digest state_digest(const struct c_thread *thread, const struct snapshot *snapshot)
{
    return (struct digest){
        XXH3_128bits(thread->coroutine.pointer, coroutine_live(&thread->coroutine)),
        XXH3_128bits(snapshot->offsets, snapshot->n * sizeof *snapshot->offsets),
        XXH3_128bits(snapshot->values, snapshot->n * sizeof *snapshot->values),
    };
}

static void hash_point(struct point *point, const struct digest *state, const struct meta *meta)
{
    const struct op *op = &point->op;
    const uint64_t words[] = {state->stack.low64,
                              state->stack.high64,
                              state->offsets.low64,
                              state->offsets.high64,
                              state->values.low64,
                              state->values.high64,
                              op->kind,
                              (uint64_t)op->loc << 32 | (uint64_t)op->local << 16 | op->node,
                              op->v,
                              op->e,
                              op->cmp,
                              (uint64_t)meta->statement << 32 | (uint64_t)meta->number << 16 |
                                  (uint64_t)meta->rounds << 8 | (uint64_t)meta->spinning << 1 | meta->effects,
                              (uintptr_t)meta->loop,
                              meta->loop_state,
                              meta->rcas_result,
                              meta->rcas_expects};
    hash_into(point, words, sizeof words);
}

/* A thread that ends with a lock in its hands: reports name the lock, so its memory is kept, and tells its end from others. */
static bool ends_holding(const struct c_thread *thread, struct snapshot *snapshot)
{
    if (!thread->world.threads[thread->index].held)
        return false;
    snapshot->n = world_changes(&thread->world, snapshot->offsets, snapshot->values, MOST_CHANGES);
    return snapshot->n <= MOST_CHANGES;
}

static void hash_end(const struct c_thread *thread, struct point *point, const struct snapshot *memory)
{
    size_t n = thread->program->code.n_regs[thread->index];
    XXH128_hash_t hashes[] = {XXH3_128bits(thread->regs, n * sizeof *thread->regs),
                              XXH3_128bits(memory->offsets, memory->n * sizeof *memory->offsets),
                              XXH3_128bits(memory->values, memory->n * sizeof *memory->values)};
    hash_into(point, hashes, sizeof hashes);
}

static void *arena_copy(struct arena *arena, const void *from, size_t size)
{
    void *copy = arena_alloc(arena, size + 1);
    memcpy(copy, from, size);
    return copy;
}

static uint32_t end_point(struct c_thread *thread, struct point *point)
{
    struct snapshot memory;
    if (!ends_holding(thread, &memory))
        memory.n = 0;
    hash_end(thread, point, &memory);
    bool new;
    uint32_t number = intern(thread, point, &new);
    if (new) {
        struct arena *arena = thread->program->arena;
        struct point *kept = &thread->points[number];
        kept->regs = arena_copy(arena, thread->regs,
                                thread->program->code.n_regs[thread->index] * sizeof *thread->regs);
        kept->changes =
            (struct changes){.n = memory.n,
                             .values = arena_copy(arena, memory.values, memory.n * sizeof *memory.values),
                             .offsets = arena_copy(arena, memory.offsets, memory.n * sizeof *memory.offsets)};
    }
    return number;
}

/* An end is told by its registers, a run that is dropped by that. */
static uint32_t last_point(struct c_thread *thread, struct point *point)
{
    if (point->op.kind == OP_END)
        return end_point(thread, point);
    bool new;
    hash_into(point, NULL, 0);
    return intern(thread, point, &new);
}

static void keep_state(struct c_thread *thread, struct point *point, const struct snapshot *snapshot)
{
    point->image_size = (uint32_t)coroutine_live(&thread->coroutine);
    size_t offsets = (snapshot->n * sizeof(uint32_t) + 7) & ~(size_t)7,
           values = snapshot->n * sizeof(uint64_t);
    char *memory = xmalloc(point->image_size + offsets + values);
    point->image = memory;
    coroutine_save(&thread->coroutine, memory);
    point->changes = (struct changes){.n = snapshot->n,
                                      .values = (uint64_t *)(void *)(memory + point->image_size),
                                      .offsets = (uint32_t *)(void *)(memory + point->image_size + values)};
    memcpy(point->changes.values, snapshot->values, values);
    memcpy(point->changes.offsets, snapshot->offsets, snapshot->n * sizeof(uint32_t));
}

/* What the C code can see, for a waiting loop to be compared with itself. Each operation that is posted and
 * waited for counts up its queue pair's counters; when nothing is under way their values mean nothing. */
static uint64_t loop_state(const struct c_thread *thread, struct snapshot *snapshot)
{
    const rem_thread *own = &thread->world.threads[thread->index];
    struct snapshot rest;
    rest.n = 0;
    for (unsigned i = 0; i < snapshot->n; i++) {
        if (model_is_counter(own, world_address(&thread->world, snapshot->offsets[i])))
            continue;
        rest.offsets[rest.n] = snapshot->offsets[i];
        rest.values[rest.n++] = snapshot->values[i];
    }
    struct digest digest = state_digest(thread, &rest);
    return digest.stack.low64 ^ digest.offsets.low64 ^ digest.values.low64;
}

static uint32_t halted(struct c_thread *thread, struct point *point)
{
    struct c_program *program = thread->program;
    if (thread->faulted && !program->fault)
        program->fault = thread->faulted;
    point->op =
        (struct op){.kind = thread->ended ? OP_END : OP_DROP, .loc = PROG_NO_LOC, .local = PROG_NO_LOC};
    return last_point(thread, point);
}

static void note_failure(struct c_thread *thread, uint32_t number)
{
    struct c_failure *failure = ARENA_NEW(thread->program->arena, struct c_failure);
    *failure = thread->failure;
    failure->thread = thread->index;
    failure->point = number;
    thread->points[number].failure = failure;
    if (!thread->program->failure)
        thread->program->failure = failure;
}

static uint32_t new_point(struct c_thread *thread, struct point *point, const struct snapshot *snapshot)
{
    bool new;
    uint32_t number = intern(thread, point, &new);
    thread->live = number;
    if (!new)
        return number;
    struct point *kept = &thread->points[number];
    keep_state(thread, kept, snapshot);
    kept->meta = thread->meta;
    kept->op.where = number;
    kept->generation = feet_cover(thread, &kept->meta, &kept->op);
    if (thread->failure.message)
        note_failure(thread, number);
    return number;
}

/* The C code has paused; `from` is the point that it came from. */
static uint32_t settle(struct c_thread *thread, uint32_t from, uint64_t result)
{
    struct snapshot snapshot;
    struct point point = {.from = from, .result = result};
    if (thread->ended || thread->faulted)
        return halted(thread, &point);
    snapshot.n = world_changes(&thread->world, snapshot.offsets, snapshot.values, MOST_CHANGES);
    if (snapshot.n > MOST_CHANGES || thread->meta.number >= C_MAX_OPS) {
        thread->faulted = snapshot.n > MOST_CHANGES ? "more than 2,048 words of private memory are changed"
                                                    : "more than 2,048 operations: does a loop never end?";
        return halted(thread, &point);
    }
    struct digest digest = state_digest(thread, &snapshot);
    if (thread->failure.message) /* the thread stands there for ever */
        thread->asked = (struct op){.kind = OP_SPIN_BEGIN, .loc = PROG_NO_LOC, .local = PROG_NO_LOC};
    else if (thread->waiting)
        settle_wait(thread, loop_state(thread, &snapshot));
    else
        note_asked(&thread->meta, &thread->asked);
    point.op = thread->asked;
    point.word = thread->asked_word;
    point.words = thread->asked_words;
    if (point.op.kind == OP_SPIN_FAIL || point.op.kind == OP_DROP)
        return last_point(thread, &point);
    hash_point(&point, &digest, &thread->meta);
    return new_point(thread, &point, &snapshot);
}

/* Runs the C code up to its next pause. */
static void run_on(struct c_thread *thread, bool start)
{
    struct model_thread *before = model_current;
    struct world *world = world_enter(&thread->world);
    model_current = &thread->model;
    thread->live = NO_POINT;
    thread->runs++;
    if (start)
        coroutine_start(&thread->coroutine, body, thread);
    else
        coroutine_resume(&thread->coroutine);
    model_current = before;
    world_enter(world);
}

static uint32_t go_on(struct c_thread *thread, bool start, uint32_t from, uint64_t result)
{
    thread->ended = false;
    thread->faulted = NULL;
    thread->failure = (struct c_failure){0};
    run_on(thread, start);
    return settle(thread, from, result);
}

/* The alternative to saved stacks: the code runs again from the start, with what it has observed. */
static void run_again(struct c_thread *thread, uint32_t number)
{
    thread->n_replay = 0;
    for (uint32_t at = number; thread->points[at].from != NO_POINT; at = thread->points[at].from) {
        if (thread->n_replay == thread->replay_capacity) {
            thread->replay_capacity = thread->replay_capacity ? 2 * thread->replay_capacity : 64;
            thread->replay = xrealloc(thread->replay, thread->replay_capacity * sizeof *thread->replay);
        }
        thread->replay[thread->n_replay++] = thread->points[at].result;
    }
    world_restore(&thread->world, &(struct changes){0});
    run_on(thread, true);
}

static void put_back(struct c_thread *thread, uint32_t number)
{
    const struct point *point = &thread->points[number];
    if (thread->live != number && thread->program->code.rerun) {
        run_again(thread, number);
    } else if (thread->live != number) {
        world_restore(&thread->world, &point->changes);
        coroutine_restore(&thread->coroutine, point->image, point->image_size);
    }
    thread->meta = point->meta;
}

uint32_t c_thread_after(struct c_thread *thread, uint32_t number, uint64_t result)
{
    for (uint32_t edge = thread->points[number].edges; edge; edge = thread->edges[edge].next)
        if (thread->edges[edge].result == result)
            return thread->edges[edge].to;
    if (thread->points[number].failure)
        return number;
    put_back(thread, number);
    struct op op = thread->points[number].op;
    note_answered(&thread->meta, &op, result);
    thread->meta.number++;
    thread->answer = result;
    uint32_t to = go_on(thread, false, number, result);
    if (thread->n_edges == thread->edges_capacity) {
        thread->edges_capacity = thread->edges_capacity ? 2 * thread->edges_capacity : 64;
        thread->edges = xrealloc(thread->edges, thread->edges_capacity * sizeof *thread->edges);
        thread->n_edges += !thread->n_edges; /* number 0 is none */
    }
    thread->edges[thread->n_edges] =
        (struct edge_to){.result = result, .to = to, .next = thread->points[number].edges};
    thread->points[number].edges = thread->n_edges++;
    return to;
}

/* --- a thread --- */

static void set_up(struct c_program *program, struct c_thread *thread)
{
    const struct c_code *code = &program->code;
    world_new(&thread->world, &code->shape, thread->index);
    thread->regs = world_alloc(&thread->world, (code->n_regs[thread->index] + 1u) * sizeof *thread->regs);
    thread->model.node = &thread->world.nodes[code->shape.thread_node[thread->index]];
    struct model_thread *before = model_current;
    struct world *world = world_enter(&thread->world);
    model_current = &thread->model;
    code->setup(code->context, &thread->world);
    model_current = before;
    world_enter(world);
    world_seal(&thread->world);
}

void c_thread_start(struct c_program *program, unsigned t)
{
    struct c_thread *thread = &program->threads[t];
    *thread = (struct c_thread){.model = {.ask = ask,
                                          .locate = locate,
                                          .wait = wait_step,
                                          .wait_end = wait_end,
                                          .fault = fault,
                                          .order = order,
                                          .announces = program->code.announces},
                                .program = program,
                                .index = t,
                                .meta = {.rcas_result = PROG_NO_LOC}};
    set_up(program, thread);
    coroutine_new(&thread->coroutine, STACK);
}

void c_thread_begin(struct c_thread *thread)
{
    go_on(thread, true, NO_POINT, 0);
}

void c_thread_free(struct c_thread *thread)
{
    for (uint32_t i = 0; i < thread->n_points; i++)
        free(thread->points[i].image);
    free(thread->points);
    free(thread->edges);
    free(thread->table);
    free(thread->replay);
    feet_free(&thread->feet);
    coroutine_free(&thread->coroutine);
    world_free(&thread->world);
}
