/* See machine_print.h. */
#include "model/machine_print.h"

#include <inttypes.h>

const char *rule_name(enum rule rule)
{
    static const char *const names[] = {"operation",
                                        "fence",
                                        "put: local read",
                                        "put: send",
                                        "put: land",
                                        "put: confirm",
                                        "get: remote read",
                                        "local write: send",
                                        "local write: land",
                                        "rcas fails",
                                        "rcas succeeds",
                                        "rfaa reads",
                                        "atomic write: send",
                                        "atomic write: land",
                                        "flush"};
    return names[rule];
}

static const char *name(const struct machine *m, unsigned loc)
{
    return loc < m->n_locs ? m->program->locs[loc].name : ""; /* not every entry has a location */
}

static void print_entry(FILE *out, const struct machine *m, entry_t entry)
{
    const char *loc = name(m, entry_loc(entry)), *local = name(m, entry_local(entry));
    uint64_t v = machine_value(m, entry_v(entry)), e = machine_value(m, entry_e(entry));
    switch (entry_kind(entry)) {
    case E_STORE:
        fprintf(out, "%s:=%" PRIu64, loc, v);
        break;
    case E_PUT:
        fprintf(out, "PUT(%s,%s)", loc, local);
        break;
    case E_PUT_INLINE:
        fprintf(out, "PUT(%s,%" PRIu64 ")", loc, v);
        break;
    case E_PUTV:
        fprintf(out, "PUTV(%s,%" PRIu64 ")", loc, v);
        break;
    case E_ACK:
        fputs("ACK", out);
        break;
    case E_GET:
        fprintf(out, "GET(%s,%s)", local, loc);
        break;
    case E_RCAS:
        fprintf(out, "RCAS(%s,%s,%" PRIu64 ",%" PRIu64 ")", local, loc, e, v);
        break;
    case E_RFAA:
        fprintf(out, "RFAA(%s,%s,%" PRIu64 ")", local, loc, v);
        break;
    case E_AW:
        fprintf(out, "AW(%s,%" PRIu64 ")", loc, v);
        break;
    case E_LW:
        fprintf(out, "LW(%s,%" PRIu64 ")", local, v);
        break;
    case E_FENCE:
        fputs("FENCE", out);
        break;
    case E_W:
        fprintf(out, "W(%s,%" PRIu64 ")", loc, v);
        break;
    default:
        fputs("CN", out);
    }
}

static const char *statement(const struct machine *m, const struct local *local)
{
    uint32_t line;
    switch (local->kind) {
    case OP_END:
        return "end";
    case OP_DROP:
    case OP_SPIN_FAIL:
        return "dropped";
    default:
        return m->program->ops->describe(m->program, local->where, &line);
    }
}

/* --- steps --- */

static void print_result(FILE *out, const struct machine *m, const uint8_t *before, unsigned t)
{
    const struct local *local = local_of(m, before, t);
    switch (local->kind) {
    case OP_LOAD:
        fprintf(out, ": reads %s = %" PRIu64, name(m, local->loc),
                machine_value(m, machine_load(m, before, t, local->loc)));
        break;
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        fprintf(out, ": finds %s = %" PRIu64, name(m, local->loc),
                machine_value(m, get_memory(m, before)[local->loc]));
        break;
    case OP_AWAIT:
        for (unsigned i = 0; i < local->n_any; i++)
            fprintf(out, "%s %s = %" PRIu64, i ? "," : ": reads", name(m, local->any[i]),
                    machine_value(m, machine_load(m, before, t, local->any[i])));
        break;
    case OP_STORE:
    case OP_PUT:
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
    case OP_RFENCE:
        fputs(": into the store buffer, ", out);
        print_entry(out, m, local->entry);
        break;
    default:
        break;
    }
}

static void print_cpu_step(FILE *out, const struct machine *m, const uint8_t *before, unsigned t)
{
    const struct local *local = local_of(m, before, t);
    fputs(statement(m, local), out);
    unsigned q = local->kind == OP_WAIT ? machine_waits_for(m, before, t, local->wid) : NO_QP;
    if (q != NO_QP)
        fprintf(out, ": polls a completion of node %u", m->qps[q].node);
    else if (local->kind == OP_WAIT)
        fputs(" returns: nothing is left to wait for", out);
    else if (local->kind == OP_SPIN_BEGIN)
        fputs(": starts its last iteration", out);
    else
        print_result(out, m, before, t);
}

static void print_nic_step(FILE *out, const struct machine *m, const uint8_t *before, struct step step)
{
    const struct qp *qp = &m->qps[step.qp];
    unsigned fifo = qp->fifo + rule_fifo(step.rule);
    entry_t entry = get_entries(m, before)[get_ends(m, before)[fifo] + step.at];
    fprintf(out, "%s: ", rule_name((enum rule)step.rule));
    print_entry(out, m, entry);
    unsigned read;
    switch ((enum rule)step.rule) {
    case RULE_PUT_READ:
        if (entry_kind(entry) == E_PUT_INLINE)
            return;
        read = entry_local(entry);
        break;
    case RULE_GET_READ:
    case RULE_RCAS_FAIL:
    case RULE_RCAS:
    case RULE_RFAA:
        read = entry_loc(entry);
        break;
    default:
        return;
    }
    fprintf(out, " reads %s = %" PRIu64, name(m, read), machine_value(m, get_memory(m, before)[read]));
}

void print_step(FILE *out, const struct machine *m, const uint8_t *before, struct step step)
{
    if (step.rule == RULE_CPU) {
        print_cpu_step(out, m, before, step.thread);
    } else if (step.rule == RULE_FLUSH) {
        entry_t entry = get_entries(m, before)[buffer_of(m, before, step.thread)[0] + step.at];
        fputs("flush: ", out);
        print_entry(out, m, entry);
        if (entry_kind(entry) == E_STORE)
            fputs(" reaches memory", out);
        else
            fprintf(out, " goes to the NIC, towards node %u", entry_node(m, entry));
    } else {
        print_nic_step(out, m, before, step);
    }
}

/* --- states --- */

static void print_fifo(FILE *out, const struct machine *m, const uint8_t *state, unsigned fifo,
                       const char *label)
{
    const uint16_t *ends = get_ends(m, state) + fifo;
    if (ends[0] == ends[1])
        return;
    fprintf(out, "%s", label);
    for (unsigned i = ends[0]; i < ends[1]; i++) {
        fputs(i == ends[0] ? " " : " · ", out);
        print_entry(out, m, get_entries(m, state)[i]);
    }
}

static void print_qp(FILE *out, const struct machine *m, const uint8_t *state, const struct qp *qp)
{
    const uint16_t *ends = get_ends(m, state) + qp->fifo;
    if (ends[PIPE] == ends[WBL + 1])
        return;
    fprintf(out, "P%u to node %u:", qp->thread, qp->node);
    print_fifo(out, m, state, qp->fifo + PIPE, "  pipe");
    print_fifo(out, m, state, qp->fifo + WBR, "  wbR");
    print_fifo(out, m, state, qp->fifo + WBL, "  wbL");
    fputc('\n', out);
}

void print_state(FILE *out, const struct machine *m, const uint8_t *state)
{
    fputs("memory:", out);
    for (unsigned x = 0; x < m->n_locs; x++)
        fprintf(out, " %s=%" PRIu64, name(m, x), machine_value(m, get_memory(m, state)[x]));
    fputc('\n', out);
    for (unsigned n = 0; n < m->n_nodes; n++)
        if (get_atomics(state) >> n & 1)
            fprintf(out, "node %u: a remote RMW is under way\n", n);
    for (unsigned t = 0; t < m->n_threads; t++) {
        fprintf(out, "P%u next: %s", t, statement(m, local_of(m, state, t)));
        print_fifo(out, m, state, m->buffer[t], "  store buffer");
        fputc('\n', out);
    }
    for (unsigned q = 0; q < m->n_qps; q++)
        print_qp(out, m, state, &m->qps[q]);
}
