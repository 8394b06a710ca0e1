/* Litmus tests on the weak provider: what it does against what the checker allows. Every test is played many times, each time
 * from another seed; an outcome outside of the allowed set is an error, and the share of the allowed outcomes that were seen
 * is to be high enough. Compiled with WEAK_MUTANTS: breaks one rule of the provider at a time, and some test must see that.
 *
 * usage: weak_corpus [-n ITERATIONS] [-s SHARE] [-v] TEST…
 *   -n  iterations of each test
 *   -s  percent of all tests' outcomes together that must be seen
 *   -v  a line for each test, or rule */
#include "base/arena.h"
#include "base/clock.h"
#include "fabric/weak.h"
#include "job/node.h"
#include "litmus/litmus.h"
#include "search/engine.h"
#include "tower/thread.h"

#include <remora/remora.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEAK_MUTANTS
#include "fabric/weak_mutants.h"
#endif

enum { MOST_THREADS = 16, MOST_REGS = 256, MOST_COLUMNS = 256, MOST_STATES = 200000, STACK = 64 << 10 };

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        int try_error = (call);                                                                              \
        if (try_error < 0) {                                                                                 \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, rem_strerror(try_error));          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct player {
    struct play *play;
    unsigned number, node;
    rem_thread thread;
    uint64_t *words; /* by location */
    uint32_t outstanding[PROG_MAX_NODES];
    uint64_t regs[MOST_REGS];
    bool dropped, stuck;
};

struct play {
    const struct program *program;
    rem_job jobs[REM_MAX_NODES];
    struct weak_runner *runner;
    struct player players[MOST_THREADS];
    struct weak_body bodies[MOST_THREADS];
    uint64_t *memory[REM_MAX_NODES];
    struct play *next; /* abandoned */
};

/* After a broken rule it may never come to an end, so it stays as it is. */
static struct play *abandoned;

/* --- one thread --- */

/* Work ids of the test, and those of the libraries from 255 downwards. */
static unsigned work_of(const struct op *op)
{
    return op->wid < 50 ? op->wid : REM_WORK_IDS - 1 - (PROG_MAX_WIDS - op->wid);
}

static struct fabric_op fabric_op_of(const struct player *p, const struct op *op)
{
    struct fabric_op f = {.flags = FABRIC_KNOWN, .node = op->node, .expected = op->e};
    static const unsigned short kinds[] = {[OP_PUT] = FABRIC_PUT,
                                           [OP_GET] = FABRIC_GET,
                                           [OP_RCAS] = FABRIC_RCAS,
                                           [OP_RFAA] = FABRIC_RFAA,
                                           [OP_RFENCE] = FABRIC_RFENCE};
    f.kind = kinds[op->kind];
    f.value = op->v;
    if (op->loc != PROG_NO_LOC)
        f.remote = &p->words[op->loc];
    if (op->local != PROG_NO_LOC)
        f.local = &p->words[op->local];
    else if (op->kind == OP_PUT)
        f.kind = FABRIC_PUT_VALUE;
    if (f.kind == FABRIC_PUT || f.kind == FABRIC_GET)
        f.size = sizeof(uint64_t);
    return f;
}

/* RDMA_TSO: straight to the provider. */
static void post_tso(struct player *p, const struct op *op)
{
    struct fabric_op f = fabric_op_of(p, op);
    struct rem_thread_state *state = p->thread.state;
    TRY(state->post(state->link, &f, 1));
    p->outstanding[op->node] += op->kind != OP_RFENCE;
}

static void poll_tso(struct player *p, unsigned node)
{
    struct rem_thread_state *state = p->thread.state;
    p->stuck |= p->outstanding[node] == 0;
    if (!p->stuck)
        p->outstanding[node] -= state->fabric->poll(state->link, node, 1);
}

static void post_wait(struct player *p, const struct op *op)
{
    rem_thread *thread = &p->thread;
    int node = op->node;
    uint64_t *remote = op->loc == PROG_NO_LOC ? NULL : &p->words[op->loc];
    uint64_t *local = op->local == PROG_NO_LOC ? NULL : &p->words[op->local];
    if (op->kind == OP_PUT && !local)
        TRY(rem_put_value(thread, node, remote, op->v, work_of(op)));
    else if (op->kind == OP_PUT)
        TRY(rem_put(thread, node, remote, local, sizeof *local, work_of(op)));
    else if (op->kind == OP_GET)
        TRY(rem_get(thread, local, node, remote, sizeof *local, work_of(op)));
    else if (op->kind == OP_RCAS)
        TRY(rem_rcas(thread, local, node, remote, op->e, op->v, work_of(op)));
    else if (op->kind == OP_RFAA)
        TRY(rem_rfaa(thread, local, node, remote, op->v, work_of(op)));
    else
        TRY(rem_rfence(thread, node));
}

static uint64_t await(struct player *p, const struct op *op)
{
    for (;;) {
        for (unsigned i = 0; i < (op->n_any ? op->n_any : 1); i++) {
            uint64_t value = rem_load(&p->thread, &p->words[op->n_any ? op->any[i] : op->loc]);
            if (op_compare(op->cmp, value, op->v))
                return value;
        }
        rem_pause(&p->thread);
    }
}

static uint64_t execute(struct player *p, const struct op *op)
{
    uint64_t *word = op->loc == PROG_NO_LOC ? NULL : &p->words[op->loc];
    switch (op->kind) {
    case OP_LOAD:
        return rem_load(&p->thread, word);
    case OP_STORE:
        rem_store(&p->thread, word, op->v);
        return 0;
    case OP_CAS:
        return rem_cas(&p->thread, word, op->e, op->v);
    case OP_FAA:
        return rem_faa(&p->thread, word, op->v);
    case OP_XCHG:
        return rem_xchg(&p->thread, word, op->v);
    case OP_MFENCE:
        rem_mfence(&p->thread);
        return 0;
    case OP_AWAIT:
        return await(p, op);
    case OP_POLL:
        poll_tso(p, op->node);
        return 0;
    case OP_WAIT:
        TRY(rem_wait(&p->thread, work_of(op)));
        return 0;
    default:
        (p->play->program->tso ? post_tso : post_wait)(p, op);
        return 0;
    }
}

static void run_thread(void *argument)
{
    struct player *p = argument;
    const struct program *program = p->play->program;
    uint32_t point = 0, head = 0;
    uint64_t saved[MOST_REGS];
    memset(p->regs, 0, program->n_regs[p->number] * sizeof *p->regs);
    while (!p->stuck) {
        struct op op;
        uint64_t result = 0;
        prog_next(program, p->number, &point, p->regs, &op);
        if (op.kind == OP_END)
            return;
        if (op.kind == OP_DROP) {
            p->dropped = true;
            return;
        }
        if (op.kind == OP_SPIN_BEGIN) {
            head = point;
            memcpy(saved, p->regs, sizeof saved);
        } else if (op.kind == OP_SPIN_FAIL) {
            point = head;
            memcpy(p->regs, saved, sizeof saved);
            rem_pause(&p->thread);
            continue;
        } else {
            result = execute(p, &op);
        }
        prog_observe(program, p->number, &point, p->regs, result);
    }
}

/* --- one test --- */

static void set_up(struct play *play, const struct program *program)
{
    struct rem_options options = {.heap = 1 << 20, .threads = MOST_THREADS, .provider = "weak"};
    play->program = program;
    TRY(rem_open_nodes(play->jobs, (int)program->n_nodes, &options));
    for (unsigned n = 0; n < program->n_nodes; n++) {
        struct rem_node *node = play->jobs[n].node;
        size_t offset;
        TRY(heap_take(&node->heap, program->n_locs * sizeof(uint64_t), &offset));
        play->memory[n] = (uint64_t *)(void *)(node->home + offset);
    }
    play->runner = weak_runner_new(&play->jobs[0], program->n_threads, STACK);
    for (unsigned t = 0; t < program->n_threads; t++) {
        struct player *p = &play->players[t];
        *p = (struct player){.play = play, .number = t, .node = program->thread_node[t]};
        p->words = play->memory[p->node];
        TRY(rem_attach(&play->jobs[p->node], &p->thread));
        play->bodies[t] = (struct weak_body){p->thread.state->link, run_thread, p};
    }
}

static void tear_down(struct play *play)
{
    for (unsigned t = 0; t < play->program->n_threads; t++)
        TRY(rem_detach(&play->players[t].thread));
    for (unsigned n = 0; n < play->program->n_nodes; n++)
        TRY(rem_close(&play->jobs[n]));
    weak_runner_free(play->runner);
}

/* The tests' completions are not polled to the last. All are there, but where a rule is broken. */
static void forget_completions(struct player *p)
{
    struct rem_thread_state *state = p->thread.state;
    for (unsigned n = 0; n < p->play->program->n_nodes; n++) {
        while (p->outstanding[n] && state->fabric->poll(state->link, n, 1))
            p->outstanding[n]--;
        p->outstanding[n] = 0;
    }
}

enum end { ENDED, STUCK, DROPPED };

static enum end play_once(struct play *play, uint64_t seed)
{
    const struct program *program = play->program;
    for (unsigned l = 0; l < program->n_locs; l++)
        play->memory[program->locs[l].node][l] = program->locs[l].init;
    enum end end =
        weak_run(play->runner, seed, play->bodies, program->n_threads) == WEAK_STUCK ? STUCK : ENDED;
    for (unsigned t = 0; t < program->n_threads; t++) {
        struct player *p = &play->players[t];
        end = p->stuck ? STUCK : p->dropped ? DROPPED : end;
        p->stuck = p->dropped = false;
        forget_completions(p);
    }
    return end;
}

static void observe(const struct play *play, const struct compiled *compiled, uint64_t *row)
{
    for (unsigned i = 0; i < compiled->n_observables; i++) {
        const struct observable *o = &compiled->observables[i];
        row[i] = o->is_reg ? play->players[o->thread].regs[o->index]
                           : play->memory[play->program->locs[o->index].node][o->index];
    }
}

/* --- tests --- */

struct test {
    const char *file;
    struct arena *arena;
    struct compiled compiled;
    struct result allowed;
    bool known;        /* else the test is too large */
    struct play *play; /* null: not set up */
};

struct tally {
    uint64_t iterations, stuck, forbidden, seed;
    size_t allowed, seen;
    double seconds;
};

static void abandon(struct test *test)
{
    test->play->next = abandoned;
    abandoned = test->play;
    test->play = NULL;
}

static void leave(struct test *test)
{
    if (!test->play)
        return;
    tear_down(test->play);
    free(test->play);
    test->play = NULL;
}

/* Until something is seen that may not be. */
static struct tally play_test(struct test *test, uint64_t iterations)
{
    struct play *play = test->play;
    struct tally tally = {.allowed = outcomes_count(test->allowed.states)};
    struct outcomes *seen = outcomes_new(test->compiled.n_observables);
    uint64_t row[MOST_COLUMNS];
    if (!play) {
        play = test->play = calloc(1, sizeof *play);
        set_up(play, test->compiled.program);
    }
    double start = now();
    for (uint64_t i = 0; i < iterations && !tally.forbidden; i++) {
        tally.seed = weak_run_seed(play->runner, i);
        enum end end = play_once(play, tally.seed);
        tally.iterations++;
        tally.stuck += end == STUCK;
        tally.forbidden += end == STUCK && test->allowed.stuck == 0;
        if (end != ENDED)
            continue;
        observe(play, &test->compiled, row);
        if (outcomes_has(test->allowed.states, row))
            outcomes_add(seen, row);
        else
            tally.forbidden++;
    }
    tally.seconds = now() - start;
    tally.seen = outcomes_count(seen);
    outcomes_free(seen);
    if (tally.forbidden)
        abandon(test);
    return tally;
}

static bool fits(const struct compiled *compiled)
{
    const struct program *program = compiled->program;
    if (!program || program->n_threads > MOST_THREADS || compiled->n_observables > MOST_COLUMNS)
        return false;
    for (unsigned t = 0; t < program->n_threads; t++)
        if (program->n_regs[t] > MOST_REGS)
            return false;
    return true;
}

static void read_test(struct test *test, const char *file)
{
    *test = (struct test){.file = file, .arena = arena_new()};
    struct lm_parse parse = lm_parse_file(test->arena, file);
    if (parse.test)
        test->compiled = compile_test(test->arena, parse.test, LEVEL_TSO, false);
    if (!fits(&test->compiled))
        return;
    struct query query = {test->compiled.program,
                          test->compiled.observables,
                          test->compiled.n_observables,
                          {.max_states = MOST_STATES, .jobs = 1}};
    test->allowed = explore_operational(&query, &(struct operational_options){0});
    test->known = test->allowed.completion == DONE;
}

static void forget_test(struct test *test)
{
    leave(test);
    outcomes_free(test->allowed.states);
    arena_free(test->arena);
}

struct arguments {
    uint64_t iterations;
    double share;
    bool verbose;
    char **files;
};

/* REMORA_TEST_SCALE percent of the iterations, of which no share can be expected. */
static void scale(struct arguments *a)
{
    const char *text = getenv("REMORA_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    if (percent >= 100)
        return;
    a->iterations = a->iterations * percent / 100 + 1;
    a->share = 0;
}

static struct arguments read_arguments(char **argv)
{
    struct arguments a = {.iterations = 1000};
    for (a.files = argv + 1; *a.files && (*a.files)[0] == '-'; a.files++) {
        if (strcmp(*a.files, "-n") == 0)
            a.iterations = strtoull(*++a.files, NULL, 10);
        else if (strcmp(*a.files, "-s") == 0)
            a.share = strtod(*++a.files, NULL);
        else
            a.verbose = true;
    }
    scale(&a);
    return a;
}

#ifdef WEAK_MUTANTS
/* Faults that let too much happen in the provider: those that drop something from the table, and these. */
static bool is_of_weak(enum weak_mutant mutant)
{
    switch (mutant) {
    case M2_IGNORES_WBL:
    case M4_NOT_OLDEST:
    case M6_IGNORES_WBR:
    case M8_NOT_OLDEST:
    case M9_IGNORES_WBR:
    case M9_IGNORES_ATOMIC:
    case M10_IGNORES_WBR:
    case M10_IGNORES_ATOMIC:
    case M10_ALWAYS:
    case M11_IGNORES_WBR:
    case M11_IGNORES_ATOMIC:
    case M13_NOT_OLDEST:
    case M13_FREES_EARLY:
    case M_LOAD_NOT_FORWARDED:
    case M_MFENCE_PASSES:
    case M_CAS_PASSES:
    case M_FAA_PASSES:
    case M_XCHG_PASSES:
    case M_POLL_PASSES_LW:
    case M_POLL_NEVER_BLOCKS:
    case M_FLUSH_NOT_OLDEST:
    case M_FLUSH_NIC_FIRST:
        return true;
    default:
        return weak_mutant_rows[mutant].dropped != 0;
    }
}

/* The corpus names a test of rule 6 "r06-…". */
static bool is_about(const struct test *test, unsigned rule)
{
    char start[8];
    const char *name = strrchr(test->file, '/');
    snprintf(start, sizeof start, "r%02u-", rule);
    return strncmp(name ? name + 1 : test->file, start, 4) == 0;
}

static const struct test *notices(struct test *tests, unsigned n, const struct arguments *a, unsigned rule)
{
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < n; i++)
            if (tests[i].known && is_about(&tests[i], rule) == (pass == 0) &&
                play_test(&tests[i], a->iterations).forbidden)
                return &tests[i];
    return NULL;
}

static int run_all(const struct arguments *a)
{
    unsigned n = 0, missed = 0, broken = 0;
    while (a->files[n])
        n++;
    struct test *tests = calloc(n, sizeof *tests);
    for (unsigned i = 0; i < n; i++)
        read_test(&tests[i], a->files[i]);
    for (unsigned m = NO_WEAK_MUTANT; m < WEAK_MUTANT_COUNT; m++) {
        if (m != NO_WEAK_MUTANT && !is_of_weak((enum weak_mutant)m))
            continue;
        weak_mutant_choose((enum weak_mutant)m);
        const struct test *by = notices(tests, n, a, weak_mutant_rows[m].rule);
        bool right = (by == NULL) == (m == NO_WEAK_MUTANT);
        broken += m != NO_WEAK_MUTANT;
        missed += !right;
        if (a->verbose || !right)
            printf("%s: %s\n", weak_mutant_rows[m].name, by ? by->file : "nothing notices");
    }
    printf("%u faults, %u missed\n", broken, missed);
    for (unsigned i = 0; i < n; i++)
        forget_test(&tests[i]);
    free(tests);
    return missed > 0;
}
#else
static void tell(const struct test *test, const struct arguments *a, const struct tally *t)
{
    if (t->forbidden)
        printf("%s: FORBIDDEN, or stuck, with REMORA_WEAK=seed=%llu\n", test->file,
               (unsigned long long)t->seed);
    if (a->verbose)
        printf("%s: %zu of %zu outcomes, %llu stuck, %.0f iterations/s\n", test->file, t->seen, t->allowed,
               (unsigned long long)t->stuck, (double)t->iterations / t->seconds);
}

static int run_all(const struct arguments *a)
{
    struct tally all = {0};
    unsigned tests = 0, skipped = 0;
    for (char **file = a->files; *file; file++) {
        struct test test;
        read_test(&test, *file);
        skipped += !test.known;
        if (test.known) {
            struct tally one = play_test(&test, a->iterations);
            tell(&test, a, &one);
            tests++;
            all.forbidden += one.forbidden;
            all.allowed += one.allowed;
            all.seen += one.seen;
            all.iterations += one.iterations;
            all.seconds += one.seconds;
        }
        forget_test(&test);
    }
    double share = all.allowed ? 100.0 * (double)all.seen / (double)all.allowed : 0;
    printf(
        "%u tests, %u too large; %zu of %zu allowed outcomes seen (%.2f %%); %.0f iterations/s; %llu bad\n",
        tests, skipped, all.seen, all.allowed, share, (double)all.iterations / all.seconds,
        (unsigned long long)all.forbidden);
    return all.forbidden > 0 || share < a->share || tests == 0;
}
#endif

int main(int argc, char **argv)
{
    (void)argc;
    struct arguments a = read_arguments(argv);
    return run_all(&a);
}
