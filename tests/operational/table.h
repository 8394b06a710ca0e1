/* Small programs for tests: a table of instructions a thread, answering the engine's questions
 * (model/program.h). */
#ifndef REMORA_TESTS_TABLE_H
#define REMORA_TESTS_TABLE_H

#include "model/program.h"
#include "search/engine.h"

#define NO_REG UINT16_MAX

enum row_kind { ROW_OP, ROW_ASSUME, ROW_SPIN, ROW_UNTIL, ROW_SKIP_UNLESS };

struct row {
    enum row_kind kind;
    struct op op;      /* ROW_OP; its v (and e) get the register below added, if there is one */
    uint16_t dst, reg; /* result; a register that is read */
    uint64_t value;    /* ASSUME, UNTIL, SKIP_UNLESS: reg == value is wanted */
    unsigned skip;     /* SKIP_UNLESS: how many rows are passed over otherwise */
};

enum { TABLE_ROWS = 24, TABLE_THREADS = 40, TABLE_LOCS = 80, TABLE_REGS = 12 };

struct table {
    struct program program; /* first */
    struct prog_loc locs[TABLE_LOCS];
    unsigned n_rows[TABLE_THREADS];
    struct row rows[TABLE_THREADS][TABLE_ROWS];
    uint64_t shown[TABLE_THREADS]; /* registers shown in the outcome */
    struct future futures[TABLE_THREADS][TABLE_ROWS + 1];
    uint64_t sets[TABLE_THREADS][TABLE_ROWS + 1][4][(TABLE_LOCS + 63) / 64];
    uint64_t live[TABLE_THREADS][TABLE_ROWS + 1];
    struct observable observables[TABLE_THREADS * TABLE_REGS + TABLE_LOCS];
    unsigned n_observables;
};

/* An empty program of RDMA_TSO. Each location's node is put in `locs`, all observables follow from
 * table_done. */
void table_init(struct table *, unsigned threads, unsigned nodes, unsigned locs);
void table_add(struct table *, unsigned thread, struct row);
/* To be called when all rows are in: works out futures, live registers, and observables (all locations, and
 * the registers that are shown; by default all of them). */
void table_done(struct table *);
void table_print(const struct table *);

/* A random one. wait: RDMA_WAIT rather than RDMA_TSO. */
void table_random(struct table *, uint64_t seed, bool wait);

/* Runs the engine on it. */
struct result table_explore(const struct table *, bool no_reduction, unsigned jobs);

#endif
