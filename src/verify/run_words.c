/* See run_words.h. */
#include "verify/run_words.h"

#include "base/arena.h"
#include "verify/source_line.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_CALLERS = 32 };

static const char *name_of(const struct run_words *w, unsigned loc)
{
    return w->names->location(w->arena, w->names->context, loc);
}

static bool is_result(const struct run_words *w, unsigned loc)
{
    return loc != PROG_NO_LOC && w->names->is_result(w->names->context, loc);
}

static enum place_word place_of(const struct run_words *w, unsigned loc)
{
    return loc != PROG_NO_LOC && w->names->place_word ? w->names->place_word(w->names->context, loc)
                                                      : NO_PLACE;
}

bool words_is_ticket(const struct run_words *w, unsigned loc)
{
    return place_of(w, loc) == PLACE_TICKET;
}

bool words_is_internal(const struct run_words *w, unsigned loc)
{
    return is_result(w, loc) || place_of(w, loc) != NO_PLACE;
}

/* --- where in the C code --- */

/* Not the library's own logic: the model's, or the thin layer that posts. */
static bool is_plumbing(const char *file)
{
    static const char *const files[] = {"model.c",  "c_thread.c", "coroutine.c", "c_program.c",
                                        "thread.h", "ticket.h",   "world.c",     "cpu.c"};
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(file, files[i]) == 0)
            return true;
    return false;
}

static bool is_driver(const char *file)
{
    return strcmp(file, "client.c") == 0 || strcmp(file, "model_main.c") == 0;
}

/* Of calls that are one operation, the step says all. */
static bool is_said_by_the_step(const char *call)
{
    static const char *const calls[] = {"rem_load",   "rem_store",  "rem_cas",  "rem_faa",       "rem_xchg",
                                        "rem_mfence", "rem_put",    "rem_get",  "rem_put_value", "rem_rcas",
                                        "rem_rfaa",   "rem_rfence", "rem_pause"};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(call, calls[i]) == 0)
            return true;
    return false;
}

/* The public function, whatever it is called where it is compiled for the model. */
static const char *public_name(const char *function)
{
    const char *name = function ? strstr(function, "rem_") : NULL;
    return name && (name == function || name[-1] == '_') ? name : NULL;
}

const char *words_call(const struct run_words *w, unsigned thread, uint32_t point)
{
    void *addresses[MOST_CALLERS];
    unsigned n = c_program_backtrace(w->names->program, thread, point, addresses, MOST_CALLERS);
    const char *call = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct source_line line = source_line_of_call(w->lines, addresses[i]);
        const char *name =
            line.file && line.is_library && !is_driver(line.file) ? public_name(line.function) : NULL;
        if (line.file && !line.is_library)
            break;
        call = name ? name : call;
    }
    return call;
}

/* The user's own lines, innermost first, and the call of the library that she is in. */
static const char *users_place(const struct run_words *w, unsigned thread, uint32_t point,
                               void *const *addresses, unsigned n)
{
    const char *text = "", *call = words_call(w, thread, point);
    for (unsigned i = 0, told = 0; i < n && told < 3; i++) {
        struct source_line line = source_line_of_call(w->lines, addresses[i]);
        if (!line.file || line.is_library)
            continue;
        text = arena_printf(w->arena, "%s%s%s:%u", text, told ? " < " : "", line.file, line.line);
        told++;
    }
    return call && !is_said_by_the_step(call) ? arena_printf(w->arena, "%s < %s", call, text) : text;
}

static const char *librarys_place(const struct run_words *w, void *const *addresses, unsigned n)
{
    const char *text = "";
    for (unsigned i = 0, told = 0; i < n && told < 3; i++) {
        struct source_line line = source_line_of_call(w->lines, addresses[i]);
        if (!line.file || is_plumbing(line.file))
            continue;
        if (is_driver(line.file)) {
            if (told)
                break;
            continue;
        }
        text = arena_printf(w->arena, "%s%s%s:%u", text, told ? " < " : "", line.file, line.line);
        told++;
    }
    return text;
}

const char *words_place(const struct run_words *w, unsigned thread, uint32_t point)
{
    void *addresses[MOST_CALLERS];
    unsigned n = c_program_backtrace(w->names->program, thread, point, addresses, MOST_CALLERS);
    return w->names->is_users ? users_place(w, thread, point, addresses, n) : librarys_place(w, addresses, n);
}

const char *words_line(const struct run_words *w, unsigned thread, uint32_t point, const char **function)
{
    void *addresses[MOST_CALLERS];
    unsigned n = c_program_backtrace(w->names->program, thread, point, addresses, MOST_CALLERS);
    *function = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct source_line line = source_line_of_call(w->lines, addresses[i]);
        if (!line.file || is_driver(line.file) || is_plumbing(line.file))
            continue;
        if (w->names->is_users && line.is_library)
            continue;
        *function = line.function;
        return arena_printf(w->arena, "%s:%u", line.file, line.line);
    }
    return "";
}

/* --- operations --- */

const char *words_noun(const struct operation *o)
{
    switch (o->local->kind) {
    case OP_LOAD:
    case OP_AWAIT:
        return "load";
    case OP_STORE:
        return "store";
    case OP_CAS:
        return "compare-and-swap";
    case OP_FAA:
        return "fetch-and-add";
    case OP_XCHG:
        return "exchange";
    case OP_MFENCE:
        return "mfence";
    case OP_PUT:
        return "put";
    case OP_GET:
        return "get";
    case OP_RCAS:
        return "remote compare-and-swap";
    case OP_RFAA:
        return "remote fetch-and-add";
    case OP_RFENCE:
        return "remote fence";
    case OP_POLL:
        return "poll";
    default:
        return "step";
    }
}

static uint32_t first_of_several(const struct story *story)
{
    for (uint32_t i = 0; i < story->n_operations; i++)
        if (story->operations[i].words > 1)
            return i;
    return NO_OPERATION;
}

const char *words_operation(const struct run_words *w, const struct operation *o)
{
    struct arena *a = w->arena;
    uint64_t v = machine_value(w->story->machine, o->local->v);
    switch (o->local->kind) {
    case OP_PUT:
        if (operation_near(o) == PROG_NO_LOC)
            return arena_printf(a, "put of %" PRIu64 " to %s", v, name_of(w, operation_far(o)));
        return arena_printf(a, "put of %s to %s", name_of(w, operation_near(o)),
                            name_of(w, operation_far(o)));
    case OP_GET:
    case OP_RCAS:
    case OP_RFAA:
        return arena_printf(a, "%s %s %s", words_noun(o), o->local->kind == OP_RFAA ? "to" : "of",
                            name_of(w, operation_far(o)));
    case OP_RFENCE:
        return arena_printf(a, "remote fence towards node %u",
                            entry_node(w->story->machine, o->local->entry));
    case OP_MFENCE:
    case OP_POLL:
        return words_noun(o);
    default:
        return arena_printf(a, "%s of %s", words_noun(o), name_of(w, o->local->loc));
    }
}

const char *words_short(const struct run_words *w, const struct operation *o)
{
    return arena_printf(w->arena, "%s of step %u", words_noun(o), o->number);
}

const char *words_long(const struct run_words *w, const struct operation *o)
{
    const char *function, *line = words_line(w, o->thread, o->local->point, &function);
    const char *word = o->words > 1 ? arena_printf(w->arena, ", word %u of %u", o->word, o->words) : "";
    return arena_printf(w->arena, "%s%s (step %u%s%s)", words_operation(w, o), word, o->number,
                        *line ? ", " : "", line);
}

/* --- what the CPU does --- */

/* The last operation of the thread whose result went into the word before this step; *early: one is still on its way. */
static const struct operation *bringer(const struct run_words *w, unsigned thread, unsigned loc, uint32_t at,
                                       bool *early)
{
    const struct story *story = w->story;
    const struct operation *last = NULL;
    for (uint32_t i = 0; i < story->n_operations && story->operations[i].step < at; i++) {
        const struct operation *o = &story->operations[i];
        if (o->thread == thread && operation_is_remote(o) && o->local->kind != OP_PUT &&
            operation_near(o) == loc)
            last = o;
    }
    *early = last && last->result > at;
    return last;
}

static const char *load_words(const struct run_words *w, const struct operation *o, uint32_t at)
{
    struct arena *a = w->arena;
    unsigned loc = o->local->loc;
    if (words_is_internal(w, loc)) {
        bool early;
        const struct operation *from = bringer(w, o->thread, loc, at, &early);
        if (from)
            return arena_printf(a, "takes the result of its %s%s: %" PRIu64 "%s", words_short(w, from),
                                early ? " before it is there" : "", o->value_read,
                                words_is_ticket(w, loc) ? ", its ticket" : "");
    }
    if (o->forwarded != NO_OPERATION)
        return arena_printf(a, "loads %s: %" PRIu64 " (its own %s, still in its store buffer)",
                            name_of(w, loc), o->value_read,
                            words_short(w, &w->story->operations[o->forwarded]));
    return arena_printf(a, "loads %s: %" PRIu64, name_of(w, loc), o->value_read);
}

static const char *poll_words(const struct run_words *w, const struct operation *o)
{
    if (o->polled == NO_OPERATION)
        return "polls";
    const struct operation *of = &w->story->operations[o->polled];
    const char *what = of->local->kind != OP_PUT ? "its result is in local memory"
                       : o->landed               ? "acknowledged; as it happens it has landed, too"
                                                 : "acknowledged, not landed";
    return arena_printf(w->arena, "polls the completion of its %s (%s)", words_short(w, of), what);
}

static const char *into(const struct run_words *w, unsigned near)
{
    return words_is_internal(w, near)
               ? ""
               : arena_printf(w->arena, ", its result to go into %s", name_of(w, near));
}

/* What it does, except for what it finds. */
static const char *plain_words(const struct run_words *w, const struct local *local)
{
    const struct machine *m = w->story->machine;
    struct arena *a = w->arena;
    uint64_t v = machine_value(m, local->v), e = machine_value(m, local->e);
    bool remote =
        local->kind == OP_PUT || local->kind == OP_GET || local->kind == OP_RCAS || local->kind == OP_RFAA;
    const char *far = remote ? name_of(w, entry_loc(local->entry)) : "";
    unsigned near =
        entry_kind(local->entry) == E_PUT_INLINE ? (unsigned)PROG_NO_LOC : entry_local(local->entry);
    switch (local->kind) {
    case OP_LOAD:
        return arena_printf(a, "loads %s", name_of(w, local->loc));
    case OP_AWAIT:
        return arena_printf(a, "waits for %s", name_of(w, local->loc));
    case OP_STORE:
        return arena_printf(a, "stores %s = %" PRIu64, name_of(w, local->loc), v);
    case OP_CAS:
        return arena_printf(a, "compare-and-swap of %s from %" PRIu64 " to %" PRIu64, name_of(w, local->loc),
                            e, v);
    case OP_FAA:
        return arena_printf(a, "adds %" PRIu64 " to %s", v, name_of(w, local->loc));
    case OP_XCHG:
        return arena_printf(a, "exchanges %s for %" PRIu64, name_of(w, local->loc), v);
    case OP_MFENCE:
        return "mfence: its store buffer is empty";
    case OP_PUT:
        return near == PROG_NO_LOC ? arena_printf(a, "posts a put of the value %" PRIu64 " to %s", v, far)
                                   : arena_printf(a, "posts a put of %s to %s", name_of(w, near), far);
    case OP_GET:
        return arena_printf(a, "posts a get of %s%s", far,
                            words_is_internal(w, near) ? "" : arena_printf(a, " into %s", name_of(w, near)));
    case OP_RCAS:
        return arena_printf(a, "posts a remote compare-and-swap of %s from %" PRIu64 " to %" PRIu64 "%s", far,
                            e, v, into(w, near));
    case OP_RFAA:
        return arena_printf(a, "posts a remote fetch-and-add of %" PRIu64 " to %s%s", v, far, into(w, near));
    case OP_RFENCE:
        return arena_printf(a, "posts a remote fence towards node %u", entry_node(m, local->entry));
    case OP_POLL:
        return local->node == NO_NODE ? "polls"
                                      : arena_printf(a, "polls for a completion from node %u", local->node);
    case OP_SPIN_BEGIN:
        return "looks again (the next round of its loop)";
    default:
        return "goes on";
    }
}

/* A put or get of several words, told at the first of them that the run comes to. */
static const char *several_words(const struct run_words *w, const struct operation *o)
{
    const struct story *story = w->story;
    for (uint32_t i = o->whole; i < story->n_operations; i++)
        if (story->operations[i].whole == o->whole && story->operations[i].word == 1)
            o = &story->operations[i];
    return arena_printf(w->arena, "posts a %s of %u words: %s into %s%s%s", words_noun(o), o->words,
                        name_of(w, o->local->kind == OP_PUT ? operation_near(o) : operation_far(o)),
                        name_of(w, o->local->kind == OP_PUT ? operation_far(o) : operation_near(o)),
                        o->word == 1 ? " and so on" : " and others",
                        o->whole == first_of_several(story) ? " (each word travels by itself, in any order)"
                                                            : "");
}

static const char *cpu_words(const struct run_words *w, uint32_t at)
{
    const struct operation *o = &w->story->operations[w->story->operation[at]];
    switch (o->local->kind) {
    case OP_LOAD:
        return load_words(w, o, at);
    case OP_AWAIT:
        return arena_printf(w->arena, "finds %s = %" PRIu64, name_of(w, o->local->loc), o->value_read);
    case OP_CAS:
    case OP_FAA:
    case OP_XCHG:
        return arena_printf(w->arena, "%s: it was %" PRIu64, plain_words(w, o->local), o->value_read);
    case OP_POLL:
        return poll_words(w, o);
    case OP_STORE:
        return arena_printf(w->arena, "%s%s", plain_words(w, o->local),
                            o->write < w->story->n_steps && !w->story->told[o->write]
                                ? " (at once in memory)"
                                : " (into its store buffer)");
    default:
        return o->words > 1 ? several_words(w, o) : plain_words(w, o->local);
    }
}

const char *words_next(const struct run_words *w, const struct local *local)
{
    return plain_words(w, local);
}

/* --- what the network card and the store buffer do --- */

static const char *silent_words(const struct run_words *w, uint32_t at)
{
    const struct operation *o = &w->story->operations[w->story->operation[at]];
    struct arena *a = w->arena;
    const char *own = o->words > 1 ? arena_printf(a, "word %u of its %s", o->word, words_short(w, o))
                                   : arena_printf(a, "its %s", words_short(w, o));
    bool remote = operation_is_remote(o);
    const char *far = remote ? name_of(w, operation_far(o)) : "";
    switch ((enum rule)w->story->steps[at].rule) {
    case RULE_FLUSH:
        return arena_printf(a, "%s gets into memory: %s = %" PRIu64, own, name_of(w, o->local->loc),
                            o->value_written);
    case RULE_PUT_READ:
        return arena_printf(a, "%s reads its source: %s = %" PRIu64, own, name_of(w, operation_near(o)),
                            o->value_read);
    case RULE_GET_READ:
        return arena_printf(a, "%s reads %s = %" PRIu64, own, far, o->value_read);
    case RULE_RCAS_FAIL:
        return arena_printf(a, "%s reads %s = %" PRIu64 " and fails", own, far, o->value_read);
    case RULE_RCAS:
    case RULE_RFAA:
        if (o->write < w->story->n_steps && !w->story->told[o->write])
            return arena_printf(a, "%s reads %s = %" PRIu64 " and writes %" PRIu64, own, far, o->value_read,
                                o->value_written);
        return arena_printf(a, "%s, first half: reads %s = %" PRIu64, own, far, o->value_read);
    case RULE_PUT_LAND:
        return arena_printf(a, "%s lands: %s = %" PRIu64, own, far, o->value_written);
    case RULE_ATOMIC_LAND:
        return arena_printf(a, "%s, second half: writes %s = %" PRIu64, own, far, o->value_written);
    case RULE_LOCAL_LAND:
        return is_result(w, operation_near(o))
                   ? arena_printf(a, "the result of %s is in local memory: %" PRIu64, own, o->value_read)
                   : arena_printf(a, "the result of %s lands: %s = %" PRIu64, own,
                                  name_of(w, operation_near(o)), o->value_read);
    default:
        return "";
    }
}

/* A write that is not another remote atomic's may come between the two halves of one. */
static const char *between_words(const struct run_words *w, uint32_t at)
{
    uint32_t atomic = story_between(w->story, at);
    if (atomic == NO_OPERATION)
        return "";
    const struct operation *o = &w->story->operations[atomic];
    return arena_printf(w->arena, " (between the halves of P%u's %s)", o->thread, words_short(w, o));
}

const char *words_step(const struct run_words *w, uint32_t at)
{
    const char *text = w->story->steps[at].rule == RULE_CPU ? cpu_words(w, at) : silent_words(w, at);
    return arena_printf(w->arena, "%s%s", text, between_words(w, at));
}

const char *words_statement(const struct run_words *w, unsigned thread, unsigned number)
{
    const struct run_names *names = w->names;
    return names->statement ? names->statement(w->arena, names->context, thread, number) : NULL;
}
