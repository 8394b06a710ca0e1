/* See run_tell.h. A step that only moves an operation on inside the network card, without reading or writing memory,
 * is not told. */
#include "verify/run_tell.h"

#include "base/arena.h"
#include "verify/source_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct teller {
    struct arena *arena;
    const struct run_names *names;
    struct machine *machine;
    struct source_lines *lines;
    FILE *out;
    unsigned number;
    unsigned failed;                      /* the thread whose assertion fails, plus one */
    unsigned statement[PROG_MAX_THREADS]; /* told last, plus one */
};

static const char *loc_name(const struct teller *t, unsigned loc)
{
    return t->names->location(t->arena, t->names->context, loc);
}

static uint64_t value_of(const struct teller *t, unsigned number)
{
    return machine_value(t->machine, number);
}

/* --- where in the C code --- */

/* Of the return addresses, the innermost that is the library's own logic: not the model's, not the thin layer
 * that posts. */
static bool is_plumbing(const char *file)
{
    static const char *const files[] = {"model.c",  "c_thread.c", "coroutine.c", "c_program.c",
                                        "thread.h", "ticket.h",   "world.c"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(file, files[i]) == 0)
            return true;
    return false;
}

static const char *where(const struct teller *t, unsigned thread, uint32_t point)
{
    void *addresses[32];
    unsigned n = c_program_backtrace(t->names->program, thread, point, addresses, 32);
    const char *text = "";
    for (unsigned i = 0, told = 0; i < n && told < 3; i++) {
        struct source_line line = source_line_of_call(t->lines, addresses[i]);
        if (!line.file || is_plumbing(line.file))
            continue;
        if (strcmp(line.file, "client.c") == 0 || strcmp(line.file, "model_main.c") == 0) {
            if (told)
                break;
            continue;
        }
        text = arena_printf(t->arena, "%s%s%s:%u", text, told ? " < " : "", line.file, line.line);
        told++;
    }
    return text;
}

/* --- what the CPU does --- */

static const char *operation(const struct teller *t, const struct local *local, uint64_t result)
{
    struct arena *a = t->arena;
    uint64_t v = value_of(t, local->v), e = value_of(t, local->e);
    const char *x = local->kind == OP_LOAD || local->kind == OP_STORE || local->kind == OP_CAS ||
                            local->kind == OP_FAA || local->kind == OP_XCHG || local->kind == OP_AWAIT
                        ? loc_name(t, local->loc)
                        : "";
    bool posts =
        local->kind == OP_PUT || local->kind == OP_GET || local->kind == OP_RCAS || local->kind == OP_RFAA;
    const char *far = posts ? loc_name(t, entry_loc(local->entry)) : "";
    bool inlined = entry_kind(local->entry) == E_PUT_INLINE;
    const char *near = posts && !inlined ? loc_name(t, entry_local(local->entry)) : "";
    switch (local->kind) {
    case OP_LOAD:
        return arena_printf(a, "loads %s: %" PRIu64, x, result);
    case OP_AWAIT:
        return arena_printf(a, "finds %s = %" PRIu64, x, result);
    case OP_STORE:
        return arena_printf(a, "stores %s = %" PRIu64 " (into its store buffer)", x, v);
    case OP_CAS:
        return arena_printf(a, "compare-and-swap of %s from %" PRIu64 " to %" PRIu64 ": it was %" PRIu64, x,
                            e, v, result);
    case OP_FAA:
        return arena_printf(a, "adds %" PRIu64 " to %s: it was %" PRIu64, v, x, result);
    case OP_XCHG:
        return arena_printf(a, "exchanges %s for %" PRIu64 ": it was %" PRIu64, x, v, result);
    case OP_MFENCE:
        return "mfence: its store buffer is empty";
    case OP_PUT:
        return inlined ? arena_printf(a, "posts a put of the value %" PRIu64 " to %s", v, far)
                       : arena_printf(a, "posts a put of %s to %s", near, far);
    case OP_GET:
        return arena_printf(a, "posts a get of %s into %s", far, near);
    case OP_RCAS:
        return arena_printf(
            a, "posts a remote compare-and-swap of %s from %" PRIu64 " to %" PRIu64 ", result into %s", far,
            e, v, near);
    case OP_RFAA:
        return arena_printf(a, "posts a remote fetch-and-add of %" PRIu64 " to %s, result into %s", v, far,
                            near);
    case OP_RFENCE:
        return arena_printf(a, "posts a remote fence towards node %u", entry_node(t->machine, local->entry));
    case OP_POLL:
        return local->node == NO_NODE
                   ? "polls"
                   : arena_printf(a,
                                  "polls the oldest completion from node %u (of a put: received, not "
                                  "necessarily landed)",
                                  local->node);
    case OP_SPIN_BEGIN:
        return "begins the next round of its loop";
    default:
        return "goes on";
    }
}

/* The result by which the thread got from this state to the next one. */
static uint64_t result_of(const struct teller *t, const uint8_t *before, unsigned thread,
                          const struct local *local)
{
    switch (local->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        return value_of(t, machine_load(t->machine, before, thread, local->loc));
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        return value_of(t, get_memory(t->machine, before)[local->loc]);
    default:
        return 0;
    }
}

static void tell_statement(struct teller *t, unsigned thread, uint32_t point)
{
    unsigned number = c_program_statement_at(t->names->program, thread, point);
    const char *s = t->names->statement(t->arena, t->names->context, thread, number);
    if (t->statement[thread] == number + 1 || !s)
        return;
    t->statement[thread] = number + 1;
    fprintf(t->out, "      P%u: %s\n", thread, s);
}

static void tell_cpu(struct teller *t, const uint8_t *before, unsigned thread)
{
    const struct local *local = local_of(t->machine, before, thread);
    tell_statement(t, thread, local->point);
    const char *place = where(t, thread, local->point);
    const char *text = operation(t, local, result_of(t, before, thread, local));
    fprintf(t->out, "%4u  P%u %s", ++t->number, thread, text);
    if (*place)
        fprintf(t->out, "   [%s]", place);
    fputc('\n', t->out);
}

/* --- what the network card does --- */

static void tell_nic(struct teller *t, const uint8_t *before, struct step step)
{
    const struct machine *m = t->machine;
    const struct qp *qp = &m->qps[step.qp];
    const uint16_t *ends = get_ends(m, before) + qp->fifo;
    const entry_t *entries = get_entries(m, before);
    entry_t e;
    const char *text = NULL;
    switch ((enum rule)step.rule) {
    case RULE_PUT_READ:
        e = entries[ends[PIPE] + step.at];
        if (entry_kind(e) == E_PUT)
            text =
                arena_printf(t->arena, "reads %s = %" PRIu64 ", to be put to %s", loc_name(t, entry_local(e)),
                             value_of(t, get_memory(m, before)[entry_local(e)]), loc_name(t, entry_loc(e)));
        break;
    case RULE_GET_READ:
    case RULE_RCAS_FAIL:
        e = entries[ends[PIPE] + step.at];
        text = arena_printf(t->arena, "reads %s = %" PRIu64 " at node %u%s", loc_name(t, entry_loc(e)),
                            value_of(t, get_memory(m, before)[entry_loc(e)]), qp->node,
                            step.rule == RULE_RCAS_FAIL ? ": the compare-and-swap fails" : "");
        break;
    case RULE_RCAS:
    case RULE_RFAA:
        e = entries[ends[PIPE] + step.at];
        text = arena_printf(t->arena, "reads %s = %" PRIu64 " at node %u for a remote atomic",
                            loc_name(t, entry_loc(e)), value_of(t, get_memory(m, before)[entry_loc(e)]),
                            qp->node);
        break;
    case RULE_PUT_LAND:
    case RULE_ATOMIC_LAND:
        e = entries[ends[WBR] + step.at];
        text = arena_printf(t->arena, "%s lands: %s = %" PRIu64,
                            step.rule == RULE_PUT_LAND ? "its put" : "the write of its remote atomic",
                            loc_name(t, entry_loc(e)), value_of(t, entry_v(e)));
        break;
    case RULE_LOCAL_LAND:
        e = entries[ends[WBL] + step.at];
        text = arena_printf(t->arena, "a result lands: %s = %" PRIu64, loc_name(t, entry_local(e)),
                            value_of(t, entry_v(e)));
        break;
    default:
        break;
    }
    if (text)
        fprintf(t->out, "%4u     P%u's network card, towards node %u: %s\n", ++t->number, step.thread,
                qp->node, text);
}

static void tell_flush(struct teller *t, const uint8_t *before, struct step step)
{
    entry_t e = get_entries(t->machine, before)[*buffer_of(t->machine, before, step.thread)];
    if (entry_kind(e) == E_STORE)
        fprintf(t->out, "%4u     P%u's store buffer: %s = %" PRIu64 " gets into memory\n", ++t->number,
                step.thread, loc_name(t, entry_loc(e)), value_of(t, entry_v(e)));
}

static void tell_run(struct teller *t, const struct run *run)
{
    for (unsigned i = 0; i + 1 < run->n; i++) {
        struct step step = run->steps[i];
        if (step.rule == RULE_CPU)
            tell_cpu(t, run->states[i], step.thread);
        else if (step.rule == RULE_FLUSH)
            tell_flush(t, run->states[i], step);
        else
            tell_nic(t, run->states[i], step);
    }
}

/* Where each thread stands in the end. */
static void tell_end(struct teller *t, const struct run *run)
{
    const uint8_t *last = run->states[run->n - 1];
    for (unsigned thread = 0; thread < t->machine->n_threads; thread++) {
        const struct local *local = local_of(t->machine, last, thread);
        if (local->kind == OP_END) {
            fprintf(t->out, "      P%u has ended\n", thread);
            continue;
        }
        unsigned number = c_program_statement_at(t->names->program, thread, local->point);
        const char *s = t->names->statement(t->arena, t->names->context, thread, number);
        const char *in = s ? arena_printf(t->arena, " in %s", s) : "";
        if (t->failed == thread + 1)
            fprintf(t->out, "      P%u fails%s   [%s]\n", thread, in, where(t, thread, local->point));
        else if (local->kind == OP_SPIN_BEGIN)
            fprintf(t->out, "      P%u waits in a loop that nothing ends any more%s   [%s]\n", thread, in,
                    where(t, thread, local->point));
        else
            fprintf(t->out, "      P%u stands%s; what it does next: %s   [%s]\n", thread, in,
                    operation(t, local, 0), where(t, thread, local->point));
    }
}

void run_tell(FILE *out, struct arena *arena, const struct run_names *names, const struct query *query,
              const struct run_goal *goal)
{
    struct teller t = {.arena = arena, .names = names, .lines = source_lines_new(arena), .out = out};
    t.failed = goal->failed ? goal->thread + 1 : 0;
    const char *why;
    struct run run;
    t.machine = machine_new(t.arena, query->program, false, &why);
    if (t.machine && run_search(t.arena, t.machine, goal, &run)) {
        fprintf(t.out,
                "\nA shortest run (towards the right: the network cards and store buffers; in brackets: the "
                "line of C, and who called it):\n");
        tell_run(&t, &run);
        if (goal->stuck)
            fprintf(t.out, "Then nothing can happen any more:\n");
        else
            fprintf(t.out, goal->failed ? "There it fails:\n" : "Then everything is done:\n");
        tell_end(&t, &run);
    } else {
        fprintf(t.out, "\nA run that leads there was not found among the first %d states.\n",
                RUN_MOST_STATES);
    }
    if (t.machine)
        machine_free(t.machine);
    source_lines_free(t.lines);
}
