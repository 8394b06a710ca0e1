/* The declarative engine's insides, shared by the search and by the explanations made from it. */
#ifndef REMORA_SEARCH_DECLARATIVE_H
#define REMORA_SEARCH_DECLARATIVE_H

#include "model/execution.h"
#include "search/engine.h"

enum thread_status { RUNNING, GUESSING /* stands at a cas */, BLOCKED /* on the value of a read */, ENDED };

struct thread_state {
    enum thread_status status;
    uint32_t point, after; /* after: the point behind the call that it is blocked on */
    int read;              /* BLOCKED: on this event */
    uint16_t calls;
    uint64_t *regs;
};

/* One node of the search: a partial execution, and how far its threads have got. */
struct partial {
    struct execution x;
    struct thread_state *threads;
    int *finals; /* by observable: the mo-last write, RF_INIT, or UNDECIDED */
};

enum { UNDECIDED = -2 };

struct declarative {
    const struct query *query;
    struct outcomes *states;
    struct partial *stack;
    unsigned depth_capacity, event_bound;
    uint64_t shown_threads; /* whose registers are observed */
    uint64_t steps, executions;
    enum completion completion;
    /* Only outcomes that this accepts are looked for; NULL: all. */
    bool (*wanted)(void *context, const uint64_t *row);
    void *context;
    /* Called with each complete consistent execution that is found; true ends the search. NULL: not wanted.
     */
    bool (*found)(void *context, const struct partial *, const uint64_t *row);
    bool logged;  /* executions keep their edges (for explanations) */
    bool relaxed; /* also visits executions whose edges close a cycle, and every way to read rather than one
                     for each outcome */
    bool ended;
};

/* The options (wanted, found, logged, relaxed, context) are set before, all else is zero. False if the
 * program is too large: *why says in one line why. */
bool declarative_start(struct declarative *, const struct query *, const char **why);
void declarative_search(struct declarative *);
void declarative_end(struct declarative *);

#endif
