/* See judge.h. The C code is explored down to RDMA-TSO by the operational engine, the client under the
 * specification by the declarative one; the outcomes of the first must be among those of the second. */
#include "verify/judge.h"

#include "base/arena.h"
#include "base/clock.h"
#include "search/judge.h"
#include "search/stuck.h"

#include <string.h>

const char *verify_verdict_name(enum verify_verdict verdict)
{
    static const char *const names[] = {"sound", "bounded-sound", "violated", "unknown"};
    return names[verdict];
}

static struct verify_result unknown(struct verify_result result, const char *why)
{
    result.verdict = VERIFY_UNKNOWN;
    result.why = why;
    return result;
}

static void violated(struct verify_result *result, enum verify_fault fault, const char *why)
{
    result->verdict = VERIFY_VIOLATED;
    result->fault = fault;
    result->why = why;
}

/* What the C code does by itself, whatever the specification says. */
static void judge_code(struct verify_result *result, const struct client *client, const struct result *code)
{
    const struct c_program *program = client->program;
    if (c_program_failure(program))
        violated(result, FAULT_CALL, c_program_failure(program)->message);
    else if (c_program_fault(program))
        *result = unknown(*result, c_program_fault(program));
    else if (code->completion != DONE)
        *result = unknown(*result, completion_words(code));
    else if (code->stuck && !test_can_get_stuck(client->test))
        violated(result, FAULT_STUCK, "it can get stuck");
    else
        result->verdict = c_program_bounded(program) ? VERIFY_BOUNDED : VERIFY_SOUND;
}

static void compare(struct arena *arena, struct verify_result *result, const struct outcomes *code,
                    const struct result *allowed, unsigned n)
{
    for (size_t i = 0; i < outcomes_count(code); i++) {
        const uint64_t *row = outcomes_row(code, i);
        if (outcomes_has(allowed->states, row))
            continue;
        if (allowed->completion != DONE) {
            *result = unknown(*result, completion_words(allowed));
            continue;
        }
        violated(result, FAULT_OUTCOME, "an outcome that the specification forbids");
        result->row = ARENA_ARRAY(arena, uint64_t, n + 1u);
        memcpy(result->row, row, n * sizeof *row);
        return;
    }
}

static void ask_specification(struct arena *arena, struct verify_result *result, const struct lm_test *test,
                              bool tso, const struct limits *limits, const struct outcomes *code)
{
    struct compiled compiled = compile_test(arena, test, tso ? LEVEL_TSO : LEVEL_CLIENT, true);
    if (!compiled.program) {
        *result = unknown(*result, compiled.why);
        return;
    }
    struct query query = {.program = compiled.program,
                          .observables = compiled.observables,
                          .n_observables = compiled.n_observables,
                          .limits = *limits};
    double start = now();
    struct operational_options options = {0};
    struct result allowed = tso ? explore_operational(&query, &options) : explore_declarative(&query);
    result->seconds_specification = now() - start;
    result->executions = allowed.explored;
    result->allowed = outcomes_count(allowed.states);
    compare(arena, result, code, &allowed, compiled.n_observables);
    outcomes_free(allowed.states);
}

struct verify_result verify_client(struct arena *arena, const struct lm_test *test,
                                   const struct verify_options *options)
{
    struct verify_result result = {0};
    struct limits limits = options->limits;
    double start = now();
    if (options->timeout > 0)
        limits.deadline = start + options->timeout;
    struct client client;
    const char *why = options->over_shm ? shm_client_new(arena, &client, test, &options->client)
                                        : client_new(arena, &client, test, &options->client);
    if (why && client.program && c_program_failure(client.program))
        why = NULL;
    if (why) {
        if (client.program)
            c_program_free(client.program);
        return unknown(result, why);
    }
    struct query query = {.program = c_program_base(client.program),
                          .observables = client.observables,
                          .n_observables = client.n_observables,
                          .limits = limits};
    struct result code = c_program_explore(client.program, &query, &(struct operational_options){0});
    result.seconds_c = now() - start;
    result.states = code.explored;
    result.outcomes = outcomes_count(code.states);
    uint64_t runs;
    c_program_counts(client.program, &result.points, &runs);
    judge_code(&result, &client, &code);
    if (result.verdict == VERIFY_SOUND || result.verdict == VERIFY_BOUNDED)
        ask_specification(arena, &result, test, options->over_shm, &limits, code.states);
    outcomes_free(code.states);
    c_program_free(client.program);
    return result;
}
