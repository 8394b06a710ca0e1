/* Inside the operational engine (operational*.c): one search and its workers. */
#ifndef REMORA_SEARCH_OPERATIONAL_H
#define REMORA_SEARCH_OPERATIONAL_H

#include "model/machine.h"
#include "search/engine.h"
#include "search/operational_stack.h"
#include "search/visited.h"

#include <pthread.h>

/* How many states a worker remembers to have been in lately: the table grows with the number of states stored. */
enum { RECENT_FIRST = 1024, RECENT_LAST = 1 << 17 };

struct search {
    const struct query *query;
    struct machine *machine;
    struct visited *visited;
    bool reduced;
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

/* Every single step taken, if wanted. */
struct log {
    bool on;
    struct step *steps;
    size_t n, capacity;
};

struct worker {
    struct search *search;
    struct stack stack;
    uint8_t *state, *spare; /* the state being worked on */
    size_t capacity;
    unsigned room; /* as many entries may state have before a step is taken */
    struct fingerprint *recent;
    size_t n_recent;
    struct moves *moves;
    struct step *steps;
    size_t steps_capacity;
    struct outcomes *outcomes,
        *stuck; /* rows of observables; the latter followed by where each thread stands */
    uint64_t *row;
    uint64_t stored, unchecked;
    size_t stack_bytes; /* as last added to the search's */
    struct log log;
};

void worker_start(struct worker *, struct search *);
void worker_free(struct worker *); /* all but the outcomes */
/* Counts a stored state, and looks at the limits every so often. */
void worker_count(struct worker *);

/* The steps to be explored from the state in w->state, into w->steps, and that state's fingerprint; in a reduced search others may
 * have been taken first. It has been reached by steps of these threads (bit t: thread t) from a state of which that was
 * asked before. EFFECT_DROPPED also says that it has been visited. */
enum effect choose_steps(struct worker *, uint64_t threads, unsigned *n_steps, struct fingerprint *);
#define ALL_THREADS UINT64_MAX

/* What the query wants to see of a state. */
void observe_state(const struct machine *, const uint8_t *state, const struct query *, uint64_t *row);

/* Takes a step in w->state; in a reduced search the start of a spin iteration goes on to its first read. */
enum effect take(struct worker *, struct step);

/* Takes every step that needs no alternative at once, then finds the steps to be explored from where that
 * leads. */
enum effect reduce(struct worker *, uint64_t threads, unsigned *n_steps, struct fingerprint *);

/* Symmetry: threads that run the same code (program.thread_class) are told apart by nothing but their number. symmetry_new gives
 * NULL if there are none. */
const struct symmetry *symmetry_new(struct arena *, const struct machine *, const struct query *);
/* Exchanges threads so that states that differ by an exchange only become equal. True if that changed w->state. */
bool symmetry_sort(struct worker *);
/* A set with all rows that come from these by exchanging threads; the old one is freed. Halts the search if that takes too
 * much. stuck: rows are followed by where each thread stands. */
struct outcomes *symmetry_close(struct search *, struct outcomes *, bool stuck);
void halt(struct search *, enum completion why);
/* Looks at the limits other than the number of states; more_bytes are in use besides the search's own. */
void check_time_and_memory(struct search *, size_t more_bytes);

/* Of a state in which nothing but spin iterations can start: whether none of them can succeed. */
bool spinners_stuck(struct machine *, const uint8_t *state);
/* Whether these steps, all that are enabled in a state, only start spin iterations. */
bool only_spins(const struct machine *, const uint8_t *state, const struct step *steps, unsigned n);

/* Makes room in worker->state for one further step, and in worker->steps for all steps. */
void worker_reserve(struct worker *, size_t state_size);

#endif
