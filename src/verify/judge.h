/* One client: does every outcome that the C code gives it stand in the specification. */
#ifndef REMORA_VERIFY_JUDGE_H
#define REMORA_VERIFY_JUDGE_H

#include "verify/client.h"

struct arena;

enum verify_verdict {
    VERIFY_SOUND,
    VERIFY_BOUNDED,  /* sound as far as loops were followed */
    VERIFY_VIOLATED, /* an outcome that the specification forbids, a deadlock, a call that failed */
    VERIFY_UNKNOWN   /* a limit was reached, or the model can't follow the C code */
};

enum verify_fault { FAULT_NONE, FAULT_OUTCOME, FAULT_STUCK, FAULT_CALL };

struct verify_result {
    enum verify_verdict verdict;
    enum verify_fault fault;
    const char *why; /* VERIFY_UNKNOWN; FAULT_CALL: the call's error */
    uint64_t *row;   /* FAULT_OUTCOME: the outcome, in the order of the client's observables; in the arena */
    uint64_t states, executions; /* of the operational engine, of the declarative one */
    uint64_t outcomes, allowed;
    uint64_t points;
    double seconds_c, seconds_specification;
};

struct verify_options {
    struct client_options client;
    bool over_shm;        /* the C code of the shm provider too, over x86-TSO; compared with RDMA-TSO */
    struct limits limits; /* of each engine; the deadline is set from `timeout` */
    double timeout;       /* seconds for one client; 0: none */
};

struct verify_result verify_client(struct arena *, const struct lm_test *, const struct verify_options *);
const char *verify_verdict_name(enum verify_verdict);

#endif
