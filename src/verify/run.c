/* See run.h. */
#include "verify/run.h"

#include "base/arena.h"
#include "litmus/litmus.h"
#include "verify/run_tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct whole {
    struct arena *arena;
    FILE *out;
};

static const char *location_name(struct arena *arena, const void *client, unsigned loc)
{
    return client_location_name(arena, client, loc);
}

static bool is_result(const void *client, unsigned loc)
{
    return client_is_result(client, loc);
}

static enum place_word place_word(const void *client, unsigned loc)
{
    return client_place_word(client, loc);
}

static const char *held(const void *client, unsigned thread, uint32_t point, unsigned number,
                        uint64_t *ticket)
{
    return client_held(client, thread, point, number, ticket);
}

static const char *statement_text(struct arena *arena, const void *context, unsigned thread, unsigned number)
{
    const struct client *client = context;
    const struct lm_stmt *s = client_statement(client, thread, number);
    return s ? lm_print_stmt(arena, client->test, thread, s) : NULL;
}

static const char *outcome_text(struct arena *arena, struct lm_test *test, const uint64_t *row,
                                bool condition)
{
    struct lm_atom *atoms;
    unsigned n = observed_atoms(arena, test, true, &atoms);
    const char *text = "";
    for (unsigned i = 0; i < n; i++)
        text = arena_printf(arena, "%s%s%s=%" PRIu64, text, i ? condition ? " /\\ " : "; " : "",
                            lm_print_atom(arena, test, &atoms[i]), row[i]);
    return text;
}

/* The client, asking for what is wrong with it. That threads wait for ever, or calls fail, no condition says. */
static const char *litmus_text(struct arena *arena, struct lm_test *test, const struct verify_result *result)
{
    const char *text = lm_print_test(arena, test);
    const char *question = strstr(text, "exists (");
    if (!question)
        return text;
    int before = (int)(question - text);
    switch (result->fault) {
    case FAULT_OUTCOME:
        return arena_printf(arena, "%.*s~exists (%s)\n", before, text,
                            outcome_text(arena, test, result->row, true));
    case FAULT_STUCK:
        return arena_printf(arena, "%.*s(* No thread may wait for ever. *)\n%s", before, text, question);
    case FAULT_CALL:
        return arena_printf(arena, "%.*s(* No call may fail. *)\n%s", before, text, question);
    default:
        return text;
    }
}

static const char *in_words(struct arena *arena, struct lm_test *test, const struct verify_result *result)
{
    switch (result->fault) {
    case FAULT_OUTCOME:
        return arena_printf(arena, "The C code can end in a state that the specification forbids:\n  %s\n",
                            outcome_text(arena, test, result->row, false));
    case FAULT_STUCK:
        return "The C code can get stuck: threads wait for ever for what nobody will do.\n";
    case FAULT_CALL:
        return arena_printf(arena, "A call fails: %s.\n", result->why);
    default:
        return "Nothing was found this time.\n";
    }
}

static void tell(struct whole *t, struct lm_test *test, const struct verify_options *options,
                 const struct verify_result *result)
{
    struct client client;
    const char *none = options->over_shm ? shm_client_new(t->arena, &client, test, &options->client)
                                         : client_new(t->arena, &client, test, &options->client);
    if (none && !c_program_failure(client.program))
        return;
    struct query query = {.program = c_program_base(client.program),
                          .observables = client.observables,
                          .n_observables = client.n_observables,
                          .limits = options->limits};
    struct result again = c_program_explore(client.program, &query, &(struct operational_options){0});
    outcomes_free(again.states);
    const struct c_failure *failure = c_program_failure(client.program);
    struct run_goal goal = {.query = &query, .row = result->row, .stuck = result->fault == FAULT_STUCK};
    if (failure) {
        goal.failed = true;
        goal.thread = failure->thread;
        goal.point = failure->point;
    }
    const struct run_names names = {.context = &client,
                                    .program = client.program,
                                    .location = location_name,
                                    .is_result = is_result,
                                    .place_word = options->over_shm ? NULL : place_word,
                                    .held = options->over_shm ? NULL : held,
                                    .statement = statement_text};
    run_tell(t->out, t->arena, &names, &query, &goal);
    c_program_free(client.program);
}

const char *run_explain(struct arena *arena, struct lm_test *test, const struct verify_options *options,
                        const char **litmus)
{
    struct verify_result result = verify_client(arena, test, options);
    char *text = NULL;
    size_t size = 0;
    struct whole t = {.arena = arena, .out = open_memstream(&text, &size)};
    if (!t.out)
        out_of_memory();
    *litmus = litmus_text(arena, test, &result);
    fprintf(t.out, "%s\n%s", *litmus, in_words(arena, test, &result));
    if (result.fault != FAULT_NONE)
        tell(&t, test, options, &result);
    fclose(t.out);
    const char *copy = arena_strndup(arena, text, size);
    free(text);
    return copy;
}
