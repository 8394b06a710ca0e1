/* clients_test FILE|FOLDER...: verifies RDMA_WAIT litmus tests as clients of the C code, over the model and over the
 * shm provider. Those that a client can't be (a do-until loop) are counted as unknown. */
#include "base/arena.h"
#include "litmus/litmus.h"
#include "verify/judge.h"

#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct tally {
    unsigned verdicts[4];
    uint64_t states;
};

static void verify(const char *file, bool over_shm, struct tally *tally)
{
    struct arena *arena = arena_new();
    struct lm_parse parse = lm_parse_file(arena, file);
    struct verify_options options = {
        .limits = {.jobs = 1, .max_states = 300000}, .timeout = 20, .over_shm = over_shm};
    if (parse.test && parse.test->arch == LM_RDMA_WAIT) {
        struct verify_result result = verify_client(arena, parse.test, &options);
        tally->verdicts[result.verdict]++;
        tally->states += result.states;
        if (result.verdict == VERIFY_VIOLATED)
            printf("%s%s: %s\n", file, over_shm ? " (shm)" : "", result.why);
    }
    arena_free(arena);
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    FTS *tree = argc > 1 ? fts_open(argv + 1, FTS_LOGICAL | FTS_NOCHDIR, NULL) : NULL;
    for (FTSENT *entry; tree && (entry = fts_read(tree));) {
        const char *suffix = entry->fts_info == FTS_F ? strrchr(entry->fts_path, '.') : NULL;
        if (!suffix || strcmp(suffix, ".litmus") != 0)
            continue;
        verify(entry->fts_path, false, &tally);
        verify(entry->fts_path, true, &tally);
    }
    if (tree)
        fts_close(tree);
    printf("%u sound, %u bounded-sound, %u violated, %u unknown, %" PRIu64 " states\n",
           tally.verdicts[VERIFY_SOUND], tally.verdicts[VERIFY_BOUNDED], tally.verdicts[VERIFY_VIOLATED],
           tally.verdicts[VERIFY_UNKNOWN], tally.states);
    return tally.verdicts[VERIFY_VIOLATED] || !tally.verdicts[VERIFY_SOUND];
}
