/* Inside remora bench: one run of the benchmark in one node. */
#ifndef REMORA_CLI_BENCH_BENCH_H
#define REMORA_CLI_BENCH_BENCH_H

#include <remora/remora.h>

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { BENCH_THREADS = 16, BENCH_BUFFER = 4096 };

/* A plain C11 ticket lock, as the yardstick. */
struct raw_ticket {
    atomic_uint_least64_t next, serving;
};

/* The raw yardsticks, on a page of the target's memory that every process accesses directly. */
struct raw_page {
    struct raw_ticket ticket;
    uint64_t fill0[6];
    atomic_uint_least64_t word;
    uint64_t fill1[7];
    pthread_mutex_t mutex;
    uint64_t fill2[16];
    uint64_t counter;
    uint64_t fill3[7];
    atomic_uint_least64_t ping, fill4[7];
};

struct bench {
    rem_job job;
    int self, nodes,
        target;       /* target: the node whose memory is accessed; another one than 0 if there is one */
    unsigned threads; /* most contenders */
    double seconds;   /* of a contended measurement */
    const char *only; /* null, or a part of the names to measure */
    bool json;

    struct raw_page *raw; /* the target's */
    uint64_t *words;      /* symmetric: BENCH_BUFFER bytes twice */
    uint64_t *counts;     /* symmetric, gathered on node 0: sections of each contender */
    uint64_t *meeting;    /* symmetric, on node 0 */
    rem_nlock nlock;
    rem_wlock wlock;
    rem_slock slock;
    rem_sc sc;
    rem_sv sv;

    json_t *results; /* on node 0 */
};

/* Is a measurement of that name asked for. */
bool bench_wants(const struct bench *bench, const char *name);

/* One thread of node 0, alone. Called on node 0. */
void bench_alone(struct bench *bench, rem_thread *thread);

/* Contenders on one node and on all. Collective. */
void bench_contended(struct bench *bench);

/* Nanoseconds for a cache line to go from one processor to another and back; collective between nodes 0 and 1, or two threads. */
double bench_round_trip(struct bench *bench);

#endif
