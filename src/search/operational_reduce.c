/* The partial-order reduction of the operational engine: which moves of a compound state are taken at once and which are
 * explored. docs/reduction.md says why nothing is lost. */
#include "base/arena.h"
#include "search/operational.h"
#include "search/operational_moves.h"

#include <stdlib.h>

/* --- stubborn sets --- */

static bool single(move_set set)
{
    return set && !(set & (set - 1));
}

/* Enabled moves that depend on no other, nor on anything that is still to come. */
static move_set loose_moves(const struct moves *moves, move_set follow[MAX_MOVES])
{
    move_set loose = 0;
    for (unsigned t = 0; t < moves->n_threads; t++)
        for (move_set rest = moves->enabled & ~moves->spins & moves->of_thread[t]; rest; rest &= rest - 1) {
            unsigned move = (unsigned)__builtin_ctzll(rest);
            follow[move] = follows_own(moves, t, move - moves->first[t]);
            if (!follow[move])
                loose |= rest & -rest;
        }
    return loose;
}

/* The enabled moves to be explored: the fewest that a closure leaves, but never spin starts alone if there is anything
 * else. `follow` is known of the enabled moves that don't start a spin iteration. */
static move_set choose(const struct moves *moves, move_set follow[MAX_MOVES])
{
    move_set best = moves->enabled, starts = moves->enabled & ~moves->spins, known = starts, closed = 0;
    move_set closure[MAX_MOVES];
    int fewest = MAX_MOVES + 1;
    for (; starts && fewest > 1; starts &= starts - 1) {
        unsigned first = (unsigned)__builtin_ctzll(starts);
        move_set set = starts & -starts, todo = set;
        while (todo) {
            unsigned move = (unsigned)__builtin_ctzll(todo);
            move_set bit = todo & -todo;
            if (!(known & bit)) {
                follow[move] = follows(moves, move);
                known |= bit;
            }
            if (closed & bit) {
                set |= closure[move];
                todo &= ~closure[move];
                continue;
            }
            move_set new = follow[move] & ~set;
            set |= new;
            todo = (todo & ~bit) | new;
        }
        closure[first] = set;
        closed |= starts & -starts;
        set &= moves->enabled;
        int n = __builtin_popcountll(set);
        if (n < fewest) {
            fewest = n;
            best = set;
        }
    }
    return best;
}

/* Moves that are to be taken at once: `explore` is false; or to be explored: it is true. */
static move_set next_moves(const struct moves *moves, bool *explore)
{
    move_set follow[MAX_MOVES];
    *explore = false;
    if (single(moves->enabled) && !(moves->enabled & moves->spins))
        return moves->enabled;
    move_set set = loose_moves(moves, follow);
    *explore = !set;
    if (!set) {
        set = choose(moves, follow);
        *explore = !single(set) || (set & moves->spins);
    }
    return set;
}

/* --- taking moves --- */

enum effect compound_take(struct worker *w, unsigned t, unsigned move)
{
    struct parts *parts = w->search->parts;
    if (w->log.on)
        log_step(&w->log.steps, part_move_step(parts, w->state, t, move));
    const struct transition *transition = part_step(parts, w->state, t, move, &w->packed);
    if (transition->effect != EFFECT_OK)
        return (enum effect)transition->effect;
    compound_parts(w->state)[t] = transition->after;
    if (transition->loc != PROG_NO_LOC)
        compound_memory(parts, w->state)[transition->loc] = transition->wrote;
    if (transition->atomic > 0)
        *state_atomics(w->state) |= UINT64_C(1) << transition->node;
    else if (transition->atomic < 0)
        *state_atomics(w->state) &= ~(UINT64_C(1) << transition->node);
    return EFFECT_OK;
}

/* One move of each thread: those after it stand in another part then. */
static enum effect take_all(struct worker *w, const struct moves *moves, move_set set)
{
    enum effect effect = EFFECT_OK;
    while (set && effect == EFFECT_OK) {
        unsigned move = (unsigned)__builtin_ctzll(set), t = move_thread(moves, move);
        unsigned next = moves->first[t + 1];
        set &= next == MAX_MOVES ? 0 : ~(move_set)0 << next;
        effect = compound_take(w, t, move - moves->first[t]);
    }
    return effect;
}

/* --- the next state to be stored --- */

/* Whether this worker has lately been in this state, stored or not; if not, it now has. */
static bool been_there(struct worker *w, struct fingerprint print)
{
    if (w->n_recent <= w->stored && w->n_recent < RECENT_LAST) {
        free(w->recent);
        w->n_recent = w->n_recent ? 4 * w->n_recent : RECENT_FIRST;
        w->recent = xcalloc(w->n_recent, sizeof *w->recent);
    }
    struct fingerprint *slot = &w->recent[print.low & (w->n_recent - 1)];
    if (slot->high == print.high && slot->low == print.low)
        return true;
    *slot = print;
    return false;
}

static void add_step(struct worker *w, unsigned *n, unsigned t, unsigned move)
{
    worker_reserve_steps(w, *n + 1);
    w->steps[(*n)++] = (struct step){.thread = (uint8_t)t, .at = (uint16_t)move};
}

static void list_moves(struct worker *w, const struct moves *moves, move_set set, unsigned *n)
{
    for (; set; set &= set - 1) {
        unsigned move = (unsigned)__builtin_ctzll(set), t = move_thread(moves, move);
        add_step(w, n, t, move - moves->first[t]);
    }
}

/* --- with too many moves for sets of them: whole threads --- */

/* Threads with moves that some move of thread t makes part of a set to explore. */
static uint64_t threads_following(const struct worker *w, unsigned t)
{
    const struct parts *parts = w->search->parts;
    const struct machine *m = w->search->machine;
    const struct part *part = part_get(parts, get_compound_parts(w->state)[t]);
    uint64_t threads = UINT64_C(1) << t;
    for (unsigned u = 0; u < m->n_threads; u++) {
        const struct part *other = part_get(parts, get_compound_parts(w->state)[u]);
        move_set touched = other->holds && part->rmws; /* it may hold an A[n] that t waits for */
        for (unsigned own = 0; own < part->n && !touched; own++) {
            for (uint64_t rest = part->move[own].reads & ~part->move[own].writes; rest; rest &= rest - 1)
                touched |= other->touching[__builtin_ctzll(rest)];
            for (uint64_t rest = part->move[own].writes; rest; rest &= rest - 1)
                touched |= other->touching[m->n_bits + (unsigned)__builtin_ctzll(rest)];
        }
        threads |= (uint64_t)(touched != 0) << u;
    }
    return threads;
}

static uint64_t threads_closure(const struct worker *w, unsigned t)
{
    uint64_t set = UINT64_C(1) << t, todo = set;
    while (todo) {
        uint64_t new = threads_following(w, (unsigned)__builtin_ctzll(todo)) & ~set;
        set |= new;
        todo = (todo & (todo - 1)) | new;
    }
    return set;
}

/* Lists all that is enabled in these threads; whether anything of it is not the start of a spin iteration. */
static bool list_threads(struct worker *w, uint64_t threads, unsigned *n)
{
    const struct parts *parts = w->search->parts;
    bool fit = false;
    for (*n = 0; threads; threads &= threads - 1) {
        unsigned t = (unsigned)__builtin_ctzll(threads);
        const struct part *part = part_get(parts, get_compound_parts(w->state)[t]);
        for (move_set rest = enabled_moves(parts, part, w->state); rest; rest &= rest - 1) {
            fit |= !(part->spins & rest & -rest);
            add_step(w, n, t, (unsigned)__builtin_ctzll(rest));
        }
    }
    return fit;
}

static void list_crowd(struct worker *w, unsigned *n_steps)
{
    unsigned threads = w->search->machine->n_threads, n = 0;
    uint64_t best = ~UINT64_C(0) >> (64 - threads);
    list_threads(w, best, n_steps);
    for (unsigned t = 0; t<threads && * n_steps> 1; t++) {
        uint64_t set = threads_closure(w, t);
        if (list_threads(w, set, &n) && n < *n_steps) {
            best = set;
            *n_steps = n;
        }
    }
    list_threads(w, best, n_steps);
}

static bool crowded(const struct worker *w)
{
    for (unsigned t = 0; t < w->search->machine->n_threads; t++)
        if (part_get(w->search->parts, get_compound_parts(w->state)[t])->crowded)
            return true;
    return false;
}

/* Between two stored states there may be a long way. */
static bool halted_on_the_way(struct worker *w)
{
    if (++w->turns % 16384 != 0)
        return false;
    check_time_and_memory(w->search, 0);
    return atomic_load(&w->search->halted) != DONE;
}

enum effect reduce(struct worker *w, unsigned *n_steps, struct fingerprint *print)
{
    struct parts *parts = w->search->parts;
    struct moves moves;
    enum effect effect = EFFECT_OK;
    *n_steps = 0;
    while (effect == EFFECT_OK) {
        if (w->search->symmetry)
            symmetry_sort(w->search, w->state);
        *print = visited_fingerprint(w->state, parts->compound_size);
        if (been_there(w, *print) || halted_on_the_way(w))
            return EFFECT_DROPPED;
        if (!find_moves(parts, w->state, &moves)) {
            if (crowded(w))
                halt(w->search, TOO_CROWDED);
            list_crowd(w, n_steps);
            break;
        }
        bool explore;
        move_set set = next_moves(&moves, &explore);
        if (explore) {
            list_moves(w, &moves, set, n_steps);
            break;
        }
        effect = take_all(w, &moves, set);
    }
    return effect;
}
