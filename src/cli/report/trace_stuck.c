/* Who waits where in a run that gets stuck, and which thread holds the lock that is waited for. */
#include "base/arena.h"
#include "cli/report/trace_words.h"

#include <string.h>

enum { NOBODY = -1 };

struct stuck_run {
    struct arena *arena;
    const struct run *run;
    const struct program *program;
    const char **at; /* by thread: the statement at which it waits; NULL: it has ended */
};

/* Without which part of a library's operation it is: "acquire(l) [until serving equals the ticket]". */
static size_t statement_length(const char *text)
{
    const char *part = strstr(text, " [");
    return part ? (size_t)(part - text) : strlen(text);
}

/* What states say of the threads: "P1 next: await(x == 1)  store buffer …". */
static void find_places(struct stuck_run *s)
{
    const struct run *run = s->run;
    const char *state = run->n_steps ? run->steps[run->n_steps - 1].state : run->start;
    char *rest;
    s->at = ARENA_ARRAY(s->arena, const char *, s->program->n_threads + 1);
    for (char *line = strtok_r(arena_strdup(s->arena, state), "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *next = strstr(line, " next: "), *buffer = strstr(line, "  store buffer ");
        const char *at = next ? next + strlen(" next: ") : "end";
        unsigned thread;
        if (buffer)
            *buffer = 0;
        if (strcmp(at, "end") != 0 && sscanf(line, "P%u", &thread) == 1)
            s->at[thread] = arena_strndup(s->arena, at, statement_length(at));
    }
}

/* --- locks --- */

/* The lock of "acquire(l)"; NULL: it is another statement. */
static const char *lock_of(struct arena *arena, const char *statement, const char *verb)
{
    size_t length = strlen(verb);
    if (!statement || strncmp(statement, verb, length) != 0 || statement[length] != '(')
        return NULL;
    return arena_strndup(arena, statement + length + 1, strcspn(statement + length + 1, ")"));
}

static bool is_lock(struct arena *arena, const char *statement, const char *verb, const char *lock)
{
    const char *its = lock_of(arena, statement, verb);
    return its && strcmp(its, lock) == 0;
}

/* The thread that has acquired the lock and has not begun to release it. */
static int holder_of(const struct stuck_run *s, const char *lock)
{
    int holder = NOBODY;
    for (unsigned i = 0; i < s->run->n_steps; i++) {
        const struct run_step *step = &s->run->steps[i];
        if (step->rule != RUN_CPU)
            continue;
        uint32_t line;
        const char *statement = s->program->ops->describe(s->program, step->where, &line);
        if (is_lock(s->arena, statement, "acquire", lock) &&
            !is_lock(s->arena, s->at[step->thread], "acquire", lock))
            holder = (int)step->thread;
        else if (is_lock(s->arena, statement, "release", lock) && holder == (int)step->thread)
            holder = NOBODY;
    }
    return holder;
}

/* The thread that holds the lock for which this one waits. */
static int waits_for(const struct stuck_run *s, unsigned thread)
{
    const char *lock = lock_of(s->arena, s->at[thread], "acquire");
    return lock ? holder_of(s, lock) : NOBODY;
}

static bool is_in_circle(const struct stuck_run *s, unsigned thread)
{
    int other = waits_for(s, thread);
    for (unsigned n = 0; n < s->program->n_threads && other != NOBODY && other != (int)thread; n++)
        other = waits_for(s, (unsigned)other);
    return other == (int)thread;
}

/* --- all --- */

static bool is_for_completion(const char *at)
{
    return strncmp(at, "poll(", 5) == 0 || strncmp(at, "wait(", 5) == 0 || strncmp(at, "sv_wait(", 8) == 0;
}

struct waiting trace_waiting(struct arena *arena, const struct run *run, const struct program *program)
{
    struct stuck_run s = {arena, run, program, NULL};
    struct waiting w = {.places = "", .threads = ""};
    find_places(&s);
    for (unsigned t = 0; t < program->n_threads; t++) {
        const char *at = s.at[t];
        if (!at)
            continue;
        const char *lock = lock_of(arena, at, "acquire");
        int holder = waits_for(&s, t);
        w.places =
            arena_printf(arena, "%s%sP%u %sat %s", w.places, w.n ? ", " : "", t, w.n ? "" : "waits ", at);
        if (holder != NOBODY)
            w.places = arena_printf(arena, "%s (P%d holds %s)", w.places, holder, lock);
        w.threads = arena_printf(arena, "%s%sP%u", w.threads, w.n ? " or " : "", t);
        w.completion |= is_for_completion(at);
        w.lock |= lock != NULL;
        w.value |= !lock && !is_for_completion(at);
        w.deadlock |= is_in_circle(&s, t);
        w.n++;
    }
    return w;
}
