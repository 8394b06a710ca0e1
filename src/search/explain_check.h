/* What the parts of explanation_check share. All of it is a second reading of sections 3 to 8, kept apart from
 * model/ on purpose: plain matrices, filled by the definitions as they stand there. */
#ifndef REMORA_SEARCH_EXPLAIN_CHECK_H
#define REMORA_SEARCH_EXPLAIN_CHECK_H

#include "search/explain.h"

enum relation {
    R_PO,   /* between calls; section 3: between events */
    R_PPO,  /* what program order keeps: ppo, oppo */
    R_IPPO, /* … in issue order: ippo */
    R_ISO,
    R_RF,
    R_RB,
    R_MO,
    R_NFO,
    R_RAO,
    R_AR,
    R_PFG, /* completions that count in happens-before */
    R_PFP, /* completions that count in issue order only */
    R_LO,  /* release to acquire */
    R_IB,  /* closed */
    R_HB,  /* closed */
    RELATIONS
};

struct checker {
    struct arena *arena;
    const struct explanation *e;
    unsigned n;
    bool *matrix[RELATIONS];
};

static inline bool *cell_of(const struct checker *c, enum relation r, unsigned a, unsigned b)
{
    return &c->matrix[r][(size_t)a * c->n + b];
}

static inline bool related(const struct checker *c, enum relation r, unsigned a, unsigned b)
{
    return *cell_of(c, r, a, b);
}

/* Each returns NULL, or what is wrong. */

/* The events are those of the program's calls when its reads have these values, and the row is what such a run
 * shows. */
const char *check_program(struct checker *);
/* Fills all relations but ib and hb from events and edges. */
void fill_relations(struct checker *);
/* rf, mo, nfo, rao, lo and completions are as an execution must have them. */
const char *check_well_formed(const struct checker *);
/* Fills ib and hb and says whether they are irreflexive. */
const char *check_consistent(struct checker *);

/* Tells about events. */
bool is_atomic_read(const struct event *);
bool is_instantaneous(const struct event *);
bool is_own_store_and_load(const struct event *store, const struct event *load);
bool must_not_overlap(const struct checker *, unsigned a, unsigned b);
/* The release that gives back what this acquire took: its first event, or NO_EVENT. */
int release_of(const struct checker *, unsigned acquire);
/* Does the single step count in issue order, in happens-before? */
bool step_in_ib(const struct checker *, enum edge_kind, unsigned a, unsigned b);
bool step_in_hb(const struct checker *, enum edge_kind, unsigned a, unsigned b);

#endif
