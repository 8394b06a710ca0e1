/* Runs a litmus test on a transport, many times, and counts its outcomes. */
#ifndef REMORA_RUN_RUN_H
#define REMORA_RUN_RUN_H

#include "run/crew.h"
#include "run/histogram.h"
#include "search/judge.h"

struct run_options {
    uint64_t iterations;
    uint32_t instances; /* side by side; 0: as many as suits */
    uint64_t seed;
    bool seeded; /* the user's, rather than a random one */
    enum pinning pinning;
    double timeout;  /* seconds for each test; 0: none */
    double patience; /* see crew.h */
    bool stop_early; /* when all allowed outcomes have been seen, or one that is not */
    const atomic_bool *stop;
};

enum run_end {
    RUN_GOES_ON,
    RUN_DONE,
    RUN_EARLY,       /* as asked for */
    RUN_TIMEOUT,     /* what was seen until then is there */
    RUN_INTERRUPTED, /* likewise */
    RUN_FAILED,      /* the job was lost: likewise, and `why` */
    RUN_SKIPPED      /* can't be run: `why` */
};

struct run_result {
    enum run_end end;
    char why[200];
    struct histogram *seen; /* rows as the verdict's columns; null if skipped */
    uint64_t stuck, dropped;
    uint64_t iterations; /* all that were played: seen->total, stuck and dropped */
    double seconds;
    uint64_t seed;
    char **replays; /* in the arena, for each row that is forbidden what shows it again; or null */
};

/* In a job of its own with all nodes in this process. The verdict says what is to be observed, and what is allowed (for
 * stop_early). */
struct run_result run_here(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                           const char *provider, const struct run_options *options);

/* In a job that is open; collective. Other nodes than node 0 pass no verdict's states, but its columns, and get no outcomes. */
struct run_result run_in(struct arena *arena, const struct lm_test *test, const struct verdict *verdict,
                         struct session *session, const struct run_options *options);

void run_result_free(struct run_result *result);

#endif
