/* See run_story.h. */
#include "verify/run_story.h"

#include "base/arena.h"
#include "search/origins.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((uint32_t)NO_ORIGIN == (uint32_t)NO_OPERATION, "operations are what origins are told by");

bool operation_is_remote(const struct operation *o)
{
    unsigned kind = o->local->kind;
    return kind == OP_PUT || kind == OP_GET || kind == OP_RCAS || kind == OP_RFAA;
}

unsigned operation_far(const struct operation *o)
{
    return entry_loc(o->local->entry);
}

unsigned operation_near(const struct operation *o)
{
    return entry_kind(o->local->entry) == E_PUT_INLINE ? PROG_NO_LOC : entry_local(o->local->entry);
}

/* --- the steps, and those behind the end --- */

/* Any step of a network card or store buffer; false: nothing is on its way any more. */
static bool silent_step(struct machine *m, const uint8_t *state, struct step *step)
{
    struct step *steps = xmalloc((machine_steps_bound(m, state) + 1) * sizeof *steps);
    unsigned n = machine_steps(m, state, steps), i = 0;
    while (i < n && steps[i].rule == RULE_CPU)
        i++;
    if (i < n)
        *step = steps[i];
    free(steps);
    return i < n;
}

static void take_steps(struct arena *arena, struct story *story)
{
    enum { MOST_BEHIND = 1000 };
    const struct run *run = story->run;
    unsigned capacity = run->n + MOST_BEHIND;
    story->n_steps = story->n_all = run->n - 1;
    story->states = ARENA_ARRAY(arena, uint8_t *, capacity + 1);
    story->steps = ARENA_ARRAY(arena, struct step, capacity);
    memcpy(story->states, run->states, run->n * sizeof *run->states);
    memcpy(story->steps, run->steps, story->n_steps * sizeof *run->steps);
    struct step step;
    while (story->n_all < capacity && silent_step(story->machine, story->states[story->n_all], &step)) {
        const uint8_t *last = story->states[story->n_all];
        size_t size = state_size(story->machine, last);
        uint8_t *next = arena_alloc(arena, size + STEP_GROWTH);
        memcpy(next, last, size);
        if (machine_apply(story->machine, next, step) != EFFECT_OK)
            break;
        story->steps[story->n_all++] = step;
        story->states[story->n_all] = next;
    }
    story->told = ARENA_ARRAY(arena, bool, capacity);
    story->with = ARENA_ARRAY(arena, uint32_t, capacity);
    story->numbers = ARENA_ARRAY(arena, unsigned, capacity);
    story->operation = ARENA_ARRAY(arena, uint32_t, capacity);
    story->operations = ARENA_ARRAY(arena, struct operation, capacity);
    story->in_part = ARENA_ARRAY(arena, uint32_t, story->machine->n_threads);
    for (unsigned thread = 0; thread < story->machine->n_threads; thread++)
        story->in_part[thread] = NO_OPERATION;
}

/* A step that only moves an operation on inside the network card, without reading or writing memory, is not told. */
static bool is_told(const struct story *story, uint32_t at)
{
    const struct machine *m = story->machine;
    struct step step = story->steps[at];
    const uint8_t *before = story->states[at];
    switch ((enum rule)step.rule) {
    case RULE_CPU:
    case RULE_GET_READ:
    case RULE_RCAS_FAIL:
    case RULE_RCAS:
    case RULE_RFAA:
    case RULE_PUT_LAND:
    case RULE_ATOMIC_LAND:
    case RULE_LOCAL_LAND:
        return true;
    case RULE_FLUSH:
        return entry_kind(get_entries(m, before)[*buffer_of(m, before, step.thread)]) == E_STORE;
    case RULE_PUT_READ:
        return entry_kind(get_entries(m, before)[get_ends(m, before)[m->qps[step.qp].fifo] + step.at]) ==
               E_PUT;
    default:
        return false;
    }
}

/* --- what belongs to what --- */

/* The own store, still in B, that serves the load. */
static uint32_t forwarded_from(const struct origins *origins, const uint8_t *before, unsigned thread,
                               unsigned loc)
{
    const struct machine *m = origins->machine;
    const uint16_t *ends = buffer_of(m, before, thread);
    for (unsigned i = ends[1]; i-- > ends[0];)
        if (entry_kind(get_entries(m, before)[i]) == E_STORE && entry_loc(get_entries(m, before)[i]) == loc)
            return origins->of[i];
    return NO_OPERATION;
}

/* The words of one put or get are asked for one after the other. */
static void note_words(struct story *story, const struct c_program *program, struct operation *o)
{
    uint32_t number = (uint32_t)(o - story->operations), before = story->in_part[o->thread];
    c_program_words_at(program, o->thread, o->local->point, &o->word, &o->words);
    o->whole = before == NO_OPERATION ? number : story->operations[before].whole;
    o->nth = before == NO_OPERATION ? 1 : (uint8_t)(story->operations[before].nth + 1);
    story->in_part[o->thread] = o->nth < o->words ? number : NO_OPERATION;
}

static void begin_operation(struct story *story, const struct c_program *program,
                            const struct origins *origins, uint32_t at)
{
    struct machine *m = story->machine;
    const uint8_t *before = story->states[at];
    unsigned thread = story->steps[at].thread;
    struct operation *o = &story->operations[story->n_operations++];
    *o = (struct operation){.local = local_of(m, before, thread),
                            .thread = thread,
                            .step = at,
                            .read = NOT_AT_ALL,
                            .write = NOT_AT_ALL,
                            .result = NOT_AT_ALL,
                            .forwarded = NO_OPERATION,
                            .polled = NO_OPERATION};
    note_words(story, program, o);
    switch (o->local->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        o->read = at;
        o->value_read = machine_value(m, machine_load(m, before, thread, o->local->loc));
        o->forwarded = forwarded_from(origins, before, thread, o->local->loc);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        o->read = at;
        o->value_read = machine_value(m, get_memory(m, before)[o->local->loc]);
        o->value_written = machine_value(m, get_memory(m, story->states[at + 1])[o->local->loc]);
        if (o->local->kind != OP_CAS || o->value_read == machine_value(m, o->local->e))
            o->write = at;
        break;
    case OP_POLL:
    case OP_MFENCE:
        o->read = at;
        break;
    default:
        break;
    }
}

static void note_write(struct story *story, struct operation *o, uint32_t at, unsigned loc)
{
    o->write = at;
    o->value_written = machine_value(story->machine, get_memory(story->machine, story->states[at + 1])[loc]);
}

/* A silent step of the operation. */
static void note_step(struct story *story, struct operation *o, uint32_t at)
{
    const struct machine *m = story->machine;
    switch ((enum rule)story->steps[at].rule) {
    case RULE_FENCE:
        o->read = at;
        break;
    case RULE_PUT_READ:
        o->read = at;
        if (operation_near(o) != PROG_NO_LOC)
            o->value_read = machine_value((struct machine *)(uintptr_t)m,
                                          get_memory(m, story->states[at])[operation_near(o)]);
        break;
    case RULE_GET_READ:
    case RULE_RCAS_FAIL:
    case RULE_RCAS:
    case RULE_RFAA:
        o->read = at;
        o->value_read = machine_value(m, get_memory(m, story->states[at])[operation_far(o)]);
        break;
    case RULE_PUT_LAND:
    case RULE_ATOMIC_LAND:
        note_write(story, o, at, operation_far(o));
        break;
    case RULE_LOCAL_LAND:
        o->result = at;
        break;
    case RULE_FLUSH:
        if (o->local->kind == OP_STORE)
            note_write(story, o, at, o->local->loc);
        break;
    default:
        break;
    }
}

static void follow(struct story *story, const struct c_program *program)
{
    struct origins origins = {.machine = story->machine};
    for (uint32_t at = 0; at < story->n_all; at++) {
        struct step step = story->steps[at];
        uint32_t new = story->n_operations;
        story->told[at] = at < story->n_steps && is_told(story, at);
        story->with[at] = at;
        if (step.rule == RULE_CPU)
            begin_operation(story, program, &origins, at);
        uint32_t of = origins_follow(&origins, story->states[at], story->states[at + 1], step, new);
        story->operation[at] = step.rule == RULE_CPU ? new : of;
        if (step.rule != RULE_CPU)
            note_step(story, &story->operations[of], at);
        else if (story->operations[new].local->kind == OP_POLL && of != NO_ORIGIN) {
            story->operations[new].polled = of;
            story->operations[new].landed = story->operations[of].write != NOT_AT_ALL;
        }
    }
    origins_free(&origins);
}

/* --- what is on its way at the end --- */

static bool is_behind(const struct story *story, uint32_t step)
{
    return step != NOT_AT_ALL && step >= story->n_steps;
}

static void find_on_its_way(struct arena *arena, struct story *story)
{
    story->on_its_way = ARENA_ARRAY(arena, uint32_t, story->n_operations + 1);
    for (uint32_t i = 0; i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        if (is_behind(story, o->write) || is_behind(story, o->result) || is_behind(story, o->read))
            story->on_its_way[story->n_on_its_way++] = i;
    }
}

struct story *story_of(struct arena *arena, struct machine *machine, const struct c_program *program,
                       const struct run *run)
{
    struct story *story = ARENA_NEW(arena, struct story);
    *story = (struct story){.run = run, .machine = machine};
    take_steps(arena, story);
    follow(story, program);
    find_on_its_way(arena, story);
    return story;
}

/* --- telling --- */

void story_hide(struct story *story, uint32_t step, uint32_t with)
{
    story->told[step] = false;
    story->with[step] = with;
}

void story_number(struct story *story)
{
    unsigned n = 0;
    for (uint32_t at = 0; at < story->n_all; at++)
        story->numbers[at] = story->told[at] ? ++n : 0;
    for (uint32_t at = 0; at < story->n_steps; at++)
        if (!story->told[at])
            story->numbers[at] = story->numbers[story->with[at]];
    for (uint32_t i = 0; i < story->n_operations; i++)
        story->operations[i].number = story->numbers[story->operations[i].step];
}

/* --- what comes in between --- */

unsigned story_written(const struct story *story, uint32_t at)
{
    const struct operation *o = &story->operations[story->operation[at]];
    if (o->write == at)
        return operation_is_remote(o) ? operation_far(o) : o->local->loc;
    return o->result == at ? operation_near(o) : (unsigned)PROG_NO_LOC;
}

uint32_t story_between(const struct story *story, uint32_t at)
{
    unsigned loc = story_written(story, at);
    for (uint32_t i = 0; loc != PROG_NO_LOC && i < story->n_operations; i++) {
        const struct operation *o = &story->operations[i];
        bool atomic = o->local->kind == OP_RCAS || o->local->kind == OP_RFAA;
        if (atomic && operation_far(o) == loc && o->read < at && at < o->write && o->write != NOT_AT_ALL)
            return i;
    }
    return NO_OPERATION;
}
