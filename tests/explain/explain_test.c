/* Explanations of every outcome of the corpus, and of outcomes that do not occur, stand up to their check; so
 * do those of random programs. And the check notices what is wrong. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "search/explain.h"
#include "search/generate.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything about one test. */
struct subject {
    struct arena *arena;
    const char *name;
    struct query query;
    struct outcomes *states;
};

struct wanted {
    const uint64_t *row;
    unsigned n;
};

static bool is_row(void *context, const uint64_t *row)
{
    const struct wanted *wanted = context;
    return memcmp(row, wanted->row, wanted->n * sizeof *row) == 0;
}

static unsigned scale(unsigned full)
{
    const char *text = getenv("REMORA_TEST_SCALE");
    unsigned percent = text ? (unsigned)atoi(text) : 100;
    return full * percent / 100 ? full * percent / 100 : 1;
}

static bool subject_of(struct subject *s, struct arena *arena, const struct lm_test *test)
{
    struct compiled client = compile_test(arena, test, LEVEL_CLIENT, false);
    if (!client.program)
        return false;
    *s = (struct subject){.arena = arena,
                          .name = test->name,
                          .query = {.program = client.program,
                                    .observables = client.observables,
                                    .n_observables = client.n_observables,
                                    .limits = {.jobs = 1, .max_states = 200000}}};
    struct result result = explore_declarative(&s->query);
    s->states = result.states;
    if (result.completion != DONE)
        outcomes_free(result.states);
    return result.completion == DONE;
}

static struct explanation explain_row(const struct subject *s, const uint64_t *row)
{
    struct wanted wanted = {row, s->query.n_observables};
    return explain(s->arena, &s->query, is_row, &wanted);
}

static void must_stand(const struct subject *s, const struct explanation *e)
{
    const char *wrong = explanation_check(s->arena, e);
    if (wrong)
        fail_msg("%s: %s", s->name, wrong);
}

static void explain_states(const struct subject *s, size_t most)
{
    size_t count = outcomes_count(s->states), step = count > most ? count / most : 1;
    for (size_t i = 0; i < count; i += step) {
        struct explanation e = explain_row(s, outcomes_row(s->states, i));
        if (e.verdict != EXPLAINED_ALLOWED)
            fail_msg("%s: an outcome is not explained as allowed", s->name);
        must_stand(s, &e);
    }
}

/* Combinations of values that do occur, each somewhere: what they may be together is the question. */
static void explain_others(const struct subject *s, unsigned tries, uint64_t seed)
{
    size_t count = outcomes_count(s->states);
    unsigned n = s->query.n_observables;
    uint64_t *row = ARENA_ARRAY(s->arena, uint64_t, n + 1);
    for (unsigned k = 0; k < tries && count > 1; k++) {
        for (unsigned i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            row[i] = outcomes_row(s->states, (seed >> 33) % count)[i];
        }
        struct explanation e = explain_row(s, row);
        bool is_state = outcomes_has(s->states, row);
        if (is_state ? e.verdict != EXPLAINED_ALLOWED
                     : e.verdict != EXPLAINED_FORBIDDEN && e.verdict != EXPLAINED_NO_VALUES &&
                           (e.verdict != EXPLAINED_NO_CYCLE || e.all_candidates))
            fail_msg("%s: an outcome is explained as %d", s->name, (int)e.verdict);
        must_stand(s, &e);
    }
}

/* --- the corpus --- */

static unsigned corpus_tests;

static int explain_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    size_t length = strlen(path);
    if (kind != FTW_F || length < 7 || strcmp(path + length - 7, ".litmus") != 0)
        return 0;
    struct arena *arena = arena_new();
    struct lm_parse parsed = lm_parse_file(arena, path);
    struct subject subject;
    if (parsed.test && subject_of(&subject, arena, parsed.test)) {
        explain_states(&subject, scale(100));
        explain_others(&subject, scale(10), corpus_tests);
        outcomes_free(subject.states);
        corpus_tests++;
    }
    arena_free(arena);
    return 0;
}

static void test_corpus(void **state)
{
    (void)state;
    const char *source = getenv("SOURCE");
    char *folder = NULL;
    assert_true(asprintf(&folder, "%s/litmus", source ? source : ".") > 0);
    assert_int_equal(nftw(folder, explain_file, 16, FTW_PHYS), 0);
    free(folder);
    assert_true(corpus_tests > 200);
}

/* --- random programs --- */

static void explain_random(enum lm_arch arch, bool libraries, unsigned count)
{
    for (unsigned seed = 0; seed < count; seed++) {
        struct arena *arena = arena_new();
        struct generate_options options = {
            .arch = arch, .threads = 2 + seed % 2, .ops = 3, .nodes = 3, .libraries = libraries};
        struct subject subject;
        if (subject_of(&subject, arena, generate_test(arena, &options, seed))) {
            explain_states(&subject, 10);
            explain_others(&subject, 5, seed);
            outcomes_free(subject.states);
        }
        arena_free(arena);
    }
}

static void test_random_tso(void **state)
{
    (void)state;
    explain_random(LM_RDMA_TSO, false, scale(150));
}

static void test_random_wait(void **state)
{
    (void)state;
    explain_random(LM_RDMA_WAIT, false, scale(150));
}

static void test_random_libraries(void **state)
{
    (void)state;
    explain_random(LM_RDMA_WAIT, true, scale(150));
}

/* --- the check notices --- */

static const char allowed_text[] =
    "RDMA_WAIT allowed\n"
    "{ node 0: x, a, b; node 1: y; nlock l on 1; }\n"
    "P0 on 0 { acquire(l); put(y, 1, d); rfaa(a, y, 1, d); release(l); wait(d); "
    "r0 = a; x = 1; }\n"
    "P1 on 0 { acquire(l); rfaa(b, y, 2, d); wait(d); release(l); r0 = b; x = 2; }\n"
    "exists (x = 1 /\\ y = 4)\n";
static const char forbidden_text[] = "RDMA_WAIT forbidden\n"
                                     "{ node 0: x; node 1: y; }\n"
                                     "P0 on 0 { x = 1; mfence(); r0 = x; put(y, 1, d); put(y, 2, d); }\n"
                                     "P1 on 1 { r0 = y; r1 = y; }\n"
                                     "~exists (1:r0 = 2 /\\ 1:r1 = 1)\n";

/* The outcome in which the observables have these values, in their order. */
static struct explanation explanation_of(struct subject *s, struct arena *arena, const char *text,
                                         const uint64_t *row)
{
    struct lm_parse parsed = lm_parse_text(arena, "test", text, strlen(text));
    assert_non_null(parsed.test);
    assert_true(subject_of(s, arena, parsed.test));
    outcomes_free(s->states);
    struct explanation e = explain_row(s, row);
    must_stand(s, &e);
    return e;
}

static void must_fall(struct arena *arena, const struct explanation *e, const char *what, unsigned which)
{
    if (!explanation_check(arena, e))
        fail_msg("%s %u: the check does not notice", what, which);
}

static struct edge *copy_edges(struct arena *arena, struct explanation *e)
{
    struct edge *edges = ARENA_ARRAY(arena, struct edge, e->n_edges + 1);
    memcpy(edges, e->edges, e->n_edges * sizeof *edges);
    e->edges = edges;
    return edges;
}

static struct event *copy_events(struct arena *arena, struct explanation *e)
{
    struct event *events = ARENA_ARRAY(arena, struct event, e->n_events);
    memcpy(events, e->events, e->n_events * sizeof *events);
    e->events = events;
    return events;
}

static bool is_chosen(const struct edge *edge)
{
    return edge->kind == EDGE_MO || edge->kind == EDGE_NFO || edge->kind == EDGE_RAO || edge->kind == EDGE_LO;
}

static void test_wrong_orders(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct subject s;
    struct explanation good = explanation_of(&s, arena, allowed_text, (uint64_t[]){1, 4});
    unsigned kinds = 0;
    assert_int_equal(good.verdict, EXPLAINED_ALLOWED);
    for (unsigned i = 0; i < good.n_edges; i++) {
        if (!is_chosen(&good.edges[i]))
            continue;
        kinds |= 1u << good.edges[i].kind;
        struct explanation e = good;
        struct edge *edges = copy_edges(arena, &e);
        edges[i] = edges[--e.n_edges];
        must_fall(arena, &e, "missing order", i);
        e = good;
        edges = copy_edges(arena, &e);
        edges[e.n_edges++] = (struct edge){.from = edges[i].to, .to = edges[i].from, .kind = edges[i].kind};
        must_fall(arena, &e, "both orders", i);
    }
    assert_int_equal(kinds, 1u << EDGE_MO | 1u << EDGE_NFO | 1u << EDGE_RAO | 1u << EDGE_LO);
    arena_free(arena);
}

static void test_wrong_events(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct subject s;
    struct explanation good = explanation_of(&s, arena, allowed_text, (uint64_t[]){1, 4});
    for (unsigned i = 0; i < good.n_events; i++) {
        struct explanation e = good;
        struct event *event = &copy_events(arena, &e)[i];
        event->type = (uint8_t)(event->type ? event->type - 1 : 1);
        must_fall(arena, &e, "stamp", i);
        e = good;
        event = &copy_events(arena, &e)[i];
        if (event->writes) {
            event->written += 7;
            must_fall(arena, &e, "written value", i);
        }
        e = good;
        event = &copy_events(arena, &e)[i];
        if (event->reads) {
            event->read += 7;
            must_fall(arena, &e, "read value", i);
        }
    }
    struct explanation e = good;
    e.row = (uint64_t[]){2, 4};
    must_fall(arena, &e, "outcome", 0);
    arena_free(arena);
}

static void test_wrong_cycles(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct subject s;
    struct explanation good = explanation_of(&s, arena, forbidden_text, (uint64_t[]){2, 1});
    assert_int_equal(good.verdict, EXPLAINED_FORBIDDEN);
    assert_true(good.n_cycle >= 2);
    for (unsigned i = 0; i < good.n_cycle; i++) {
        struct cycle_step *steps = ARENA_ARRAY(arena, struct cycle_step, good.n_cycle);
        struct explanation e = good;
        e.cycle = steps;
        memcpy(steps, good.cycle, good.n_cycle * sizeof *steps);
        steps[i].edge.kind = steps[i].edge.kind == EDGE_MO ? EDGE_NFO : EDGE_MO;
        must_fall(arena, &e, "kind of step", i);
        memcpy(steps, good.cycle, good.n_cycle * sizeof *steps);
        memmove(steps + i, steps + i + 1, (good.n_cycle - i - 1) * sizeof *steps);
        e.n_cycle--;
        must_fall(arena, &e, "missing step", i);
        memcpy(steps, good.cycle, good.n_cycle * sizeof *steps);
        e.n_cycle = good.n_cycle;
        steps[i].issued = !steps[i].issued;
        e.cycle_of_issue_order = true;
        must_fall(arena, &e, "order of step", i);
    }
    arena_free(arena);
}

/* A consistent execution passed off as one in which a read is older. */
static void test_inconsistent(void **state)
{
    (void)state;
    static const char text[] =
        "RDMA_WAIT order\n{ node 0: x; }\nP0 on 0 { x = 1; x = 2; }\nP1 on 0 { r0 = x; "
        "r1 = x; }\nexists (1:r0 = 1 /\\ 1:r1 = 1)\n";
    struct arena *arena = arena_new();
    struct subject s;
    struct explanation e = explanation_of(&s, arena, text, (uint64_t[]){1, 1});
    struct event *events = copy_events(arena, &e);
    for (unsigned i = 0; i < e.n_events; i++)
        if (events[i].reads && i + 1 < e.n_events && events[i + 1].reads) {
            for (unsigned w = 0; w < e.n_events; w++)
                if (events[w].writes && events[w].written == 2)
                    events[i].rf = (int16_t)w;
            events[i].read = 2;
        }
    e.row = (uint64_t[]){2, 1};
    const char *wrong = explanation_check(arena, &e);
    assert_non_null(wrong);
    assert_string_equal(wrong, "happens-before has a cycle");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),       cmocka_unit_test(test_random_tso),
        cmocka_unit_test(test_random_wait),  cmocka_unit_test(test_random_libraries),
        cmocka_unit_test(test_wrong_orders), cmocka_unit_test(test_wrong_events),
        cmocka_unit_test(test_wrong_cycles), cmocka_unit_test(test_inconsistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
