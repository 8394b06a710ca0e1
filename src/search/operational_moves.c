/* Finds the moves of a state and their dependences (see operational_moves.h; the argument is in
 * docs/reduction.md). */
#include "search/operational_moves.h"

#include "model/machine_intern.h"
#include "model/machine_rules.h"

/* What is found on the way, besides the moves. */
struct survey {
    struct machine *m;
    const uint8_t *state;
    const uint16_t *ends;
    const entry_t *entries;
    struct moves *moves;
    bool overflow;
    move_set holder[PROG_MAX_NODES];  /* the move on which A[n]'s release depends */
    move_set blocked[PROG_MAX_NODES]; /* remote RMWs that wait for A[n], for */
    uint64_t blocked_nodes;           /* these n */
    uint64_t buffered_puts[PROG_MAX_THREADS],
        buffered_rmws[PROG_MAX_THREADS]; /* nodes; before any fence towards them */
    uint64_t buffered_fences[PROG_MAX_THREADS], buffered[PROG_MAX_THREADS];
};

static move_set one(int move)
{
    return move == NO_MOVE ? 0 : (move_set)1 << move;
}

static int add_move(struct survey *s, struct step step)
{
    struct moves *moves = s->moves;
    if (moves->n == MAX_MOVES) {
        s->overflow = true;
        return 0;
    }
    unsigned i = moves->n++;
    moves->reads[i] = moves->writes[i] = 0;
    moves->needs[i] = moves->apart[i] = 0;
    moves->steps[i] = step;
    return (int)i;
}

static void may_read(struct survey *s, int move, uint64_t memory)
{
    for (; memory; memory &= memory - 1)
        s->moves->readers[__builtin_ctzll(memory)] |= one(move);
}

static void may_write(struct survey *s, int move, uint64_t memory)
{
    for (; memory; memory &= memory - 1)
        s->moves->writers[__builtin_ctzll(memory)] |= one(move);
}

static void enable(struct survey *s, int move, uint64_t reads, uint64_t writes)
{
    s->moves->enabled |= one(move);
    s->moves->reads[move] = reads;
    s->moves->writes[move] = writes;
    may_read(s, move, reads);
    may_write(s, move, writes);
}

/* --- store buffers --- */

static void survey_buffered(struct survey *s, unsigned t, int move, entry_t entry)
{
    const struct machine *m = s->m;
    unsigned kind = entry_kind(entry), n = entry_node(m, entry);
    uint64_t node = UINT64_C(1) << n, open = node & ~s->buffered_fences[t];
    uint64_t remote = m->loc_bit[entry_loc(entry)], local = m->loc_bit[entry_local(entry)], writes;
    s->buffered[t] |= node;
    if (kind == E_FENCE) {
        s->buffered_fences[t] |= node;
        return;
    }
    if (KIND(kind) & KINDS_PUT) {
        s->buffered_puts[t] |= open;
        writes = remote;
        may_read(s, move, kind == E_PUT ? local : 0);
    } else if (kind == E_GET) {
        writes = local;
        may_read(s, move, remote);
    } else {
        s->buffered_rmws[t] |= open;
        writes = local | remote | m->atomic_bit[n];
        may_read(s, move, remote);
    }
    s->moves->nic_write[t] |= writes;
    may_write(s, move, writes);
}

static void survey_buffer(struct survey *s, unsigned t)
{
    const struct machine *m = s->m;
    struct moves *moves = s->moves;
    int move = (int)buffer_move(m, t);
    s->buffered_puts[t] = s->buffered_rmws[t] = s->buffered_fences[t] = s->buffered[t] = 0;
    moves->nic_write[t] = 0;
    moves->reads[move] = moves->writes[move] = moves->needs[move] = 0;
    const uint16_t *ends = buffer_of(m, s->state, t);
    if (ends[0] == ends[1])
        return;
    moves->steps[move] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, 0};
    moves->apart[move] = one((int)cpu_move(t));
    enable(s, move, 0, m->loc_bit[entry_loc(s->entries[ends[0]])]);
    for (unsigned i = ends[0]; i < ends[1]; i++) {
        if (entry_kind(s->entries[i]) == E_STORE)
            may_write(s, move, m->loc_bit[entry_loc(s->entries[i])]);
        else
            survey_buffered(s, t, move, s->entries[i]);
    }
}

/* The move before which the thread, with what it has not yet handed to the NIC, can't get a put (and, if
 * `any`, a remote RMW) into the pipe towards n; none if it never will, or a fence will come first. */
static move_set later_sends(const struct survey *s, unsigned t, unsigned n, bool any)
{
    uint64_t node = UINT64_C(1) << n;
    if ((s->buffered_puts[t] | (any ? s->buffered_rmws[t] : 0)) & node)
        return one((int)buffer_move(s->m, t));
    if (s->buffered_fences[t] & node)
        return 0;
    const struct local *local = local_of(s->m, s->state, t);
    return (local->put_nodes | (any ? local->rmw_nodes : 0)) & node ? one((int)cpu_move(t)) : 0;
}

/* --- queue pairs --- */

struct pair {
    const struct qp *qp;
    uint16_t q;
    bool wbr_empty, looped;
    int land_remote, land_local;
    int head;   /* the move that the head of the pipe waits for */
    int sender; /* the move that the oldest entry that will be sent into wbR waits for, if no fence is before
                   it */
    int put;    /* the oldest put's local read */
    bool put_before_fence;
    bool fence;
    move_set gets; /* reads of gets */
};

static bool pair_idle(const struct survey *s, const struct qp *qp)
{
    return s->ends[qp->fifo + PIPE] == s->ends[qp->fifo + WBL + 1];
}

static void may_write_remote(struct survey *s, const struct pair *pair, uint64_t loc)
{
    int move = pair->land_remote != NO_MOVE ? pair->land_remote : pair->fence ? pair->head : pair->sender;
    may_write(s, move, loc);
}

static void may_write_local(struct survey *s, const struct pair *pair, uint64_t loc)
{
    may_write(s, pair->land_local != NO_MOVE ? pair->land_local : pair->head, loc);
}

static void survey_landings(struct survey *s, struct pair *pair)
{
    const struct machine *m = s->m;
    const uint16_t *ends = s->ends + pair->qp->fifo;
    unsigned t = pair->qp->thread;
    if (!pair->wbr_empty) {
        entry_t first = s->entries[ends[WBR]];
        enum rule rule = entry_kind(first) == E_AW ? RULE_ATOMIC_LAND : RULE_PUT_LAND;
        pair->land_remote = add_move(s, (struct step){(uint8_t)rule, (uint8_t)t, pair->q, 0});
        enable(s, pair->land_remote, 0, m->loc_bit[entry_loc(first)]);
        if (!pair->looped)
            s->moves->apart[pair->land_remote] = one((int)cpu_move(t)) | one((int)buffer_move(m, t));
        for (unsigned i = ends[WBR]; i < ends[WBR + 1]; i++) {
            may_write(s, pair->land_remote, m->loc_bit[entry_loc(s->entries[i])]);
            if (entry_kind(s->entries[i]) == E_AW)
                s->holder[pair->qp->node] = one(pair->land_remote);
        }
    }
    for (unsigned i = ends[WBL]; i < ends[WBL + 1]; i++) {
        if (entry_kind(s->entries[i]) != E_LW)
            continue;
        uint64_t loc = m->loc_bit[entry_local(s->entries[i])];
        if (pair->land_local == NO_MOVE) {
            pair->land_local =
                add_move(s, (struct step){RULE_LOCAL_LAND, (uint8_t)t, pair->q, (uint16_t)(i - ends[WBL])});
            enable(s, pair->land_local, 0, loc);
        }
        may_write(s, pair->land_local, loc);
    }
}

static void block(struct survey *s, unsigned n, int move)
{
    s->blocked[n] = (s->blocked_nodes >> n & 1 ? s->blocked[n] : 0) | one(move);
    s->blocked_nodes |= UINT64_C(1) << n;
}

/* A get or remote RMW in the pipe: the move that its remote read waits for, a move of its own if nothing
 * older stops it. */
static int survey_read(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    const struct machine *m = s->m;
    unsigned n = pair->qp->node, t = pair->qp->thread;
    bool rmw = KIND(entry_kind(entry)) & KINDS_RMW;
    uint64_t loc = m->loc_bit[entry_loc(entry)];
    int move = pair->fence ? pair->head : pair->sender != NO_MOVE ? pair->sender : pair->land_remote;
    if (move == NO_MOVE) {
        enum rule rule = rule_for(entry_kind(entry));
        if (rule == RULE_RCAS && get_memory(m, s->state)[entry_loc(entry)] != entry_e(entry))
            rule = RULE_RCAS_FAIL;
        move = add_move(s, (struct step){(uint8_t)rule, (uint8_t)t, pair->q, (uint16_t)at});
        if (!rmw)
            pair->gets |= one(move);
        if (rmw && !pair->looped)
            s->moves->apart[move] = one((int)cpu_move(t)) | one((int)buffer_move(m, t));
        if (rmw && get_atomics(s->state) >> n & 1)
            block(s, n, move);
        else
            enable(s, move, loc, rmw ? m->atomic_bit[n] : 0);
    }
    if (at == 0)
        pair->head = move;
    may_read(s, move, loc);
    if (rmw) {
        may_write(s, move, m->atomic_bit[n]);
        if (pair->sender == NO_MOVE && !pair->fence)
            pair->sender = move;
        may_write_remote(s, pair, loc);
    }
    may_write_local(s, pair, m->loc_bit[entry_local(entry)]);
    return move;
}

static void survey_put(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    const struct machine *m = s->m;
    uint64_t source = entry_kind(entry) == E_PUT ? m->loc_bit[entry_local(entry)] : 0;
    if (pair->put == NO_MOVE) {
        pair->put = add_move(s, (struct step){RULE_PUT_READ, pair->qp->thread, pair->q, (uint16_t)at});
        pair->put_before_fence = !pair->fence;
        if (pair->fence)
            s->moves->needs[pair->put] = one(pair->head);
        else if (pair->land_local != NO_MOVE)
            s->moves->needs[pair->put] = one(pair->land_local);
        else {
            enable(s, pair->put, source, 0);
            s->moves->needs[pair->put] = one(pair->head); /* a local send in between would stop it */
        }
    }
    if (at == 0)
        pair->head = pair->put;
    if (pair->sender == NO_MOVE && !pair->fence)
        pair->sender = pair->put;
    may_read(s, pair->put, source);
    may_write_remote(s, pair, m->loc_bit[entry_loc(entry)]);
}

/* PUTV or AW. */
static void survey_send(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    if (pair->sender == NO_MOVE && !pair->fence) {
        bool atomic = entry_kind(entry) == E_AW;
        enum rule rule = atomic ? RULE_ATOMIC_SEND : RULE_PUT_SEND;
        pair->sender = add_move(s, (struct step){(uint8_t)rule, pair->qp->thread, pair->q, (uint16_t)at});
        enable(s, pair->sender, 0, 0);
        s->moves->needs[pair->sender] = pair->gets | one(pair->land_remote); /* the reads of older gets */
        if (at == 0)
            pair->head = pair->sender;
    }
    if (entry_kind(entry) == E_AW)
        s->holder[pair->qp->node] = one(pair->sender);
    may_write_remote(s, pair, s->m->loc_bit[entry_loc(entry)]);
}

static void survey_local_send(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    if (at == 0) {
        pair->head = add_move(s, (struct step){RULE_LOCAL_SEND, pair->qp->thread, pair->q, 0});
        enable(s, pair->head, 0, 0);
    }
    may_write_local(s, pair, s->m->loc_bit[entry_local(entry)]);
}

/* A send stops older gets; a local send stops younger puts. */
static void bind_sends(struct survey *s, const struct pair *pair)
{
    const uint16_t *ends = s->ends + pair->qp->fifo;
    unsigned t = pair->qp->thread, n = pair->qp->node;
    if (pair->gets) {
        move_set sends = pair->sender != NO_MOVE ? one(pair->sender)
                         : pair->fence           ? 0
                                                 : later_sends(s, t, n, true);
        for (move_set rest = pair->gets; rest; rest &= rest - 1)
            s->moves->needs[__builtin_ctzll(rest)] |= sends;
    }
    if (ends[PIPE] < ends[WBR] && entry_kind(s->entries[ends[PIPE]]) == E_LW)
        s->moves->needs[pair->head] |= pair->put_before_fence ? one(pair->put)
                                       : pair->fence          ? 0
                                                              : later_sends(s, t, n, false);
}

static void survey_pair(struct survey *s, unsigned q, struct pair *pair)
{
    const struct machine *m = s->m;
    const struct qp *qp = &m->qps[q];
    const uint16_t *ends = s->ends + qp->fifo;
    *pair = (struct pair){.qp = qp,
                          .q = (uint16_t)q,
                          .wbr_empty = ends[WBR] == ends[WBR + 1],
                          .looped = m->program->thread_node[qp->thread] == qp->node,
                          .land_remote = NO_MOVE,
                          .land_local = NO_MOVE,
                          .head = NO_MOVE,
                          .sender = NO_MOVE,
                          .put = NO_MOVE};
    survey_landings(s, pair);
    for (unsigned i = ends[PIPE]; i < ends[WBR]; i++) {
        entry_t entry = s->entries[i];
        unsigned kind = entry_kind(entry), at = i - ends[PIPE];
        if (kind == E_GET || (KIND(kind) & KINDS_RMW))
            survey_read(s, pair, entry, at);
        else if (KIND(kind) & KINDS_PUT)
            survey_put(s, pair, entry, at);
        else if (kind == E_PUTV || kind == E_AW)
            survey_send(s, pair, entry, at);
        else if (kind == E_LW)
            survey_local_send(s, pair, entry, at);
        else if (kind == E_FENCE)
            pair->fence = true;
    }
    bind_sends(s, pair);
}

/* --- CPUs --- */

/* What the iteration of a spin loop does first, which it is to start together with: a load, or a get that it
 * waits for at once. NULL for anything else. */
static const struct local *first_read(struct machine *m, const uint8_t *state, unsigned t)
{
    uint32_t first = locals_after(m, get_locals(m, state)[t], 0);
    if (first == LOCAL_NONE)
        return NULL;
    const struct local *local = machine_local(m, first);
    if (local->kind == OP_LOAD)
        return local;
    if (local->kind != OP_GET || local->wid == PROG_NO_WID)
        return NULL;
    uint32_t second = locals_after(m, first, 0);
    if (second == LOCAL_NONE)
        return NULL;
    const struct local *then = machine_local(m, second);
    return then->kind == OP_WAIT && then->wid == local->wid ? local : NULL;
}

unsigned spin_steps(struct machine *m, const uint8_t *state, unsigned t, struct step steps[SPIN_STEPS])
{
    const struct local *read = first_read(m, state, t);
    const struct step cpu = {RULE_CPU, (uint8_t)t, NO_QP, 0};
    steps[0] = steps[1] = cpu;
    if (!read)
        return 1;
    if (read->kind == OP_LOAD)
        return 2;
    const uint16_t *ends = get_ends(m, state), *pair = ends + m->qps[read->qp].fifo;
    if (buffer_of(m, state, t)[0] < buffer_of(m, state, t)[1] || pair[WBR] < pair[WBR + 1])
        return 0;
    for (unsigned i = pair[PIPE]; i < pair[WBR]; i++)
        if (KIND(entry_kind(get_entries(m, state)[i])) & STOPS_OTHERS)
            return 0;
    steps[2] = (struct step){RULE_FLUSH, (uint8_t)t, NO_QP, 0};
    steps[3] = (struct step){RULE_GET_READ, (uint8_t)t, read->qp, (uint16_t)(pair[WBR] - pair[PIPE])};
    return 4;
}

static void survey_spin(struct survey *s, unsigned t, const struct pair *pairs)
{
    struct step steps[SPIN_STEPS];
    int move = (int)cpu_move(t);
    const struct local *read = first_read(s->m, s->state, t);
    s->moves->spins |= one(move);
    if (spin_steps(s->m, s->state, t, steps)) {
        uint64_t loc = !read ? 0 : s->m->loc_bit[read->loc];
        enable(s, move, loc, 0);
    } else if (buffer_of(s->m, s->state, t)[0] < buffer_of(s->m, s->state, t)[1]) {
        s->moves->needs[move] = one((int)buffer_move(s->m, t));
    } else {
        const struct pair *pair = &pairs[read->qp];
        s->moves->needs[move] = one(pair->sender != NO_MOVE        ? pair->sender
                                    : pair->land_remote != NO_MOVE ? pair->land_remote
                                                                   : pair->head);
    }
}

static move_set needed_for_notice(const struct survey *s, const struct qp *qp, const struct pair *pair)
{
    int move = pair_idle(s, qp) ? NO_MOVE : pair->land_local != NO_MOVE ? pair->land_local : pair->head;
    if (move == NO_MOVE && (s->buffered[qp->thread] >> qp->node & 1))
        move = (int)buffer_move(s->m, qp->thread);
    return one(move);
}

static void survey_cpu(struct survey *s, unsigned t, const struct pair *pairs)
{
    const struct machine *m = s->m;
    struct moves *moves = s->moves;
    const struct local *local = local_of(m, s->state, t);
    unsigned move = cpu_move(t), q;
    moves->steps[move] = (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0};
    moves->reads[move] = moves->writes[move] = moves->needs[move] = moves->apart[move] = 0;
    may_read(s, (int)move, local->cpu_reads | local->nic_reads);
    may_write(s, (int)move, local->cpu_writes | local->nic_writes);
    switch (local->kind) {
    case OP_END:
        break;
    case OP_LOAD:
        enable(s, (int)move, local->reads, 0);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        if (buffer_of(m, s->state, t)[0] == buffer_of(m, s->state, t)[1])
            enable(s, (int)move, local->reads, local->writes);
        else
            moves->needs[move] = one((int)buffer_move(m, t));
        break;
    case OP_AWAIT:
        /* If it is blocked, only writes to what it reads can enable it. */
        moves->reads[move] = local->reads;
        if (machine_cpu_enabled(m, s->state, t))
            enable(s, (int)move, local->reads, 0);
        break;
    case OP_SPIN_BEGIN:
        survey_spin(s, t, pairs);
        break;
    case OP_POLL:
    case OP_WAIT:
        q = local->kind == OP_POLL ? local->qp : machine_waits_for(m, s->state, t, local->wid);
        moves->needs[move] = q == NO_QP ? 0 : needed_for_notice(s, &m->qps[q], &pairs[q]);
        break;
    default: /* mfence */
        moves->needs[move] = one((int)buffer_move(m, t));
        break;
    }
}

/* --- all of it --- */

bool find_moves(struct machine *m, const uint8_t *state, struct moves *moves)
{
    struct pair pairs[m->n_qps + 1];
    struct survey s;
    if (2 * m->n_threads > MAX_MOVES)
        return false;
    s.m = m;
    s.state = state;
    s.ends = get_ends(m, state);
    s.entries = get_entries(m, state);
    s.moves = moves;
    s.overflow = false;
    s.blocked_nodes = 0;
    moves->n = 2 * m->n_threads;
    moves->enabled = moves->spins = 0;
    memset(moves->readers, 0, m->n_bits * sizeof *moves->readers);
    memset(moves->writers, 0, m->n_bits * sizeof *moves->writers);
    for (unsigned t = 0; t < m->n_threads; t++)
        survey_buffer(&s, t);
    for (unsigned q = 0; q < m->n_qps; q++)
        if (!pair_idle(&s, &m->qps[q]))
            survey_pair(&s, q, &pairs[q]);
    for (uint64_t nodes = s.blocked_nodes; nodes; nodes &= nodes - 1) {
        unsigned n = (unsigned)__builtin_ctzll(nodes);
        for (move_set rest = s.blocked[n]; rest; rest &= rest - 1)
            moves->needs[__builtin_ctzll(rest)] |= s.holder[n];
    }
    for (unsigned t = 0; t < m->n_threads; t++)
        survey_cpu(&s, t, pairs);
    return !s.overflow;
}
