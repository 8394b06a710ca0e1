/* The declarative engine: all outcomes of a program under section 3 (RDMA-TSO) or sections 4 to 8 (RDMA-WAIT
 * and libraries).
 *
 * Threads are unfolded as far as the values that they depend on are known. What is branched on is what an
 * outcome consists of: where the reads take their values from, whether a compare-and-swap succeeds, and which
 * write comes last on a location that is shown. All the other orders are left open (execution.h) and only
 * shown to be completable, once for each outcome.
 *
 * Each execution is met once: a read that takes its value from a write that does not exist yet is put off
 * ("not_before"), and may then only read from events that are newer. Since ib contains rf and has no cycle,
 * some read can always go first. */
#include "search/declarative.h"

#include "base/arena.h"
#include "base/clock.h"

#include <stdlib.h>

/* --- one partial execution a level of the search --- */

static void partial_init(struct declarative *d, struct partial *p)
{
    const struct program *program = d->query->program;
    execution_init(&p->x, program, d->event_bound);
    p->x.relaxed = d->relaxed;
    if (d->logged)
        p->x.log = xcalloc(1, sizeof *p->x.log);
    p->threads = xcalloc(program->n_threads, sizeof *p->threads);
    for (unsigned t = 0; t < program->n_threads; t++)
        p->threads[t].regs = xcalloc(program->n_regs[t], sizeof(uint64_t));
    p->finals = xcalloc(d->query->n_observables, sizeof *p->finals);
}

static void partial_free(struct declarative *d, struct partial *p)
{
    execution_free(&p->x);
    for (unsigned t = 0; p->threads && t < d->query->program->n_threads; t++)
        free(p->threads[t].regs);
    free(p->threads);
    free(p->finals);
}

/* The stack may move: callers take their pointers again. */
static struct partial *branch(struct declarative *d, unsigned depth)
{
    if (depth + 1 == d->depth_capacity) {
        unsigned capacity = 2 * d->depth_capacity;
        d->stack = xrealloc(d->stack, capacity * sizeof *d->stack);
        memset(d->stack + d->depth_capacity, 0, (capacity - d->depth_capacity) * sizeof *d->stack);
        d->depth_capacity = capacity;
    }
    struct partial *from = &d->stack[depth], *to = &d->stack[depth + 1];
    if (!to->threads)
        partial_init(d, to);
    execution_copy(&to->x, &from->x);
    for (unsigned t = 0; t < d->query->program->n_threads; t++) {
        uint64_t *regs = to->threads[t].regs;
        to->threads[t] = from->threads[t];
        to->threads[t].regs = regs;
        memcpy(regs, from->threads[t].regs, d->query->program->n_regs[t] * sizeof *regs);
    }
    memcpy(to->finals, from->finals, d->query->n_observables * sizeof *to->finals);
    return to;
}

static bool out_of_limits(struct declarative *d)
{
    const struct limits *limits = &d->query->limits;
    if (d->ended)
        return true;
    d->steps++;
    if (limits->max_states && d->steps > limits->max_states)
        d->completion = LIMIT_STATES;
    else if ((d->steps & 1023) == 0) {
        if (limits->progress)
            atomic_fetch_add(limits->progress, 1024);
        if (limits->stop && atomic_load_explicit(limits->stop, memory_order_relaxed))
            d->completion = INTERRUPTED;
        else if (limits->deadline > 0 && now() > limits->deadline)
            d->completion = LIMIT_TIME;
        else if (limits->max_memory && outcomes_bytes(d->states) > limits->max_memory)
            d->completion = LIMIT_MEMORY;
    }
    d->ended = d->completion != DONE;
    return d->ended;
}

/* --- unfolding the threads --- */

static void block_on(struct declarative *d, struct partial *p, unsigned t, int read)
{
    const struct program *program = d->query->program;
    struct thread_state *thread = &p->threads[t];
    uint64_t regs[program->n_regs[t] + 1u];
    memcpy(regs, thread->regs, program->n_regs[t] * sizeof *regs);
    thread->after = thread->point;
    prog_observe(program, t, &thread->after, regs, 0);
    thread->status = BLOCKED;
    thread->read = read;
}

/* Makes the events of a call. False: no execution goes on from here. */
static bool perform(struct declarative *d, struct partial *p, unsigned t, const struct op *op, bool success)
{
    struct thread_state *thread = &p->threads[t];
    struct call_result result = execution_call(&p->x, t, op, thread->calls++, success);
    if (!result.possible)
        return false;
    if (result.read != NO_EVENT && !op->unused)
        block_on(d, p, t, result.read);
    else {
        prog_observe(d->query->program, t, &thread->point, thread->regs, 0);
        thread->status = RUNNING;
    }
    return true;
}

static bool unfold_thread(struct declarative *d, struct partial *p, unsigned t)
{
    const struct program *program = d->query->program;
    struct thread_state *thread = &p->threads[t];
    while (thread->status == RUNNING) {
        struct op op;
        prog_next(program, t, &thread->point, thread->regs, &op);
        switch (op.kind) {
        case OP_END:
            thread->status = ENDED;
            p->x.ended |= UINT64_C(1) << t;
            break;
        case OP_DROP:
        case OP_SPIN_FAIL:
            return false;
        case OP_SPIN_BEGIN:
            prog_observe(program, t, &thread->point, thread->regs, 0);
            break;
        case OP_CAS:
        case OP_RCAS:
        case OP_SC_CAS:
            thread->status = GUESSING;
            break;
        default:
            if (!perform(d, p, t, &op, true))
                return false;
            break;
        }
    }
    return true;
}

/* Takes values and forced orders as far as they go. False: contradictory. */
static bool settle(struct declarative *d, struct partial *p)
{
    const struct program *program = d->query->program;
    for (bool moved = true; moved;) {
        moved = false;
        if (!execution_values(&p->x))
            return false;
        for (unsigned t = 0; t < program->n_threads; t++) {
            struct thread_state *thread = &p->threads[t];
            if (thread->status == BLOCKED && p->x.events[thread->read].read_known) {
                prog_observe(program, t, &thread->point, thread->regs, p->x.events[thread->read].read);
                thread->status = RUNNING;
            }
            moved |= thread->status == RUNNING;
            if (!unfold_thread(d, p, t))
                return false;
        }
    }
    return execution_propagate(&p->x);
}

/* --- which read is next --- */

static bool may_still_be_written(const struct declarative *d, const struct partial *p, unsigned r)
{
    const struct program *program = d->query->program;
    const struct event *read = &p->x.events[r];
    for (unsigned t = 0; t < program->n_threads; t++) {
        const struct thread_state *thread = &p->threads[t];
        if (thread->status == ENDED || (thread->status == BLOCKED && thread->read == (int)r))
            continue;
        const struct future *future =
            program->ops->future(program, t, thread->status == BLOCKED ? thread->after : thread->point);
        if (bit_test(future->cpu_writes, read->loc) || bit_test(future->nic_writes, read->loc))
            return true;
    }
    return false;
}

static unsigned count_sources(const struct partial *p, unsigned r)
{
    const struct execution *x = &p->x;
    unsigned count = execution_may_read(x, r, RF_INIT);
    FOR_BITS(w, x->writes + (size_t)x->events[r].loc * x->words, x->words)
    count += execution_may_read(x, r, (int)w);
    return count;
}

/* The open read that the value of event e (a read) waits for, or NO_EVENT if there is none: when the value is
 * known, and, in relaxed executions, when values go round in a circle. */
static int feeding(const struct execution *x, int e)
{
    for (unsigned steps = 0; !x->events[e].read_known && steps <= x->n; steps++) {
        int w = x->events[e].rf;
        if (w == RF_OPEN)
            return e;
        if (w == RF_INIT || x->events[w].written_known)
            return NO_EVENT;
        e = x->events[w].from;
    }
    return NO_EVENT;
}

struct choice {
    int read;     /* NO_EVENT: none is there */
    bool put_off; /* it may also be put off */
};

/* Prefers a read that need not be put off, then one with few sources. A read that was put off waits for a new
 * write. */
static void consider(const struct declarative *d, const struct partial *p, int read, struct choice *best,
                     unsigned *cost)
{
    bool put_off = may_still_be_written(d, p, (unsigned)read);
    unsigned sources = count_sources(p, (unsigned)read);
    if (put_off && sources == 0)
        return;
    unsigned c = sources + (put_off ? 1000 : 0);
    if (best->read == NO_EVENT || c < *cost) {
        *best = (struct choice){read, put_off};
        *cost = c;
    }
}

static struct choice next_needed_read(const struct declarative *d, const struct partial *p)
{
    struct choice best = {NO_EVENT, false};
    unsigned cost = 0;
    for (unsigned t = 0; t < d->query->program->n_threads; t++) {
        if (p->threads[t].status != BLOCKED)
            continue;
        int read = feeding(&p->x, p->threads[t].read);
        if (read != NO_EVENT)
            consider(d, p, read, &best, &cost);
    }
    return best;
}

static int next_open_read(const struct partial *p)
{
    int best = NO_EVENT;
    unsigned fewest = 0;
    for (unsigned r = 0; r < p->x.n; r++) {
        if (!p->x.events[r].reads || p->x.events[r].rf != RF_OPEN)
            continue;
        unsigned sources = count_sources(p, r);
        if (best == NO_EVENT || sources < fewest) {
            best = (int)r;
            fewest = sources;
        }
    }
    return best;
}

/* --- outcomes --- */

/* Is everything that is shown decided? Fills the row if so. */
static bool row_known(const struct declarative *d, const struct partial *p, uint64_t *row)
{
    const struct query *query = d->query;
    if ((p->x.ended & d->shown_threads) != d->shown_threads)
        return false;
    for (unsigned i = 0; i < query->n_observables; i++) {
        const struct observable *o = &query->observables[i];
        int last = p->finals[i];
        if (o->is_reg)
            row[i] = p->threads[o->thread].regs[o->index];
        else if (last == UNDECIDED || (last != RF_INIT && !p->x.events[last].written_known))
            return false;
        else
            row[i] = last == RF_INIT ? query->program->locs[o->index].init : p->x.events[last].written;
    }
    return true;
}

static bool search(struct declarative *d, unsigned depth, bool once);

/* Settles the branch just made and searches it. */
static bool follow(struct declarative *d, unsigned depth, bool once, bool possible)
{
    return possible && settle(d, &d->stack[depth + 1]) && search(d, depth + 1, once);
}

static bool choose_success(struct declarative *d, unsigned depth, bool once, unsigned t)
{
    bool any = false;
    for (int success = 1; success >= 0 && !(any && once) && !d->ended; success--) {
        struct partial *p = branch(d, depth);
        struct op op;
        prog_next(d->query->program, t, &p->threads[t].point, p->threads[t].regs, &op);
        any |= follow(d, depth, once, perform(d, p, t, &op, success));
    }
    return any;
}

static bool choose_source(struct declarative *d, unsigned depth, bool once, struct choice choice)
{
    if (choice.read == NO_EVENT)
        return false;
    const struct execution *x = &d->stack[depth].x;
    unsigned r = (unsigned)choice.read, n = x->n;
    bool any = false;
    for (int w = (int)n - 1; w >= RF_INIT && !(any && once) && !d->ended; w--) {
        x = &d->stack[depth].x;
        if (w != RF_INIT && !bit_test(x->writes + (size_t)x->events[r].loc * x->words, (unsigned)w))
            continue;
        if (!execution_may_read(x, r, w))
            continue;
        struct partial *p = branch(d, depth);
        any |= follow(d, depth, once, execution_set_rf(&p->x, r, w));
    }
    if (choice.put_off && !(any && once) && !d->ended) {
        struct partial *p = branch(d, depth);
        p->x.events[r].not_before = (uint16_t)n;
        any |= follow(d, depth, once, true);
    }
    return any;
}

/* Makes w the last write of its location. */
static bool make_last(struct execution *x, int w)
{
    for (unsigned i = 0; i < x->n_pairs;) {
        struct pair pair = x->pairs[i];
        if (pair.kind == PAIR_MO && (pair.a == w || pair.b == w)) {
            if (!execution_decide(x, i, pair.b == w))
                return false;
        } else
            i++;
    }
    const uint64_t *writes = x->writes + (size_t)x->events[w].loc * x->words;
    if (!x->relaxed)
        return !bits_meet(order_after(&x->hb, (unsigned)w, x->words), writes, x->words);
    FOR_BITS(other, writes, x->words)
    if (bit_test(order_after(&x->hb, (unsigned)w, x->words), other))
        execution_force(x, other, (unsigned)w);
    return true;
}

static bool choose_last(struct declarative *d, unsigned depth, bool once, unsigned shown)
{
    struct partial *p = &d->stack[depth];
    unsigned loc = d->query->observables[shown].index, words = p->x.words;
    bool any = false;
    if (bits_empty(p->x.writes + (size_t)loc * words, words)) {
        p->finals[shown] = RF_INIT;
        return search(d, depth, once);
    }
    for (unsigned w = 0; w < d->stack[depth].x.n && !(any && once) && !d->ended; w++) {
        const struct execution *x = &d->stack[depth].x;
        const uint64_t *writes = x->writes + (size_t)loc * words;
        if (!bit_test(writes, w) || (!x->relaxed && bits_meet(order_after(&x->hb, w, words), writes, words)))
            continue;
        p = branch(d, depth);
        p->finals[shown] = (int)w;
        any |= follow(d, depth, once, make_last(&p->x, (int)w));
    }
    return any;
}

/* Everything shown is decided: is there any way to complete the execution? */
static bool choose_order(struct declarative *d, unsigned depth)
{
    bool any = false;
    for (int forward = 1; forward >= 0 && !any && !d->ended; forward--) {
        struct partial *p = branch(d, depth);
        any = follow(d, depth, true, execution_decide(&p->x, p->x.n_pairs - 1, forward));
    }
    return any;
}

static bool complete(struct declarative *d, unsigned depth)
{
    d->executions++;
    if (d->found) {
        uint64_t row[d->query->n_observables + 1u];
        row_known(d, &d->stack[depth], row);
        d->ended |= d->found(d->context, &d->stack[depth], row);
    }
    return true;
}

/* Goes on from a settled node with whatever is to be chosen next. */
static bool choose(struct declarative *d, unsigned depth, bool once)
{
    struct partial *p = &d->stack[depth];
    unsigned n_threads = d->query->program->n_threads;
    bool all_ended = true;
    for (unsigned t = 0; t < n_threads; t++) {
        if (p->threads[t].status == GUESSING)
            return choose_success(d, depth, once, t);
        all_ended &= p->threads[t].status == ENDED;
    }
    if (!all_ended) {
        return choose_source(d, depth, once, next_needed_read(d, p));
    }
    for (unsigned i = 0; i < d->query->n_observables; i++) {
        if (d->query->observables[i].is_reg)
            continue;
        if (p->finals[i] == UNDECIDED)
            return choose_last(d, depth, once, i);
        const struct event *last = p->finals[i] == RF_INIT ? NULL : &p->x.events[p->finals[i]];
        if (last && !last->written_known)
            return choose_source(d, depth, once, (struct choice){feeding(&p->x, last->from), false});
    }
    int read = next_open_read(p);
    if (read != NO_EVENT)
        return choose_source(d, depth, !d->relaxed, (struct choice){read, false});
    return p->x.n_pairs ? choose_order(d, depth) : complete(d, depth);
}

/* Searches below a settled node. once: what is shown is decided already, so one completion is enough. True if
 * any was found. */
static bool search(struct declarative *d, unsigned depth, bool once)
{
    if (out_of_limits(d))
        return false;
    uint64_t row[d->query->n_observables + 1u];
    if (once || !row_known(d, &d->stack[depth], row))
        return choose(d, depth, once);
    if (d->wanted && !d->wanted(d->context, row))
        return false;
    if (outcomes_has(d->states, row) && !d->relaxed)
        return true;
    bool found = choose(d, depth, !d->relaxed);
    if (found)
        outcomes_add(d->states, row);
    return found;
}

/* --- from outside --- */

bool declarative_start(struct declarative *d, const struct query *query, const char **why)
{
    const struct program *program = query->program;
    d->query = query;
    d->depth_capacity = 64;
    for (unsigned t = 0; t < program->n_threads; t++)
        d->event_bound += program->ops->max_events(program, t);
    if (d->event_bound > REL_MAX_EVENTS) {
        *why = "more than 1,024 events in one execution";
        return false;
    }
    if (d->event_bound == 0)
        d->event_bound = 1;
    for (unsigned i = 0; i < query->n_observables; i++)
        if (query->observables[i].is_reg)
            d->shown_threads |= UINT64_C(1) << query->observables[i].thread;
    d->states = outcomes_new(query->n_observables);
    d->stack = xcalloc(d->depth_capacity, sizeof *d->stack);
    partial_init(d, &d->stack[0]);
    for (unsigned i = 0; i < query->n_observables; i++)
        d->stack[0].finals[i] = UNDECIDED;
    return true;
}

void declarative_search(struct declarative *d)
{
    if (settle(d, &d->stack[0]))
        search(d, 0, false);
}

void declarative_end(struct declarative *d)
{
    for (unsigned i = 0; i < d->depth_capacity; i++)
        partial_free(d, &d->stack[i]);
    free(d->stack);
}

struct result explore_declarative(const struct query *query)
{
    struct declarative d = {0};
    struct result result = {.completion = UNSUPPORTED};
    if (!declarative_start(&d, query, &result.why)) {
        result.states = outcomes_new(query->n_observables);
        return result;
    }
    declarative_search(&d);
    result.states = d.states;
    result.completion = d.completion;
    result.explored = d.steps;
    result.executions = d.executions;
    declarative_end(&d);
    return result;
}
