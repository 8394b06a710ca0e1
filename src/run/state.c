/* The initial and the final state of the instances. Memory of nodes that live in other processes is written and
 * read by put and get. */
#include "run/run_intern.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* ---- The initial state ---- */

static void write_image(const struct run *run, unsigned node, char *image)
{
    const struct test_code *code = run->code;
    for (uint64_t k = 0; k < run->size; k++) {
        char *words = image + crew_instance(run->seed, k, run->instances.count) * run->instances.size;
        for (uint32_t w = 0; w < code->n_words; w++) {
            const struct lm_decl *decl = code->words[w];
            if (decl->kind == LM_SHARED || decl->node == node)
                __atomic_store_n((uint64_t *)(void *)(words + (size_t)w * WORD_STEP), decl->init,
                                 __ATOMIC_RELAXED);
        }
    }
}

static void reset_node(struct run *run, unsigned node)
{
    const struct instances_node *here = &run->instances.node[node];
    if (session_plays(run->session, node)) {
        write_image(run, node, here->words);
        return;
    }
    const struct instances_node *own = &run->instances.node[run->self];
    write_image(run, node, own->scratch);
    if (run->instances.size)
        rem_put(&run->thread, (int)node, own->words, own->scratch, run->instances.size * run->instances.count,
                0);
    rem_wait(&run->thread, 0);
}

static void reset_scs(struct run *run)
{
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        for (uint64_t k = 0; k < run->size; k++)
            rem_sc_write(&run->thread, &run->instances.node[run->self].scs[s],
                         crew_instance(run->seed, k, run->instances.count), run->code->scs[s]->init);
}

/* A lock whose waiter has given up is made new, on every node. */
static void reset_lock(struct run *run, struct run_lock *lock)
{
    struct lock_memory memory = lock_memory_of(&run->instances, run->self, lock);
    for (unsigned part = 0; part < 2; part++)
        for (size_t at = 0; at < memory.size[part]; at += sizeof(uint64_t))
            for (unsigned n = 0; n < run->session->nodes; n++)
                rem_put_value(&run->thread, (int)n, (uint64_t *)(void *)((char *)memory.part[part] + at), 0,
                              0);
}

/* Where all nodes are here, nothing else is needed than that nothing is under way. */
static void reset_lock_here(struct run *run, uint32_t lock)
{
    for (unsigned n = 0; n < run->session->nodes; n++) {
        struct lock_memory memory = lock_memory_of(&run->instances, n, &run->instances.node[n].locks[lock]);
        for (unsigned part = 0; part < 2; part++)
            if (memory.size[part])
                memset(memory.part[part], 0, memory.size[part]);
    }
}

void run_reset_locks(struct run *run)
{
    for (uint32_t l = 0; l < run->code->n_locks * LOCK_COPIES; l++)
        if (run->session->self < 0)
            reset_lock_here(run, l);
        else
            reset_lock(run, &run->instances.node[run->self].locks[l]);
}

void run_reset(struct run *run)
{
    for (unsigned n = 0; n < run->session->nodes; n++)
        reset_node(run, n);
    reset_scs(run);
}

/* ---- The final state ---- */

/* Of another process's memory. */
static void fetch(struct run *run, unsigned node, char *copy, char *remote, size_t size)
{
    char *scratch = run->instances.node[run->self].scratch;
    if (size == 0)
        return;
    rem_get(&run->thread, scratch, (int)node, remote, size, 0);
    rem_wait(&run->thread, 0);
    memcpy(copy, scratch, size);
}

static void read_final(struct run *run)
{
    const struct instances *instances = &run->instances;
    struct instances_node *own = &run->instances.node[run->self];
    for (unsigned n = 0; n < run->session->nodes; n++)
        if (!session_plays(run->session, n)) {
            fetch(run, n, run->final.words[n], own->words, instances->size * instances->count);
            fetch(run, n, run->final.results[n], own->results, instances_results_size(instances));
        }
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        for (uint64_t k = 0; k < run->size; k++) {
            uint32_t i = crew_instance(run->seed, k, instances->count);
            rem_sc_read(&run->thread, &own->scs[s], i, &run->final.scs[s][i]);
        }
}

/* What is played here is read where it is. */
void run_make_final(struct run *run)
{
    const struct instances *instances = &run->instances;
    for (unsigned n = 0; n < run->session->nodes; n++) {
        bool here = session_plays(run->session, n);
        run->final.words[n] = here ? instances->node[n].words
                                   : ARENA_ARRAY(run->arena, char, instances->size * instances->count + 1);
        run->final.results[n] = here ? instances->node[n].results
                                     : ARENA_ARRAY(run->arena, char, instances_results_size(instances));
    }
    run->final.scs = ARENA_ARRAY(run->arena, uint64_t *, run->code->n_scs);
    for (uint32_t s = 0; s < run->code->n_scs; s++)
        run->final.scs[s] = ARENA_ARRAY(run->arena, uint64_t, instances->count);
}

static const uint64_t *result_in(const struct run *run, unsigned thread, uint32_t i)
{
    size_t row = (size_t)thread * run->instances.count + i;
    return (const uint64_t *)(void *)run->final.results[run->test->threads[thread].node] +
           row * run->instances.row;
}

static uint64_t value_in(const struct run *run, const struct column *column, uint32_t i)
{
    switch (column->kind) {
    case IN_RESULT:
        return result_in(run, column->thread, i)[column->offset];
    case IN_MEMORY:
        return __atomic_load_n(
            (uint64_t *)(void *)(run->final.words[column->node] + i * run->instances.size + column->offset),
            __ATOMIC_RELAXED);
    case IN_SC:
        return run->final.scs[column->offset][i];
    }
    return 0;
}

static void count_instance(struct run *run, uint32_t i)
{
    bool dropped = false, stuck = false;
    for (unsigned t = 0; t < run->test->n_threads; t++) {
        uint64_t ending = result_in(run, t, i)[0];
        if (ending == 0 || ending == FAILED)
            return;
        dropped |= ending == DROPPED;
        stuck |= ending == STUCK;
    }
    run->result->iterations++;
    run->result->dropped += dropped;
    run->result->stuck += stuck && !dropped;
    run->gave_up |= stuck;
    if (dropped || stuck)
        return;
    for (unsigned c = 0; c < run->verdict->n_columns; c++)
        run->row[c] = value_in(run, &run->columns[c], i);
    struct histogram *seen = run->result->seen;
    size_t number = histogram_add(seen, run->row, run->seed);
    if (seen->counts[number] > 1)
        return;
    bool allowed = outcomes_has(run->verdict->states, run->row);
    run->allowed_seen += allowed;
    run->seen_forbidden |= !allowed;
}

void run_count(struct run *run)
{
    read_final(run);
    run->gave_up = false;
    for (uint64_t k = 0; k < run->size; k++)
        count_instance(run, crew_instance(run->seed, k, run->instances.count));
}
