/* Explanations in words. Each edge of an execution says why it is there. */
#include "base/arena.h"
#include "search/explain.h"
#include "search/explain_words.h"

#include <inttypes.h>

static const char *type_name(struct arena *arena, const struct event *e)
{
    if (e->lib == LIB_TSO)
        return tso_is_nic(e->type) || e->type == T_P
                   ? arena_printf(arena, "%s_%u", tso_name(e->type), e->node)
                   : tso_name(e->type);
    return stamp_has_node(e->type) ? arena_printf(arena, "%s_%u", stamp_name(e->type), e->node)
                                   : stamp_name(e->type);
}

static const char *value(struct arena *arena, uint64_t v)
{
    return v > UINT64_MAX - 1024 ? arena_printf(arena, "-%" PRIu64, 0 - v)
                                 : arena_printf(arena, "%" PRIu64, v);
}

static const char *location(const struct program *program, const struct event *e)
{
    return e->loc == PROG_NO_LOC ? "inline" : program->locs[e->loc].name;
}

const char *event_label(struct arena *arena, const struct program *program, const struct event *e)
{
    const char *type = type_name(arena, e);
    if (e->lib == LIB_LOCK)
        return arena_printf(arena, "%s %s", type, program->locks[e->object].name);
    if (e->reads && e->writes)
        return arena_printf(arena, "%s %s=%s→%s", type, location(program, e), value(arena, e->read),
                            value(arena, e->written));
    if (e->reads)
        return arena_printf(arena, "%s %s=%s", type, location(program, e), value(arena, e->read));
    if (e->writes)
        return arena_printf(arena, "%s %s:=%s", type, location(program, e), value(arena, e->written));
    return type;
}

const char *explain_event(struct arena *arena, const struct explanation *e, unsigned event)
{
    const struct event *ev = &e->events[event];
    uint32_t line;
    const char *text = e->program->ops->describe(e->program, ev->where, &line);
    return arena_printf(arena, "P%u  %s: %s  [%s]", ev->thread, text, event_words(arena, e->program, ev),
                        type_name(arena, ev));
}

bool is_final_write(const struct explanation *e, unsigned event)
{
    for (unsigned i = 0; i < e->n_observables; i++)
        if (!e->observables[i].is_reg && e->finals[i] == (int)event)
            return true;
    return false;
}

const char *edge_name(enum edge_kind kind)
{
    static const char *const names[] = {
        [EDGE_PPO] = "ppo", [EDGE_ISO] = "iso", [EDGE_RF] = "rf", [EDGE_RB] = "rb", [EDGE_MO] = "mo",
        [EDGE_NFO] = "nfo", [EDGE_RAO] = "rao", [EDGE_AR] = "ar", [EDGE_PF] = "pf", [EDGE_LO] = "lock"};
    return names[kind];
}

static const char *bare_name(const struct event *e)
{
    return e->lib == LIB_TSO ? tso_name(e->type) : stamp_name(e->type);
}

static const char *program_order(struct arena *arena, const struct event *a, const struct event *b,
                                 bool issued)
{
    bool only_issued = issued && !kept_in_hb(a, b);
    const char *order = only_issued || (issued && a->lib == LIB_TSO) ? "issue order"
                        : a->lib == LIB_TSO                          ? "observation order"
                                                                     : "stamp order";
    bool towards = a->lib == LIB_TSO ? tso_is_nic(a->type) : a->type >= S_NLR && a->type <= S_RF;
    return arena_printf(arena, "%s (%s%s %s→%s)",
                        only_issued ? "program order, in which these two begin" : kept_words(arena, a, b),
                        towards ? "same-node " : "", order, bare_name(a), bare_name(b));
}

static const char *same_operation(struct arena *arena, const struct event *a, const struct event *b)
{
    return arena_printf(arena, "%s (iso)", parts_words(a, b));
}

static const char *reading(struct arena *arena, const struct explanation *e, const struct event *w,
                           const struct event *r, const char *next)
{
    return arena_printf(arena, "%s reads %s=%s, which this one writes (rf)", next, location(e->program, w),
                        value(arena, r->read));
}

static const char *reading_before(struct arena *arena, const struct explanation *e, const struct edge *edge,
                                  const char *next)
{
    const struct event *r = &e->events[edge->from], *w = &e->events[edge->to];
    const char *loc = location(e->program, r), *old = value(arena, r->read), *new = value(arena, w->written);
    if (edge->orders & FORBIDDEN)
        return arena_printf(arena,
                            "it reads %s=%s and so misses %s:=%s, an earlier store of its own thread: a "
                            "thread never misses its own stores",
                            loc, old, loc, new);
    if (r->rf == RF_INIT)
        return arena_printf(arena, "it reads the initial %s=%s, so %s, which writes %s, comes later (rb)",
                            loc, old, next, new);
    return arena_printf(arena, "it reads %s=%s, so %s, which overwrites that by %s, comes later (rb)", loc,
                        old, next, new);
}

static const char *completion(const struct event *w)
{
    bool local = w->lib == LIB_TSO ? w->type == T_NLW : w->type == S_NLW;
    if (w->lib == LIB_SV)
        return "sv_wait returns only when the source of the broadcast has been read (pf)";
    if (local)
        return w->lib == LIB_TSO
                   ? "the poll takes this operation's completion: its result is in local memory (pf)"
                   : "the wait returns only when the result is in local memory (pf)";
    return w->lib == LIB_TSO
               ? "the poll takes this put's completion: its source has been read and may be reused (pf)"
               : "the wait returns only when the put is acknowledged: its source has been read (pf)";
}

const char *explain_edge(struct arena *arena, const struct explanation *e, const struct cycle_step *step,
                         const char *next)
{
    const struct event *a = &e->events[step->edge.from], *b = &e->events[step->edge.to];
    switch (step->edge.kind) {
    case EDGE_PPO:
        return program_order(arena, a, b, step->issued);
    case EDGE_ISO:
        return same_operation(arena, a, b);
    case EDGE_RF:
        return reading(arena, e, a, b, next);
    case EDGE_RB:
        return reading_before(arena, e, &step->edge, next);
    case EDGE_MO:
        if (is_final_write(e, step->edge.to))
            return arena_printf(
                arena, "%s is %s in the end, so this write comes before the one that leaves that (mo)",
                location(e->program, b), value(arena, b->written));
        return arena_printf(arena, "%s gets this value before that of %s (mo)", location(e->program, a),
                            next);
    case EDGE_NFO:
        return arena_printf(arena,
                            "on the queue pair to node %u the NIC does one of these two accesses after the "
                            "other, here this one first (nfo)",
                            a->node);
    case EDGE_RAO:
        return arena_printf(
            arena,
            "remote atomics towards node %u are executed one after the other, here this one first (rao)",
            a->node);
    case EDGE_AR:
        return arena_printf(
            arena, "a remote atomic towards node %u ends with its write, before the next one reads (ar)",
            a->node);
    case EDGE_PF:
        return completion(a);
    default:
        return arena_printf(arena, "lock %s is released before it is acquired again (lock order)",
                            e->program->locks[b->object].name);
    }
}
