/* See c_program.h: the program as a whole, and the answers to the engine's questions. */
#include "verify/c_program.h"

#include "base/arena.h"
#include "verify/c_thread.h"

#include <stdlib.h>

enum { MOST_SEARCHES = 50 };

static struct c_program *program_of(const struct program *base)
{
    return (struct c_program *)(uintptr_t)base;
}

static const struct point *point_at(const struct c_program *program, unsigned t, uint32_t point)
{
    return &program->threads[t].points[point];
}

/* --- the engine's questions --- */

static void next(const struct program *base, unsigned t, uint32_t *number, uint64_t *regs, struct op *op)
{
    const struct c_program *program = program_of(base);
    const struct point *point = point_at(program, t, *number);
    *op = point->op;
    if (point->op.kind == OP_END && point->regs)
        for (unsigned r = 0; r < base->n_regs[t]; r++)
            regs[r] = point->regs[r];
    if (point->generation > program->generation) {
        program_of(base)->dirty = true;
        *op = (struct op){.kind = OP_DROP, .loc = PROG_NO_LOC, .local = PROG_NO_LOC};
    }
}

static void observe(const struct program *base, unsigned t, uint32_t *number, uint64_t *regs, uint64_t result)
{
    (void)regs;
    *number = c_thread_after(&program_of(base)->threads[t], *number, result);
}

static const struct future *future(const struct program *base, unsigned t, uint32_t number)
{
    const struct feet *feet = &program_of(base)->threads[t].feet;
    const struct point *point = point_at(program_of(base), t, number);
    if (point->op.kind == OP_END)
        return &feet->future[C_MAX_STATEMENTS - 1][feet->n[C_MAX_STATEMENTS - 1]];
    return &feet->future[point->meta.statement][point->meta.number];
}

static const uint64_t *live(const struct program *base, unsigned t, uint32_t number)
{
    static const uint64_t none[PROG_MAX_LOCS / 64 + 1];
    static const uint64_t all[] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    return point_at(program_of(base), t, number)->op.kind == OP_END ? all : none;
}

static unsigned max_events(const struct program *base, unsigned t)
{
    (void)base;
    (void)t;
    return 0; /* asked by the declarative engine only */
}

static const char *describe(const struct program *base, uint32_t where, uint32_t *line)
{
    (void)base;
    (void)where;
    *line = 0;
    return "";
}

static const struct prog_ops c_ops = {next, observe, future, live, max_events, describe};

/* --- the program --- */

struct c_program *c_program_new(struct arena *arena, const struct c_code *code, struct c_program **handle)
{
    struct c_program *program = *handle = ARENA_NEW(arena, struct c_program);
    program->arena = arena;
    program->code = *code;
    program->threads = ARENA_ARRAY(arena, struct c_thread, code->shape.n_threads);
    program->locs = ARENA_ARRAY(arena, struct prog_loc, C_MAX_LOCS);
    program->base = (struct program){.ops = &c_ops,
                                     .n_threads = code->shape.n_threads,
                                     .n_nodes = code->flat ? 1 : code->shape.n_nodes,
                                     .locs = program->locs,
                                     .tso = true};
    for (unsigned t = 0; t < code->shape.n_threads; t++) {
        program->base.thread_node[t] = code->flat ? 0 : code->shape.thread_node[t];
        program->base.thread_class[t] = (uint8_t)t;
        program->base.n_regs[t] = code->n_regs[t];
        c_thread_start(program, t);
    }
    for (unsigned t = 0; t < code->shape.n_threads && !program->fault; t++)
        c_thread_begin(&program->threads[t]);
    return program;
}

void c_program_free(struct c_program *program)
{
    for (unsigned t = 0; t < program->code.shape.n_threads; t++)
        c_thread_free(&program->threads[t]);
}

const struct program *c_program_base(const struct c_program *program)
{
    return &program->base;
}

const char *c_program_fault(const struct c_program *program)
{
    return program->fault;
}

bool c_program_bounded(const struct c_program *program)
{
    return program->bounded;
}

void c_program_count_words(const struct c_program *program, struct word_counts *counts)
{
    for (unsigned t = 0; t < program->code.shape.n_threads; t++)
        for (unsigned i = 0; i < WORD_OPS; i++)
            if (program->threads[t].words_seen[i] > counts->words[t][i])
                counts->words[t][i] = program->threads[t].words_seen[i];
}

void c_program_words_at(const struct c_program *program, unsigned thread, uint32_t number, uint8_t *word,
                        uint8_t *words)
{
    *word = point_at(program, thread, number)->word;
    *words = point_at(program, thread, number)->words;
}

bool c_program_timed(const struct c_program *program)
{
    bool timed = false;
    for (unsigned t = 0; t < program->code.shape.n_threads; t++)
        timed |= program->threads[t].world.timed;
    return timed;
}

const struct c_failure *c_program_failure(const struct c_program *program)
{
    return program->failure;
}

struct world *c_program_world(struct c_program *program, unsigned thread)
{
    return &program->threads[thread].world;
}

unsigned c_program_location(struct c_program *program, unsigned node, size_t offset)
{
    offset &= ~(size_t)7;
    for (unsigned loc = 0; loc < program->n_locs; loc++)
        if (program->places[loc].node == node && program->places[loc].offset == offset)
            return loc;
    if (program->n_locs == C_MAX_LOCS) {
        program->fault = "more than 256 words are accessed through the library";
        return 0;
    }
    program->places[program->n_locs] = (struct place){(uint16_t)node, (uint32_t)offset};
    program->locs[program->n_locs] =
        (struct prog_loc){.name = "",
                          .node = program->code.flat ? 0 : (uint16_t)node,
                          .owner = UINT16_MAX,
                          .init = world_initial(&program->threads[0].world, node, offset)};
    return program->n_locs++;
}

unsigned c_program_word(struct c_program *program, unsigned node, const void *pointer)
{
    const struct world *world = &program->threads[0].world;
    return c_program_location(program, node,
                              (size_t)((const char *)pointer - (world->heaps + node * world->shape->heap)));
}

void c_program_place(const struct c_program *program, unsigned loc, unsigned *node, size_t *offset)
{
    *node = program->places[loc].node;
    *offset = program->places[loc].offset;
}

struct result c_program_explore(struct c_program *program, const struct query *query,
                                const struct operational_options *options)
{
    c_program_rehearse(program);
    for (unsigned i = 0;; i++) {
        feet_freeze(program);
        struct result result = explore_operational(query, options);
        if (!program->dirty || program->fault || program->failure || result.completion != DONE) {
            feet_freeze(program); /* so that everything met can be shown */
            return result;
        }
        if (i == MOST_SEARCHES) {
            program->fault = "its operations could not be learnt";
            return result;
        }
        outcomes_free(result.states);
    }
}

unsigned c_program_statement_at(const struct c_program *program, unsigned thread, uint32_t point)
{
    return point_at(program, thread, point)->meta.statement;
}

unsigned c_program_backtrace(const struct c_program *program, unsigned thread, uint32_t number,
                             void **addresses, unsigned most)
{
    const struct point *point = point_at(program, thread, number);
    return point->image ? coroutine_backtrace(&program->threads[thread].coroutine, point->image,
                                              point->image_size, addresses, most)
                        : 0;
}

uint64_t c_program_word_at(const struct c_program *program, unsigned thread, uint32_t number,
                           const void *word)
{
    return world_word(&program->threads[thread].world, &point_at(program, thread, number)->changes, word);
}

void c_program_counts(const struct c_program *program, uint64_t *points, uint64_t *runs)
{
    *points = *runs = 0;
    for (unsigned t = 0; t < program->code.shape.n_threads; t++) {
        *points += program->threads[t].n_points;
        *runs += program->threads[t].runs;
    }
}
