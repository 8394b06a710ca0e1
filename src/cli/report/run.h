/* How `remora run` tells what it saw. */
#ifndef REMORA_CLI_REPORT_RUN_H
#define REMORA_CLI_REPORT_RUN_H

#include "run/run.h"

#include <stdio.h>

/* One test on one provider. */
struct run_report {
    const char *file, *provider;
    const struct lm_test *test;
    const struct verdict *verdict; /* what is allowed */
    const struct run_result *result;
    bool verbose;
};

/* What the counts come to. */
struct run_figures {
    uint64_t positive, negative; /* iterations that fulfil the proposition, and those that don't */
    bool validated;
    size_t allowed, allowed_seen; /* outcomes */
    size_t forbidden;             /* outcomes seen that the model does not allow */
    uint64_t forbidden_count;     /* iterations with one of them */
    bool judged;                  /* the model's outcomes are all known */
    bool may, can_fail;           /* some allowed outcome fulfils the proposition; some does not */
};
struct run_figures run_figures(const struct run_report *);

/* litmus7's layout. */
void run_report_text(FILE *, const struct run_report *);

/* One object on one line. */
void run_report_json(FILE *, const struct run_report *);

/* For each forbidden outcome a line that nobody overlooks; nothing if there is none. */
void run_report_alarm(FILE *, const struct run_report *);

/* Once for all tests: a table, and totals by provider. `lines` has for each test one entry a provider. */
struct run_line {
    const char *file;
    bool ran;
    enum run_end end;
    enum lm_quantifier quantifier;
    struct run_figures figures;
    uint64_t iterations, stuck;
};
void run_report_summary(FILE *, const struct run_line *lines, size_t tests, const char *const *providers,
                        size_t n_providers);

#endif
