/* The threads of a test on their way through the instances, batch by batch. */
#ifndef REMORA_RUN_CREW_H
#define REMORA_RUN_CREW_H

#include "run/worker.h"

#include <pthread.h>

enum pinning { PIN_RANDOM, PIN_FIXED, PIN_NONE };

/* A barrier of the threads of this process, and through the transport of all processes. */
struct gate {
    alignas(WORD_STEP) atomic_uint arrived;
    alignas(WORD_STEP) atomic_uint generation;
};

struct crew {
    struct instances *instances;
    struct worker **workers; /* those that are played here */
    unsigned n_workers;
    pthread_t *ids;
    unsigned spins; /* looks before a processor is given away */
    bool crowded;   /* more threads than processors */
    bool alone;     /* they are coroutines of one: see alone.c */
    enum pinning pinning;
    double patience; /* seconds that a wait may take if nobody can tell that it is in vain */
    struct gate gate;
    rem_thread gate_thread; /* by which the gates of several processes meet */
    uint64_t gate_sequence, gate_nodes;
    atomic_bool ends;   /* this process wants the batch to end */
    bool ended;         /* all agree; written at the gate */
    atomic_uint gone;   /* threads that have left */
    atomic_int failure; /* not 0: the job is lost */
};

/* The instance of a batch's kth iteration. Their order differs from batch to batch: the count is a power of two,
 * so an odd multiplier permutes. */
uint32_t crew_instance(uint64_t seed, uint64_t k, uint32_t count);

/* One iteration: the thread at its start in that instance; the thread runs and its result is written. */
void crew_set_out(struct worker *worker, uint32_t instance);
void crew_play(struct worker *worker);

/* Begins the threads; they wait for the first batch. 0 or an error. */
int crew_start(struct crew *crew);
/* After the last batch. */
void crew_join(struct crew *crew);

/* Watches the threads until it is done: tells them to give up what can't come. False: the job has failed. */
bool crew_watch(struct crew *crew, bool (*done)(void *context), void *context);

#endif
