/* The moves of one thread (struct moves_of_thread in operational_parts.h; the argument is in docs/reduction.md). */
#include "model/machine_intern.h"
#include "model/machine_rules.h"
#include "search/operational_parts.h"

enum { NO_MOVE = -1, CPU_MOVE = 0, BUFFER_MOVE = 1 };

/* What is found on the way, besides the moves. */
struct survey {
    struct machine *m;
    const uint8_t *state;
    const uint16_t *ends;
    const entry_t *entries;
    const struct local *local;
    struct moves_of_thread *view;
    unsigned t;
    /* Nodes towards which there are, in B, any operations, puts, remote RMWs (both before any fence), fences. */
    uint64_t buffered, buffered_puts, buffered_rmws, buffered_fences;
};

static move_set one(int move)
{
    return move == NO_MOVE ? 0 : (move_set)1 << move;
}

static int add_move(struct survey *s, struct step step)
{
    struct moves_of_thread *view = s->view;
    view->crowded |= view->n == MAX_MOVES;
    if (view->crowded)
        return MAX_MOVES - 1; /* nothing of this will be used */
    view->move[view->n] = (struct move){.step = step};
    return (int)view->n++;
}

static void may_read(struct survey *s, int move, uint64_t memory)
{
    for (; memory; memory &= memory - 1)
        s->view->readers[__builtin_ctzll(memory)] |= one(move);
}

static void may_write(struct survey *s, int move, uint64_t memory)
{
    for (; memory; memory &= memory - 1)
        s->view->writers[__builtin_ctzll(memory)] |= one(move);
}

static void enable(struct survey *s, int move, uint64_t reads, uint64_t writes)
{
    s->view->enabled |= one(move);
    s->view->move[move].reads = reads;
    s->view->move[move].writes = writes;
    may_read(s, move, reads);
    may_write(s, move, writes);
}

/* --- the store buffer --- */

static void survey_buffered(struct survey *s, entry_t entry)
{
    const struct machine *m = s->m;
    unsigned kind = entry_kind(entry), n = entry_node(m, entry);
    uint64_t node = UINT64_C(1) << n, open = node & ~s->buffered_fences;
    uint64_t remote = m->loc_bit[entry_loc(entry)], local = m->loc_bit[entry_local(entry)], writes;
    s->buffered |= node;
    if (kind == E_FENCE) {
        s->buffered_fences |= node;
        return;
    }
    if (KIND(kind) & KINDS_PUT) {
        s->buffered_puts |= open;
        writes = remote;
        may_read(s, BUFFER_MOVE, kind == E_PUT ? local : 0);
    } else if (kind == E_GET) {
        writes = local;
        may_read(s, BUFFER_MOVE, remote);
    } else {
        s->buffered_rmws |= open;
        writes = local | remote | m->atomic_bit[n];
        may_read(s, BUFFER_MOVE, remote);
    }
    s->view->nic_write |= writes;
    may_write(s, BUFFER_MOVE, writes);
}

static void survey_buffer(struct survey *s)
{
    const struct machine *m = s->m;
    const uint16_t *ends = buffer_of(m, s->state, s->t);
    add_move(s, (struct step){RULE_FLUSH, (uint8_t)s->t, NO_QP, 0});
    if (ends[0] == ends[1])
        return;
    s->view->move[BUFFER_MOVE].apart = one(CPU_MOVE);
    enable(s, BUFFER_MOVE, 0, m->loc_bit[entry_loc(s->entries[ends[0]])]);
    for (unsigned i = ends[0]; i < ends[1]; i++) {
        if (entry_kind(s->entries[i]) == E_STORE)
            may_write(s, BUFFER_MOVE, m->loc_bit[entry_loc(s->entries[i])]);
        else
            survey_buffered(s, s->entries[i]);
    }
}

/* The move before which the thread, with what it has not yet handed to the NIC, can't get a put (and, if `any`, a remote
 * RMW) into the pipe towards n; none if it never will, or a fence will come first. */
static move_set later_sends(const struct survey *s, unsigned n, bool any)
{
    uint64_t node = UINT64_C(1) << n;
    if ((s->buffered_puts | (any ? s->buffered_rmws : 0)) & node)
        return one(BUFFER_MOVE);
    if (s->buffered_fences & node)
        return 0;
    return (s->local->put_nodes | (any ? s->local->rmw_nodes : 0)) & node ? one(CPU_MOVE) : 0;
}

/* --- queue pairs --- */

struct pair {
    const struct qp *qp;
    uint16_t q;
    bool looped; /* to the thread's own node */
    int land_remote, land_local;
    int head; /* the move that the head of the pipe waits for */
    int sender; /* the move that the oldest entry that will be sent into wbR waits for, if no fence is before it */
    int put; /* the oldest put's local read */
    bool put_before_fence, fence;
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

static void holds_atomic(struct survey *s, const struct pair *pair, int move)
{
    s->view->holds |= UINT64_C(1) << pair->qp->node;
    s->view->holder[pair->qp->node] = (uint8_t)move;
}

static void survey_remote_landing(struct survey *s, struct pair *pair)
{
    const struct machine *m = s->m;
    const uint16_t *ends = s->ends + pair->qp->fifo;
    if (ends[WBR] == ends[WBR + 1])
        return;
    entry_t first = s->entries[ends[WBR]];
    enum rule rule = entry_kind(first) == E_AW ? RULE_ATOMIC_LAND : RULE_PUT_LAND;
    pair->land_remote = add_move(s, (struct step){(uint8_t)rule, (uint8_t)s->t, pair->q, 0});
    enable(s, pair->land_remote, 0, m->loc_bit[entry_loc(first)]);
    if (!pair->looped)
        s->view->move[pair->land_remote].apart = one(CPU_MOVE) | one(BUFFER_MOVE);
    for (unsigned i = ends[WBR]; i < ends[WBR + 1]; i++) {
        may_write(s, pair->land_remote, m->loc_bit[entry_loc(s->entries[i])]);
        if (entry_kind(s->entries[i]) == E_AW)
            holds_atomic(s, pair, pair->land_remote);
    }
}

static void survey_local_landing(struct survey *s, struct pair *pair)
{
    const uint16_t *ends = s->ends + pair->qp->fifo;
    for (unsigned i = ends[WBL]; i < ends[WBL + 1]; i++) {
        if (entry_kind(s->entries[i]) != E_LW)
            continue;
        uint64_t loc = s->m->loc_bit[entry_local(s->entries[i])];
        if (pair->land_local == NO_MOVE) {
            pair->land_local = add_move(
                s, (struct step){RULE_LOCAL_LAND, (uint8_t)s->t, pair->q, (uint16_t)(i - ends[WBL])});
            enable(s, pair->land_local, 0, loc);
        }
        may_write(s, pair->land_local, loc);
    }
}

/* The read of a get or remote RMW that nothing older in its queue pair stops. */
static int add_read(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    unsigned kind = entry_kind(entry), n = pair->qp->node;
    int move = add_move(s, (struct step){(uint8_t)rule_for(kind), (uint8_t)s->t, pair->q, (uint16_t)at});
    if (kind == E_GET) {
        pair->gets |= one(move);
        enable(s, move, s->m->loc_bit[entry_loc(entry)], 0);
        return move;
    }
    s->view->rmws |= one(move);
    enable(s, move, s->m->loc_bit[entry_loc(entry)], s->m->atomic_bit[n]);
    if (!pair->looped)
        s->view->move[move].apart = one(CPU_MOVE) | one(BUFFER_MOVE);
    return move;
}

/* A get or remote RMW in the pipe. */
static void survey_read(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    bool rmw = KIND(entry_kind(entry)) & KINDS_RMW;
    uint64_t loc = s->m->loc_bit[entry_loc(entry)];
    int move = pair->fence ? pair->head : pair->sender != NO_MOVE ? pair->sender : pair->land_remote;
    if (move == NO_MOVE)
        move = add_read(s, pair, entry, at);
    if (at == 0)
        pair->head = move;
    may_read(s, move, loc);
    if (rmw) {
        may_write(s, move, s->m->atomic_bit[pair->qp->node]);
        if (pair->sender == NO_MOVE && !pair->fence)
            pair->sender = move;
        may_write_remote(s, pair, loc);
    }
    may_write_local(s, pair, s->m->loc_bit[entry_local(entry)]);
}

static void survey_put(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    uint64_t source = entry_kind(entry) == E_PUT ? s->m->loc_bit[entry_local(entry)] : 0;
    if (pair->put == NO_MOVE) {
        pair->put = add_move(s, (struct step){RULE_PUT_READ, (uint8_t)s->t, pair->q, (uint16_t)at});
        pair->put_before_fence = !pair->fence;
        if (!pair->fence && pair->land_local == NO_MOVE)
            enable(s, pair->put, source, 0);
        /* The local send of what is older would stop it, so what the head waits for belongs to it even if it is enabled. */
        s->view->move[pair->put].needs =
            !pair->fence && pair->land_local != NO_MOVE ? one(pair->land_local) : one(pair->head);
    }
    if (at == 0)
        pair->head = pair->put;
    if (pair->sender == NO_MOVE && !pair->fence)
        pair->sender = pair->put;
    may_read(s, pair->put, source);
    may_write_remote(s, pair, s->m->loc_bit[entry_loc(entry)]);
}

/* PUTV or AW. */
static void survey_send(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    bool atomic = entry_kind(entry) == E_AW;
    if (pair->sender == NO_MOVE && !pair->fence) {
        enum rule rule = atomic ? RULE_ATOMIC_SEND : RULE_PUT_SEND;
        pair->sender = add_move(s, (struct step){(uint8_t)rule, (uint8_t)s->t, pair->q, (uint16_t)at});
        enable(s, pair->sender, 0, 0);
        s->view->move[pair->sender].needs = pair->gets | one(pair->land_remote); /* the reads of older gets */
        if (at == 0)
            pair->head = pair->sender;
    }
    if (atomic)
        holds_atomic(s, pair, pair->sender);
    may_write_remote(s, pair, s->m->loc_bit[entry_loc(entry)]);
}

static void survey_local_send(struct survey *s, struct pair *pair, entry_t entry, unsigned at)
{
    if (at == 0) {
        pair->head = add_move(s, (struct step){RULE_LOCAL_SEND, (uint8_t)s->t, pair->q, 0});
        enable(s, pair->head, 0, 0);
    }
    may_write_local(s, pair, s->m->loc_bit[entry_local(entry)]);
}

/* A send stops older gets; a local send stops younger puts. */
static void bind_sends(struct survey *s, const struct pair *pair)
{
    const uint16_t *ends = s->ends + pair->qp->fifo;
    unsigned n = pair->qp->node;
    if (pair->gets) {
        move_set sends = pair->sender != NO_MOVE ? one(pair->sender)
                         : pair->fence           ? 0
                                                 : later_sends(s, n, true);
        for (move_set rest = pair->gets; rest; rest &= rest - 1)
            s->view->move[__builtin_ctzll(rest)].needs |= sends;
    }
    if (ends[PIPE] < ends[WBR] && entry_kind(s->entries[ends[PIPE]]) == E_LW)
        s->view->move[pair->head].needs |= pair->put_before_fence ? one(pair->put)
                                           : pair->fence          ? 0
                                                                  : later_sends(s, n, false);
}

static void survey_pair(struct survey *s, unsigned q, struct pair *pair)
{
    const struct qp *qp = &s->m->qps[q];
    const uint16_t *ends = s->ends + qp->fifo;
    pair->qp = qp;
    pair->q = (uint16_t)q;
    pair->looped = s->m->program->thread_node[s->t] == qp->node;
    pair->land_remote = pair->land_local = pair->head = pair->sender = pair->put = NO_MOVE;
    pair->put_before_fence = pair->fence = false;
    pair->gets = 0;
    survey_remote_landing(s, pair);
    survey_local_landing(s, pair);
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

/* --- the CPU --- */

static void survey_spin(struct survey *s, const struct pair *pairs)
{
    struct step steps[SPIN_STEPS];
    const struct local *read = spin_read(s->m, get_locals(s->m, s->state)[s->t]);
    const uint16_t *buffer = buffer_of(s->m, s->state, s->t);
    s->view->spins = one(CPU_MOVE);
    if (spin_steps(s->m, s->state, s->t, steps)) {
        enable(s, CPU_MOVE, read ? s->m->loc_bit[read->loc] : 0, 0);
    } else if (buffer[0] < buffer[1]) {
        s->view->move[CPU_MOVE].needs = one(BUFFER_MOVE);
    } else {
        const struct pair *pair = &pairs[local_qp(s->m, s->t, read) - s->m->first_qp[s->t]];
        s->view->move[CPU_MOVE].needs = one(pair->sender != NO_MOVE        ? pair->sender
                                            : pair->land_remote != NO_MOVE ? pair->land_remote
                                                                           : pair->head);
    }
}

/* What has to happen before a completion can be polled. */
static move_set needed_for_notice(const struct survey *s, const struct qp *qp, const struct pair *pair)
{
    int move = pair_idle(s, qp) ? NO_MOVE : pair->land_local != NO_MOVE ? pair->land_local : pair->head;
    if (move == NO_MOVE && (s->buffered >> qp->node & 1))
        move = BUFFER_MOVE;
    return one(move);
}

static void survey_blocked(struct survey *s, const struct pair *pairs)
{
    unsigned q = s->local->kind == OP_POLL ? local_qp(s->m, s->t, s->local)
                                           : machine_waits_for(s->m, s->state, s->t, s->local->wid);
    if (q != NO_QP)
        s->view->move[CPU_MOVE].needs = needed_for_notice(s, &s->m->qps[q], &pairs[q - s->m->first_qp[s->t]]);
}

static void survey_cpu(struct survey *s, const struct pair *pairs)
{
    const struct local *local = s->local;
    const uint16_t *buffer = buffer_of(s->m, s->state, s->t);
    may_read(s, CPU_MOVE, local->cpu_reads | local->nic_reads);
    may_write(s, CPU_MOVE, local->cpu_writes | local->nic_writes);
    switch (local->kind) {
    case OP_END:
        break;
    case OP_LOAD:
        enable(s, CPU_MOVE, local->reads, 0);
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        if (buffer[0] == buffer[1])
            enable(s, CPU_MOVE, local->reads, local->writes);
        else
            s->view->move[CPU_MOVE].needs = one(BUFFER_MOVE);
        break;
    case OP_AWAIT:
        /* If it is blocked, only writes to what it reads can enable it. */
        s->view->move[CPU_MOVE].reads = local->reads;
        s->view->awaits = true;
        break;
    case OP_SPIN_BEGIN:
        survey_spin(s, pairs);
        break;
    case OP_POLL:
    case OP_WAIT:
        survey_blocked(s, pairs);
        break;
    default: /* mfence */
        s->view->move[CPU_MOVE].needs = one(BUFFER_MOVE);
        break;
    }
}

void find_moves_of_thread(struct machine *m, const uint8_t *state, unsigned t, struct moves_of_thread *found)
{
    struct pair pairs[PROG_MAX_NODES];
    struct survey s = {.m = m,
                       .state = state,
                       .ends = get_ends(m, state),
                       .entries = get_entries(m, state),
                       .local = local_of(m, state, t),
                       .view = found,
                       .t = t};
    memset(found, 0, offsetof(struct moves_of_thread, move));
    add_move(&s, (struct step){RULE_CPU, (uint8_t)t, NO_QP, 0});
    survey_buffer(&s);
    for (unsigned q = m->first_qp[t]; q < m->first_qp[t + 1]; q++)
        if (!pair_idle(&s, &m->qps[q]))
            survey_pair(&s, q, &pairs[q - m->first_qp[t]]);
    survey_cpu(&s, pairs);
}
