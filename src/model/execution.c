/* A candidate execution under construction (see execution.h): events, edges, open pairs, values. What is
 * common to sections 3 to 8. */
#include "model/execution.h"

#include "base/arena.h"

#include <stdlib.h>

/* --- memory --- */

void execution_init(struct execution *x, const struct program *program, unsigned capacity)
{
    unsigned words = (capacity + 63) / 64;
    size_t rows = (size_t)capacity * words;
    size_t others = ((size_t)program->n_locs * 2 + program->n_threads + 2) * words;
    *x = (struct execution){.program = program, .capacity = capacity, .words = words};
    x->memory = xmalloc((5 * rows + others) * sizeof(uint64_t) + capacity * sizeof *x->events);
    uint64_t *next = x->memory;
    x->ib.after = next;
    x->ib.before = next + rows;
    x->hb.after = next + 2 * rows;
    x->hb.before = next + 3 * rows;
    x->readers = next + 4 * rows;
    x->writes = next + 5 * rows;
    memset(x->writes, 0, others * sizeof(uint64_t));
    x->init_readers = x->writes + (size_t)program->n_locs * words;
    x->of_thread = x->init_readers + (size_t)program->n_locs * words;
    x->instant = x->of_thread + (size_t)program->n_threads * words;
    x->cpu_reads = x->instant + words;
    x->events = (struct event *)(x->cpu_reads + words);
}

static void copy_rows(uint64_t *to, const uint64_t *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
}

static void copy_log(struct edge_log *to, const struct edge_log *from)
{
    if (to->capacity < from->n) {
        to->capacity = from->capacity;
        to->edges = xrealloc(to->edges, to->capacity * sizeof *to->edges);
    }
    if (from->n)
        memcpy(to->edges, from->edges, from->n * sizeof *to->edges);
    to->n = from->n;
    to->refused = from->refused;
}

void execution_copy(struct execution *to, const struct execution *from)
{
    size_t rows = (size_t)from->n * from->words;
    const struct program *p = from->program;
    copy_rows(to->ib.after, from->ib.after, rows);
    copy_rows(to->ib.before, from->ib.before, rows);
    copy_rows(to->hb.after, from->hb.after, rows);
    copy_rows(to->hb.before, from->hb.before, rows);
    copy_rows(to->readers, from->readers, rows);
    copy_rows(to->writes, from->writes, ((size_t)p->n_locs * 2 + p->n_threads + 2) * from->words);
    memcpy(to->events, from->events, from->n * sizeof *to->events);
    if (to->pair_capacity < from->n_pairs) {
        to->pair_capacity = from->pair_capacity;
        to->pairs = xrealloc(to->pairs, to->pair_capacity * sizeof *to->pairs);
    }
    if (from->n_pairs)
        memcpy(to->pairs, from->pairs, from->n_pairs * sizeof *to->pairs);
    if (to->log)
        copy_log(to->log, from->log);
    to->n = from->n;
    to->n_pairs = from->n_pairs;
    to->ended = from->ended;
}

void execution_free(struct execution *x)
{
    free(x->memory);
    free(x->pairs);
    if (x->log)
        free(x->log->edges);
    free(x->log);
    x->memory = NULL;
    x->pairs = NULL;
}

/* --- events --- */

struct event event_of(enum library lib, unsigned type, unsigned thread, const struct op *op, unsigned call)
{
    struct event e = {0};
    e.type = (uint8_t)type;
    e.lib = (uint8_t)lib;
    e.thread = (uint8_t)thread;
    e.node = op->node;
    e.call = (uint16_t)call;
    e.loc = PROG_NO_LOC;
    e.need = NO_NEED;
    e.wid = op->wid;
    e.rf = RF_OPEN;
    e.from = e.partner = NO_EVENT;
    e.where = op->where;
    return e;
}

bool kept_in_ib(const struct event *a, const struct event *b)
{
    bool same = a->node == b->node;
    if (b->lib == LIB_TSO)
        return tso_ippo(a->type, b->type, same);
    return a->lib == LIB_WAIT && b->lib == LIB_WAIT && a->call != b->call &&
           stamp_issue_order(a->type, b->type, same);
}

bool kept_in_hb(const struct event *a, const struct event *b)
{
    bool same = a->node == b->node;
    if (b->lib == LIB_TSO)
        return tso_oppo(a->type, b->type, same);
    return a->call != b->call && stamp_order(a->type, b->type, same);
}

bool event_instantaneous(const struct event *e)
{
    return e->lib == LIB_TSO ? tso_instantaneous(e->type) : stamp_instantaneous(e->type);
}

/* Makes the new event e, which is before nothing, come after `sources` and all that is before them. */
static void place_after(const struct order *o, unsigned e, const uint64_t *sources, unsigned words)
{
    uint64_t *before = order_before(o, e, words);
    memcpy(before, sources, words * sizeof *before);
    FOR_BITS(s, sources, words)
    bits_or(before, order_before(o, s, words), words);
    FOR_BITS(b, before, words)
    bit_set(order_after(o, b, words), e);
}

unsigned execution_add(struct execution *x, const struct event *event)
{
    unsigned words = x->words, e = x->n++;
    uint64_t ib[REL_MAX_WORDS] = {0}, hb[REL_MAX_WORDS] = {0};
    x->events[e] = *event;
    memset(order_after(&x->ib, e, words), 0, words * sizeof(uint64_t));
    memset(order_after(&x->hb, e, words), 0, words * sizeof(uint64_t));
    memset(x->readers + (size_t)e * words, 0, words * sizeof(uint64_t));
    uint64_t *thread = x->of_thread + (size_t)event->thread * words;
    FOR_BITS(p, thread, words)
    {
        if (kept_in_ib(&x->events[p], event))
            bit_set(ib, p);
        if (kept_in_hb(&x->events[p], event))
            bit_set(hb, p);
    }
    place_after(&x->ib, e, ib, words);
    for (unsigned w = 0; w < words; w++)
        hb[w] |= order_before(&x->ib, e, words)[w] & x->instant[w];
    place_after(&x->hb, e, hb, words);
    bit_set(thread, e);
    if (event_instantaneous(event))
        bit_set(x->instant, e);
    if (event->type == (event->lib == LIB_TSO ? (unsigned)T_LR : (unsigned)S_CR))
        bit_set(x->cpu_reads, e);
    return e;
}

/* --- edges --- */

static bool add_ib(struct execution *x, unsigned a, unsigned b)
{
    unsigned words = x->words;
    if (bit_test(order_after(&x->ib, a, words), b))
        return true;
    if (!order_add(&x->ib, a, b, words))
        return false;
    uint64_t sources[REL_MAX_WORDS] = {0};
    for (unsigned w = 0; w < words; w++)
        sources[w] = order_before(&x->ib, a, words)[w] & x->instant[w];
    if (bit_test(x->instant, a))
        bit_set(sources, a);
    FOR_BITS(s, sources, words)
    if (!order_add_many(&x->hb, s, order_after(&x->ib, s, words), words))
        return false;
    return true;
}

static void log_edge(struct edge_log *log, struct edge edge)
{
    if (log->n == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 64;
        log->edges = xrealloc(log->edges, log->capacity * sizeof *log->edges);
    }
    log->edges[log->n++] = edge;
    log->refused += edge.refused;
}

bool execution_edge(struct execution *x, enum edge_kind kind, unsigned a, unsigned b, unsigned orders)
{
    bool added = !(orders & FORBIDDEN) && (!(orders & IN_IB) || add_ib(x, a, b)) &&
                 (!(orders & IN_HB) || order_add(&x->hb, a, b, x->words));
    if (x->log)
        log_edge(x->log, (struct edge){(uint16_t)a, (uint16_t)b, (uint8_t)kind, (uint8_t)orders, !added});
    return added || x->relaxed;
}

static bool is_store(const struct event *e)
{
    return e->lib == LIB_TSO ? e->type == T_LW : e->type == S_CW;
}

static bool is_load(const struct event *e)
{
    return e->lib == LIB_TSO ? e->type == T_LR : e->type == S_CR;
}

/* A store and a load of one thread: the pairs that a store buffer may hide from others (rf_b, rf_i; rb_b,
 * rb_i). */
static bool own_store_and_load(const struct event *store, const struct event *load)
{
    return store->thread == load->thread && is_store(store) && is_load(load);
}

unsigned rf_orders(const struct execution *x, unsigned w, unsigned r)
{
    const struct event *write = &x->events[w], *read = &x->events[r];
    bool own = own_store_and_load(write, read);
    switch (read->lib) {
    case LIB_SV:
        return own && write->call < read->call ? 0 : IN_HB;
    case LIB_SC:
        return IN_HB;
    default:
        return own ? IN_IB : IN_IB | IN_HB;
    }
}

unsigned rb_orders(const struct execution *x, unsigned r, unsigned w)
{
    const struct event *write = &x->events[w], *read = &x->events[r];
    bool own = own_store_and_load(write, read);
    switch (read->lib) {
    case LIB_SV:
        return own && write->call < read->call ? FORBIDDEN : IN_HB;
    case LIB_SC:
        return IN_HB;
    default:
        return own ? IN_IB | IN_HB : IN_HB;
    }
}

static bool add_rb(struct execution *x, unsigned r, unsigned w)
{
    return r == w || execution_edge(x, EDGE_RB, r, w, rb_orders(x, r, w));
}

/* --- reads and writes --- */

static uint64_t *row(uint64_t *rows, unsigned i, unsigned words)
{
    return rows + (size_t)i * words;
}

void execution_open_pair(struct execution *x, enum pair_kind kind, unsigned a, unsigned b)
{
    if (x->n_pairs == x->pair_capacity) {
        x->pair_capacity = x->pair_capacity ? 2 * x->pair_capacity : 64;
        x->pairs = xrealloc(x->pairs, x->pair_capacity * sizeof *x->pairs);
    }
    x->pairs[x->n_pairs++] = (struct pair){(uint16_t)a, (uint16_t)b, (uint8_t)kind};
}

/* Adds the new write w to its location: it is to be ordered with the others. */
static void add_write(struct execution *x, unsigned w)
{
    unsigned loc = x->events[w].loc, words = x->words;
    uint64_t *writes = row(x->writes, loc, words);
    FOR_BITS(other, writes, words)
    execution_open_pair(x, PAIR_MO, other, w);
    bit_set(writes, w);
    FOR_BITS(r, row(x->init_readers, loc, words), words)
    add_rb(x, r, w);
}

/* sv: a thread never misses its own store, so its earlier stores come before what it reads (section 6). */
static bool not_before_own_stores(struct execution *x, unsigned r, int w)
{
    const struct event *read = &x->events[r];
    for (unsigned i = 0; i < x->n_pairs;) {
        const struct pair pair = x->pairs[i];
        int other = pair.a == w ? pair.b : pair.b == w ? pair.a : NO_EVENT;
        if (pair.kind == PAIR_MO && other != NO_EVENT && own_store_and_load(&x->events[other], read) &&
            x->events[other].call < read->call) {
            if (!execution_decide(x, i, pair.a == other))
                return false;
        } else
            i++;
    }
    return true;
}

unsigned execution_add_read(struct execution *x, struct event e, unsigned loc)
{
    e.reads = true;
    e.loc = (uint16_t)loc;
    return execution_add(x, &e);
}

/* The new event is before nothing, so that the rb edges towards it cannot close a cycle; they are forbidden
 * only to sv's own loads, which are older than their thread's later stores. */
static unsigned add_writing(struct execution *x, const struct event *e)
{
    unsigned w = execution_add(x, e);
    add_write(x, w);
    return w;
}

unsigned execution_add_written(struct execution *x, struct event e, unsigned loc, uint64_t value)
{
    e.writes = e.written_known = true;
    e.loc = (uint16_t)loc;
    e.written = value;
    return add_writing(x, &e);
}

unsigned execution_add_copied(struct execution *x, struct event e, unsigned loc, int from, uint64_t add)
{
    e.writes = true;
    e.loc = (uint16_t)loc;
    e.from = (int16_t)from;
    e.add = add;
    return add_writing(x, &e);
}

bool execution_set_rf(struct execution *x, unsigned r, int w)
{
    unsigned words = x->words, loc = x->events[r].loc;
    uint64_t later[REL_MAX_WORDS];
    x->events[r].rf = (int16_t)w;
    memcpy(later, row(x->writes, loc, words), words * sizeof *later);
    if (w == RF_INIT)
        bit_set(row(x->init_readers, loc, words), r);
    else {
        bit_set(row(x->readers, (unsigned)w, words), r);
        if (!execution_edge(x, EDGE_RF, (unsigned)w, r, rf_orders(x, (unsigned)w, r)))
            return false;
        for (unsigned i = 0; i < words; i++)
            later[i] &= order_after(&x->hb, (unsigned)w, words)[i];
    }
    FOR_BITS(other, later, words)
    if (!add_rb(x, r, other))
        return false;
    return x->events[r].lib != LIB_SV || w == RF_INIT || not_before_own_stores(x, r, w);
}

bool execution_may_read(const struct execution *x, unsigned r, int w)
{
    const struct event *read = &x->events[r];
    bool known = w == RF_INIT || x->events[w].written_known;
    uint64_t value = w == RF_INIT ? x->program->locs[read->loc].init : x->events[w].written;
    if (known && read->need != NO_NEED && !op_compare(read->need, value, read->need_v))
        return false;
    if (w == RF_INIT ? read->not_before > 0 : (unsigned)w == r || (unsigned)w < read->not_before)
        return false;
    if (x->relaxed)
        return true;
    if (w == RF_INIT)
        return !bits_meet(row(x->writes, read->loc, x->words), order_before(&x->hb, r, x->words), x->words);
    if (bit_test(order_after(&x->ib, r, x->words), (unsigned)w))
        return false;
    /* An own store may reach the load before it reaches memory, so before what follows the load (rf_i, rf_b). */
    return !(rf_orders(x, (unsigned)w, r) & IN_HB) ||
           !bit_test(order_after(&x->hb, r, x->words), (unsigned)w);
}

/* --- open pairs --- */

static bool order_release(struct execution *x, unsigned acquire, unsigned later)
{
    const struct event *a = &x->events[acquire];
    if (a->partner == NO_EVENT)
        return false; /* never released: nothing comes after it */
    for (unsigned i = 0; i < a->partners; i++)
        if (!execution_edge(x, EDGE_LO, (unsigned)a->partner + i, later, IN_HB))
            return false;
    return true;
}

bool execution_force(struct execution *x, unsigned a, unsigned b)
{
    if (!execution_edge(x, EDGE_MO, a, b, IN_HB))
        return false;
    FOR_BITS(r, row(x->readers, a, x->words), x->words)
    if (!add_rb(x, r, b))
        return false;
    return true;
}

bool execution_decide(struct execution *x, unsigned i, bool forward)
{
    struct pair pair = x->pairs[i];
    unsigned a = forward ? pair.a : pair.b, b = forward ? pair.b : pair.a;
    x->pairs[i] = x->pairs[--x->n_pairs];
    switch (pair.kind) {
    case PAIR_NFO:
        return execution_edge(x, EDGE_NFO, a, b, IN_IB | IN_HB);
    case PAIR_RAO:
        return execution_edge(x, EDGE_RAO, a, b, IN_HB) &&
               (x->events[a].partner == NO_EVENT ||
                execution_edge(x, EDGE_AR, (unsigned)x->events[a].partner, b, IN_HB));
    case PAIR_LO:
        return order_release(x, a, b);
    default:
        return execution_force(x, a, b);
    }
}

static bool excludes_mo(const struct execution *x, unsigned a, unsigned b)
{
    unsigned words = x->words;
    const uint64_t *after = order_after(&x->hb, b, words), *readers = row(x->readers, a, words);
    if (bit_test(after, a) || bits_meet(after, readers, words))
        return true;
    if (!is_store(&x->events[b]))
        return false;
    const uint64_t *issued_after = order_after(&x->ib, b, words);
    const uint64_t *own = row(x->of_thread, x->events[b].thread, words);
    uint64_t any = 0;
    for (unsigned w = 0; w < words; w++)
        any |= issued_after[w] & readers[w] & own[w] & x->cpu_reads[w];
    return any != 0;
}

bool execution_excludes(const struct execution *x, const struct pair *pair, bool forward)
{
    unsigned a = forward ? pair->a : pair->b, b = forward ? pair->b : pair->a;
    const uint64_t *after = order_after(&x->hb, b, x->words);
    const struct event *first = &x->events[a];
    switch (pair->kind) {
    case PAIR_MO:
        return excludes_mo(x, a, b);
    case PAIR_NFO:
        return bit_test(after, a) || bit_test(order_after(&x->ib, b, x->words), a);
    case PAIR_RAO:
        return bit_test(after, a) ||
               (first->partner != NO_EVENT && bit_test(after, (unsigned)first->partner));
    default:
        if (first->partner == NO_EVENT)
            return x->ended >> first->thread & 1;
        for (unsigned i = 0; i < first->partners; i++)
            if (bit_test(after, (unsigned)first->partner + i))
                return true;
        return false;
    }
}

/* The order of two acquires has no effect before both releases are there, or are known never to come. */
static bool dormant(const struct execution *x, const struct pair *pair)
{
    if (pair->kind != PAIR_LO)
        return false;
    const struct event *a = &x->events[pair->a], *b = &x->events[pair->b];
    return (a->partner == NO_EVENT && !(x->ended >> a->thread & 1)) ||
           (b->partner == NO_EVENT && !(x->ended >> b->thread & 1));
}

bool execution_propagate(struct execution *x)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = 0; i < x->n_pairs;) {
            const struct pair pair = x->pairs[i];
            bool no_forward = execution_excludes(x, &pair, true),
                 no_backward = execution_excludes(x, &pair, false);
            if (no_forward && no_backward && !x->relaxed)
                return false;
            if ((no_forward || no_backward) && !dormant(x, &pair)) {
                if (!execution_decide(x, i, no_backward))
                    return false;
                changed = true;
            } else
                i++;
        }
    }
    return true;
}

/* --- values --- */

static bool read_value(struct execution *x, struct event *e, bool *changed)
{
    if (!e->reads || e->read_known || e->rf == RF_OPEN)
        return true;
    if (e->rf != RF_INIT && !x->events[e->rf].written_known)
        return true;
    e->read = e->rf == RF_INIT ? (e->loc == PROG_NO_LOC ? e->read : x->program->locs[e->loc].init)
                               : x->events[e->rf].written;
    e->read_known = *changed = true;
    return e->need == NO_NEED || op_compare(e->need, e->read, e->need_v);
}

bool execution_values(struct execution *x)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (unsigned i = 0; i < x->n; i++) {
            struct event *e = &x->events[i];
            if (!read_value(x, e, &changed))
                return false;
            if (e->writes && !e->written_known && e->from != NO_EVENT && x->events[e->from].read_known) {
                e->written = x->events[e->from].read + e->add;
                e->written_known = changed = true;
            }
        }
    }
    return true;
}
