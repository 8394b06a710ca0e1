/* What a C program may still do is learnt, not known, and the reduction of the search rests on it. So: on a part of
 * the small clients of every library, the reduced search finds the outcomes and the stuck ends of the plain one,
 * which takes every interleaving and needs no such knowledge. learnt_test [every n-th client]. */
#include "base/arena.h"
#include "verify/client.h"
#include "verify/clients.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_STATES = 100000 };

static struct result explore(struct arena *arena, const struct lm_test *test, enum verified library,
                             bool plain)
{
    struct client client;
    struct client_options as = {.sc_as = library == VERIFY_OBJECT ? SC_AS_OBJECT : SC_AS_CELL,
                                .rerun = plain};
    const char *why = library == VERIFY_SHM ? shm_client_new(arena, &client, test, &as)
                                            : client_new(arena, &client, test, &as);
    if (why) {
        printf("%s: %s\n", test->name, why);
        exit(1);
    }
    struct query query = {.program = c_program_base(client.program),
                          .observables = client.observables,
                          .n_observables = client.n_observables,
                          .limits = {.jobs = 1, .max_states = MOST_STATES}};
    struct operational_options options = {.no_reduction = plain};
    struct result result = c_program_explore(client.program, &query, &options);
    c_program_free(client.program);
    return result;
}

static bool same(const struct result *a, const struct result *b)
{
    if (outcomes_count(a->states) != outcomes_count(b->states) || a->stuck != b->stuck)
        return false;
    for (size_t i = 0; i < outcomes_count(a->states); i++)
        if (!outcomes_has(b->states, outcomes_row(a->states, i)))
            return false;
    return true;
}

struct tally {
    uint64_t compared, reduced, plain;
    bool differs;
};

static void compare(const struct clients *clients, enum verified library, size_t i, struct tally *tally)
{
    struct arena *arena = arena_new();
    struct lm_test *test = clients_test(arena, clients, i);
    struct result reduced = explore(arena, test, library, false), plain = explore(arena, test, library, true);
    if (plain.completion == DONE && reduced.completion == DONE) {
        tally->compared++;
        tally->reduced += reduced.explored;
        tally->plain += plain.explored;
        if (!same(&reduced, &plain)) {
            printf("%s\nreduced: %zu outcomes, %" PRIu64 " stuck; plain: %zu, %" PRIu64 "\n",
                   clients_text(arena, clients, i), outcomes_count(reduced.states), reduced.stuck,
                   outcomes_count(plain.states), plain.stuck);
            tally->differs = true;
        }
    }
    outcomes_free(reduced.states);
    outcomes_free(plain.states);
    arena_free(arena);
}

int main(int argc, char **argv)
{
    size_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
    struct tally tally = {0};
    for (unsigned library = 0; library < N_VERIFIED; library++) {
        struct clients *clients = clients_new((enum verified)library, BOUND_SMALL);
        for (size_t i = 0; i < clients_count(clients) && !tally.differs; i += step)
            compare(clients, (enum verified)library, i, &tally);
        clients_free(clients);
    }
    printf("%" PRIu64 " clients compared, %" PRIu64 " states reduced, %" PRIu64 " plain\n", tally.compared,
           tally.reduced, tally.plain);
    return tally.differs || tally.compared == 0;
}
