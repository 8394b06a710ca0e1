/* Inside the operational engine (operational*.c): one search and its workers. */
#ifndef REMORA_SEARCH_OPERATIONAL_H
#define REMORA_SEARCH_OPERATIONAL_H

#include "search/engine.h"
#include "search/operational_parts.h"
#include "search/operational_stack.h"
#include "search/visited.h"

#include <pthread.h>

/* How many states a worker remembers to have been in lately: the table grows with the number of states stored. */
enum { RECENT_FIRST = 1024, RECENT_LAST = 1 << 17 };

/* Why a reduced search was given up for a plain one, besides enum completion: a thread has too many moves at once. */
enum { TOO_CROWDED = UNSUPPORTED + 1 };

struct search {
    const struct query *query;
    struct machine *machine;
    struct visited *visited;
    struct parts *parts;             /* NULL: every interleaving is explored, on packed states */
    const struct symmetry *symmetry; /* NULL if no two threads may be exchanged */
    atomic_int halted;               /* enum completion; DONE while the search goes on */
    atomic_uint_least64_t stored;    /* states, in steps of CHECK_EVERY */
    atomic_size_t stack_bytes;
    unsigned jobs;
    /* Frames that a worker has given away, for those that have none left. */
    pthread_mutex_t sharing;
    pthread_cond_t shared;
    struct stack pool;
    atomic_uint idle;
    bool finished;
};

struct worker {
    struct search *search;
    struct stack stack;
    uint8_t *state;       /* reduced: the compound state being worked on */
    struct packed packed; /* plain: the packed state being worked on; reduced: scratch */
    uint8_t *from;        /* the frame being expanded */
    size_t from_capacity;
    struct fingerprint *recent;
    size_t n_recent;
    struct step *steps; /* reduced: only thread, and its move in `at` */
    size_t steps_capacity;
    struct outcomes *outcomes;
    struct outcomes *stuck; /* rows of observables, followed by where each thread stands */
    uint64_t *row;
    uint64_t stored, unchecked, turns;
    size_t stack_bytes; /* as last added to the search's */
    struct {
        bool on;
        struct log steps; /* moves taken, as steps */
    } log;
};

/* operational.c */
void search_start(struct search *, struct arena *, bool reduced, bool symmetric);
void search_end(struct search *);
void halt(struct search *, int why);
/* Looks at the limits other than the number of states; more_bytes are in use besides the search's own. */
void check_time_and_memory(struct search *, size_t more_bytes);

/* operational_worker.c */
void worker_start(struct worker *, struct search *);
void worker_free(struct worker *); /* all but the outcomes */
void worker_reserve_steps(struct worker *, size_t n);
/* Counts a stored state, and looks at the limits every so often. */
void worker_count(struct worker *);
/* The state being worked on. */
const uint8_t *worker_state(const struct worker *, size_t *size);
enum effect worker_begin(struct worker *); /* at the first state */
enum effect worker_take(struct worker *, const uint8_t *from, size_t size,
                        struct step); /* a step of a stored state */
/* The steps to be explored from where that leads, into w->steps, and that state's fingerprint; in a reduced search others may have
 * been taken first. EFFECT_DROPPED also says that the state is known. */
enum effect worker_steps(struct worker *, unsigned *n_steps, struct fingerprint *);
/* How the state is to be counted, these being its steps. */
enum ending { GOES_ON, COMPLETE, STUCK };
enum ending worker_ending(struct worker *, unsigned n_steps);
void worker_observe(const struct worker *, uint64_t *row);
const struct local *worker_local(const struct worker *, unsigned thread);

/* operational_reduce.c */
enum effect reduce(struct worker *, unsigned *n_steps, struct fingerprint *);
enum effect compound_take(struct worker *, unsigned t, unsigned move);

/* operational_symmetry.c. Threads that run the same code (program.thread_class) are told apart by nothing but their number.
 * symmetry_new gives NULL if there are none. */
const struct symmetry *symmetry_new(struct arena *, const struct machine *, const struct query *);
/* Exchanges threads so that states that differ by an exchange only become equal. */
void symmetry_sort(const struct search *, uint8_t *compound);
/* A set with all rows that come from these by exchanging threads; the old one is freed. Halts the search if that takes too
 * much. stuck: rows are followed by where each thread stands. */
struct outcomes *symmetry_close(struct search *, struct outcomes *, bool stuck);

/* operational_spin.c. Of a packed state in which nothing but spin iterations can start: whether none of them can succeed. */
bool spinners_stuck(struct machine *, const uint8_t *state);

#endif
