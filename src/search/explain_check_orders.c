/* The relations of an execution by their definitions (sections 3 to 8), as matrices. */
#include "base/arena.h"
#include "search/explain_check.h"

#include <string.h>

/* The tables as sections 3 and 4 print them, rows the earlier event. */
static const char *const ippo_table[T_TYPES] = {
    "YYYYYYYYYYYY", /* lR */
    "YYYYYYYYYYYY", /* lW */
    "YYYYYYYYYYYY", /* CAS */
    "YYYYYYYYYYYY", /* F */
    "YYYYYYYYYYYY", /* P */
    "     sssssss", /* nlR */
    "      ssssss", /* nrW */
    "      ssssss", /* naR */
    "      ssssss", /* naW */
    "          ss", /* nrR */
    "          ss", /* nlW */
    "     sssssss", /* nF */
};

static const char *const sto_table[S_STAMPS] = {
    "YYYYYYYYYYYY", /* aCR */
    " YYY YYYYYYY", /* aCW */
    "YYYYYYYYYYYY", /* aCAS */
    "YYYYYYYYYYYY", /* aMF */
    "YYYYYYYYYYYY", /* aWT */
    "     sssssss", /* aNLR */
    "      ssss s", /* aNRW */
    "      ssssss", /* aNAR */
    "         sss", /* aNRR */
    "         s s", /* aNLW */
    "     sssssss", /* aRF */
    "YYYYYYYYYYYY", /* aGF */
};

/* ippo less these is oppo. */
static bool is_issue_only(unsigned a, unsigned b)
{
    return (a == T_LW && b == T_LR) || (a == T_LW && b == T_P) || (a == T_NRW && b == T_NF) ||
           (a == T_NAW && b == T_NF) || (a == T_NLW && b == T_NF) || (a == T_NAW && b == T_NLW);
}

static bool marked(char mark, bool same)
{
    return mark == 'Y' || (mark == 's' && same);
}

static bool is(const struct event *e, int tso, int stamp)
{
    return e->type == (e->lib == LIB_TSO ? tso : stamp);
}

static bool is_base(const struct event *e)
{
    return e->lib == LIB_TSO || e->lib == LIB_WAIT;
}

bool is_instantaneous(const struct event *e)
{
    return !is(e, T_LW, S_CW) && !is(e, T_NRW, S_NRW) && !is(e, T_NLW, S_NLW) && !is(e, T_NAW, S_NRW);
}

bool is_own_store_and_load(const struct event *store, const struct event *load)
{
    return store->thread == load->thread && is(store, T_LW, S_CW) && is(load, T_LR, S_CR);
}

bool is_atomic_read(const struct event *e)
{
    return is_base(e) && is(e, T_NAR, S_NAR);
}

static bool is_remote_write(const struct event *e)
{
    return is_base(e) && (is(e, T_NRW, S_NRW) || is(e, T_NAW, S_NRW));
}

bool must_not_overlap(const struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    if (x->thread != y->thread || !is_base(x) || !is_base(y) || x->node != y->node)
        return false;
    bool read_x = is(x, T_NRR, S_NRR) || is_atomic_read(x), read_y = is(y, T_NRR, S_NRR) || is_atomic_read(y);
    return (is(x, T_NLR, S_NLR) && is(y, T_NLW, S_NLW)) || (is(x, T_NLW, S_NLW) && is(y, T_NLR, S_NLR)) ||
           (read_x && is_remote_write(y)) || (is_remote_write(x) && read_y);
}

static bool is_acquire(const struct event *e)
{
    return e->lib == LIB_LOCK && e->type == S_MF;
}

int release_of(const struct checker *c, unsigned acquire)
{
    const struct event *a = &c->e->events[acquire];
    for (unsigned i = acquire + 1; i < c->n; i++) {
        const struct event *e = &c->e->events[i];
        if (e->lib == LIB_LOCK && e->object == a->object && e->thread == a->thread)
            return is_acquire(e) ? NO_EVENT : (int)i;
    }
    return NO_EVENT;
}

/* --- filling --- */

static void relate(struct checker *c, enum relation r, unsigned a, unsigned b, bool yes)
{
    *cell_of(c, r, a, b) |= yes;
}

static void fill_program_order(struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    bool same = x->node == y->node;
    if (x->thread != y->thread)
        return;
    if (x->lib == LIB_TSO) {
        bool ordered = marked(ippo_table[x->type][y->type], same);
        relate(c, R_PO, a, b, a < b);
        relate(c, R_IPPO, a, b, a < b && ordered);
        relate(c, R_PPO, a, b, a < b && ordered && !is_issue_only(x->type, y->type));
        return;
    }
    bool po = x->call < y->call, ordered = marked(sto_table[x->type][y->type], same);
    bool base = x->lib == LIB_WAIT && y->lib == LIB_WAIT;
    bool added = (x->type == S_CW && y->type == S_CR) || (x->type == S_CW && y->type == S_WT) ||
                 ((x->type == S_NRW || x->type == S_NLW) && y->type == S_RF && same);
    relate(c, R_PO, a, b, po);
    relate(c, R_PPO, a, b, po && ordered);
    relate(c, R_IPPO, a, b, po && base && (ordered || added));
}

static void fill_iso(struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    if (x->thread != y->thread || x->call != y->call || x->lib == LIB_TSO || x->lib != y->lib)
        return;
    switch (x->lib) {
    case LIB_WAIT:
        relate(c, R_ISO, a, b,
               (x->type == S_MF && y->type == S_CR) || (x->type == S_NLR && y->type == S_NRW) ||
                   (x->type == S_NRR && y->type == S_NLW) ||
                   (x->type == S_NAR && (y->type == S_NLW || y->type == S_NRW)));
        break;
    case LIB_SV:
        relate(c, R_ISO, a, b, x->type == S_NLR && y->type == S_NRW && x->node == y->node);
        break;
    case LIB_LOCK:
        relate(c, R_ISO, a, b, x->type == S_RF && y->type == S_NRW);
        break;
    default:
        break;
    }
}

/* Section 5: from the writes of an operation to a later wait for its work id. Section 6: from the reads of a
 * broadcast. */
static void fill_waits(struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    if (y->lib == LIB_TSO || y->type != S_WT || x->lib != y->lib || !related(c, R_PO, a, b) ||
        x->wid != y->wid)
        return;
    relate(c, R_PFG, a, b, x->lib == LIB_WAIT ? x->type == S_NLW : x->type == S_NLR);
    relate(c, R_PFP, a, b, x->lib == LIB_WAIT && x->type == S_NRW);
}

/* What was chosen: the edges say. */
static void fill_chosen(struct checker *c)
{
    const struct explanation *e = c->e;
    for (unsigned i = 0; i < e->n_edges; i++) {
        const struct edge *edge = &e->edges[i];
        unsigned a = edge->from, b = edge->to;
        switch (edge->kind) {
        case EDGE_MO:
            relate(c, R_MO, a, b, true);
            break;
        case EDGE_NFO:
            relate(c, R_NFO, a, b, true);
            break;
        case EDGE_RAO:
            relate(c, R_RAO, a, b, true);
            break;
        case EDGE_LO:
            relate(c, R_LO, a, b, true);
            break;
        case EDGE_PF:
            if (e->events[b].lib == LIB_TSO)
                relate(c, e->events[a].type == T_NLW ? R_PFG : R_PFP, a, b, true);
            break;
        default:
            break;
        }
    }
}

static void fill_reads(struct checker *c, unsigned r)
{
    const struct event *read = &c->e->events[r];
    if (!read->reads || read->loc == PROG_NO_LOC)
        return;
    if (read->rf != RF_INIT && read->rf >= 0)
        relate(c, R_RF, (unsigned)read->rf, r, true);
    for (unsigned w = 0; w < c->n; w++)
        if (w != r && c->e->events[w].writes && c->e->events[w].loc == read->loc)
            relate(c, R_RB, r, w, read->rf == RF_INIT || related(c, R_MO, (unsigned)read->rf, w));
}

/* From the write half of a remote RMW to each that is executed later. */
static void fill_ar(struct checker *c, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    for (unsigned w = 0; w < c->n && related(c, R_RAO, a, b); w++) {
        const struct event *write = &c->e->events[w];
        relate(c, R_AR, w, b,
               write->thread == x->thread && write->call == x->call && is_remote_write(write) &&
                   is_atomic_read(y));
    }
}

void fill_relations(struct checker *c)
{
    for (unsigned r = 0; r < RELATIONS; r++)
        c->matrix[r] = ARENA_ARRAY(c->arena, bool, (size_t)c->n * c->n + 1);
    fill_chosen(c);
    for (unsigned a = 0; a < c->n; a++)
        for (unsigned b = 0; b < c->n; b++) {
            fill_program_order(c, a, b);
            fill_iso(c, a, b);
            fill_waits(c, a, b);
            fill_ar(c, a, b);
        }
    for (unsigned r = 0; r < c->n; r++)
        fill_reads(c, r);
}

/* --- ib and hb --- */

bool step_in_ib(const struct checker *c, enum edge_kind kind, unsigned a, unsigned b)
{
    const struct event *x = &c->e->events[a], *y = &c->e->events[b];
    if (!is_base(x) || !is_base(y))
        return false;
    switch (kind) {
    case EDGE_PPO:
        return related(c, R_IPPO, a, b);
    case EDGE_ISO:
        return related(c, R_ISO, a, b);
    case EDGE_RF:
        return related(c, R_RF, a, b);
    case EDGE_PF:
        return related(c, R_PFG, a, b) || related(c, R_PFP, a, b);
    case EDGE_NFO:
        return related(c, R_NFO, a, b);
    case EDGE_RB:
        return related(c, R_RB, a, b) && is_own_store_and_load(y, x);
    default:
        return false;
    }
}

/* Section 6 leaves out what a thread reads of its own earlier stores; sections 3 and 5, of all its stores. */
static bool is_external(const struct checker *c, unsigned w, unsigned r)
{
    const struct event *x = &c->e->events[w], *y = &c->e->events[r];
    switch (y->lib) {
    case LIB_SC:
        return true;
    case LIB_SV:
        return !(is_own_store_and_load(x, y) && related(c, R_PO, w, r));
    default:
        return !is_own_store_and_load(x, y);
    }
}

bool step_in_hb(const struct checker *c, enum edge_kind kind, unsigned a, unsigned b)
{
    switch (kind) {
    case EDGE_PPO:
        return related(c, R_PPO, a, b);
    case EDGE_ISO:
        return related(c, R_ISO, a, b);
    case EDGE_RF:
        return related(c, R_RF, a, b) && is_external(c, a, b);
    case EDGE_RB:
        return related(c, R_RB, a, b);
    case EDGE_MO:
        return related(c, R_MO, a, b);
    case EDGE_NFO:
        return related(c, R_NFO, a, b);
    case EDGE_RAO:
        return related(c, R_RAO, a, b);
    case EDGE_AR:
        return related(c, R_AR, a, b);
    case EDGE_PF:
        return related(c, R_PFG, a, b);
    default:
        return related(c, R_LO, a, b);
    }
}

static void close_relation(struct checker *c, enum relation r)
{
    for (unsigned k = 0; k < c->n; k++)
        for (unsigned a = 0; a < c->n; a++)
            if (related(c, r, a, k))
                for (unsigned b = 0; b < c->n; b++)
                    relate(c, r, a, b, related(c, r, k, b));
}

static bool reflexive(const struct checker *c, enum relation r)
{
    bool found = false;
    for (unsigned a = 0; a < c->n; a++)
        found |= related(c, r, a, a);
    return found;
}

const char *check_consistent(struct checker *c)
{
    for (unsigned kind = EDGE_PPO; kind <= EDGE_LO; kind++)
        for (unsigned a = 0; a < c->n; a++)
            for (unsigned b = 0; b < c->n; b++) {
                relate(c, R_IB, a, b, step_in_ib(c, kind, a, b));
                relate(c, R_HB, a, b, step_in_hb(c, kind, a, b));
            }
    close_relation(c, R_IB);
    if (reflexive(c, R_IB))
        return "issue order has a cycle";
    for (unsigned a = 0; a < c->n; a++)
        for (unsigned b = 0; b < c->n; b++)
            relate(c, R_HB, a, b, is_instantaneous(&c->e->events[a]) && related(c, R_IB, a, b));
    close_relation(c, R_HB);
    return reflexive(c, R_HB) ? "happens-before has a cycle" : NULL;
}
