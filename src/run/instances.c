/* Allocation of a test's memory on all nodes (instances.h). */
#include "run/instances.h"

#include "base/arena.h"
#include "tower/ticket.h"

static size_t whole_lines(size_t size)
{
    return (size + WORD_STEP - 1) / WORD_STEP * WORD_STEP;
}

static size_t results_size(const struct test_code *code, uint32_t count, unsigned row)
{
    return whole_lines((size_t)code->test->n_threads * count * row * sizeof(uint64_t));
}

static size_t words_size(const struct test_code *code, uint32_t count)
{
    return (size_t)code->n_words * WORD_STEP * count;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t instances_heap(const struct test_code *code, unsigned nodes, unsigned threads, uint32_t count,
                      unsigned row)
{
    size_t results = results_size(code, count, row), words = words_size(code, count);
    size_t record = 8 * (size_t)nodes * threads + TICKET_RECORD;
    size_t lock = threads * sizeof(struct rem_ticket) +
                  (record + (size_t)nodes * threads) * sizeof(uint64_t) + 2 * WORD_STEP;
    return sizeof(struct step_words) + results + words + larger(results, words) +
           lock * LOCK_COPIES * code->n_locks + (size_t)WORD_STEP * count * code->n_scs +
           WORD_STEP * ((size_t)threads + 16);
}

static int make_lock(struct instances_node *here, const struct lm_decl *decl, struct run_lock *lock)
{
    lock->kind = decl->kind;
    int home = (int)decl->node;
    return decl->kind == LM_WLOCK   ? rem_wlock_init(here->job, &lock->weak, home)
           : decl->kind == LM_SLOCK ? rem_slock_init(here->job, &lock->strong, home)
                                    : rem_nlock_init(here->job, &lock->node, home);
}

static int make_objects(struct instances *instances, struct instances_node *here)
{
    const struct test_code *code = instances->code;
    int error = rem_sv_init(here->job, &here->variable);
    for (uint32_t s = 0; s < code->n_scs && !error; s++)
        error = rem_sc_init(here->job, &here->scs[s], instances->count, (int)code->scs[s]->node);
    for (uint32_t l = 0; l < code->n_locks * LOCK_COPIES && !error; l++)
        error = make_lock(here, code->locks[l / LOCK_COPIES], &here->locks[l]);
    return error;
}

static int make_node(void *context, unsigned node)
{
    struct instances *instances = context;
    struct instances_node *here = &instances->node[node];
    size_t results = results_size(instances->code, instances->count, instances->row);
    size_t words = words_size(instances->code, instances->count);
    here->job = &instances->session->jobs[node];
    void *block = NULL;
    int error =
        rem_alloc(here->job, sizeof(struct step_words) + results + words + larger(results, words), &block);
    if (error)
        return error;
    here->step = block;
    here->results = (char *)block + sizeof(struct step_words);
    here->words = here->results + results;
    here->scratch = here->words + words;
    return make_objects(instances, here);
}

int instances_make(struct arena *arena, struct instances *instances)
{
    const struct test_code *code = instances->code;
    instances->size = (size_t)code->n_words * WORD_STEP;
    for (unsigned n = 0; n < instances->session->nodes; n++) {
        instances->node[n].scs = ARENA_ARRAY(arena, rem_sc, code->n_scs);
        instances->node[n].locks = ARENA_ARRAY(arena, struct run_lock, code->n_locks * LOCK_COPIES);
    }
    return session_together(instances->session, make_node, instances);
}

static int free_lock(struct instances_node *here, struct run_lock *lock)
{
    return lock->kind == LM_WLOCK   ? rem_wlock_destroy(here->job, &lock->weak)
           : lock->kind == LM_SLOCK ? rem_slock_destroy(here->job, &lock->strong)
                                    : rem_nlock_destroy(here->job, &lock->node);
}

static int free_node(void *context, unsigned node)
{
    struct instances *instances = context;
    struct instances_node *here = &instances->node[node];
    int error = 0;
    for (uint32_t l = 0; l < instances->code->n_locks * LOCK_COPIES && !error; l++)
        error = free_lock(here, &here->locks[l]);
    for (uint32_t s = 0; s < instances->code->n_scs && !error; s++)
        error = rem_sc_destroy(here->job, &here->scs[s]);
    if (!error)
        error = rem_sv_destroy(here->job, &here->variable);
    return error ? error : rem_free(here->job, here->step);
}

int instances_free(struct instances *instances)
{
    return session_together(instances->session, free_node, instances);
}

struct lock_memory lock_memory_of(const struct instances *instances, unsigned node, struct run_lock *lock)
{
    rem_wlock *weak = lock->kind == LM_WLOCK   ? &lock->weak
                      : lock->kind == LM_SLOCK ? &lock->strong.weak
                                               : NULL;
    struct rem_ticket_lock *tickets = weak ? &weak->tickets : &lock->node.tickets;
    size_t threads = (size_t)rem_thread_limit(instances->node[node].job);
    struct lock_memory memory = {.part = {tickets->places, weak ? weak->released : NULL}};
    memory.size[0] =
        (size_t)((char *)&tickets->words[TICKET_RECORD + tickets->record] - (char *)tickets->places);
    memory.size[1] = weak ? instances->session->nodes * threads * sizeof(uint64_t) : 0;
    return memory;
}
