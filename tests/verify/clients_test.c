/* clients_test FILE...: verifies each litmus test as a client of the C code. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "verify/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int faults = 0;
    struct verify_options options = {.limits = {.jobs = 1}, .timeout = 60};
    for (int i = 1; i < argc; i++) {
        struct arena *arena = arena_new();
        if (strcmp(argv[i], "--object") == 0) {
            options.sc_as = SC_AS_OBJECT;
            continue;
        }
        struct lm_parse parse = lm_parse_file(arena, argv[i]);
        lm_print_diagnostics(stdout, argv[i], &parse, false);
        if (parse.test) {
            struct verify_result r = verify_client(arena, parse.test, &options);
            printf("%s: %s%s%s, %" PRIu64 " of %" PRIu64 " outcomes, %" PRIu64 " states, %" PRIu64
                   " points, %.3f s + %.3f s\n",
                   parse.test->name, verify_verdict_name(r.verdict), r.why ? ": " : "", r.why ? r.why : "",
                   r.outcomes, r.allowed, r.states, r.points, r.seconds_c, r.seconds_specification);
            faults += r.verdict == VERIFY_VIOLATED;
        }
        arena_free(arena);
    }
    return faults != 0;
}
