/* What the environment says of the verbs provider: REMORA_VERBS_… (docs/verbs.md lists them). */
#ifndef REMORA_FABRIC_VERBS_OPTIONS_H
#define REMORA_FABRIC_VERBS_OPTIONS_H

#include "job/layout.h"

#include <stddef.h>

#define VERBS_ANY (-1) /* the provider chooses */

#define VERBS_LEAST_DEPTH 64
#define VERBS_INLINE_MAX 256

struct verbs_options {
    const char *device; /* names, separated by commas, for the nodes in turn; null: the first that works */
    int port, gid, mtu; /* mtu in bytes */
    int traffic_class, service_level, pkey, hop_limit;
    int timeout, retry, rnr_retry, rnr_timer;
    int depth, inline_size, reads;
    int relaxed;
};

/* What went wrong at opening. */
struct verbs_trouble {
    int code;
    char text[FAILURE_TEXT];
};

__attribute__((format(printf, 3, 4))) int verbs_trouble(struct verbs_trouble *trouble, int code,
                                                        const char *format, ...);

/* 0 or REM_EENVIRONMENT, and why. */
int verbs_read_options(struct verbs_options *options, struct verbs_trouble *trouble);

#endif
