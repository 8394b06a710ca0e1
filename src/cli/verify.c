/* remora verify: the library's C code against the specifications (semantics, section 9), on all clients up to
 * a bound. For each client every outcome of the C code, explored down to RDMA-TSO, must be an outcome of the
 * client under the specification, and no run may get stuck. */
#include "base/arena.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/report/why.h"
#include "litmus/litmus.h"
#include "verify/clients.h"
#include "verify/judge.h"
#include "verify/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char command[] = "remora verify";

enum fate { NOT_DONE, DONE_SOUND, DONE_BOUNDED, DONE_VIOLATED, DONE_UNKNOWN };

struct client_result {
    atomic_uchar fate;
    uint32_t states;
};

struct options {
    bool wanted[N_VERIFIED];
    enum bound bound;
    double timeout;
    uint64_t max_states;
    unsigned jobs;
    const char *resume, *save;
    bool json, quiet, print, rerun;
};

/* One library under verification. */
struct verification {
    const struct options *options;
    enum verified library;
    struct clients *clients;
    size_t n;
    struct client_result *results;
    atomic_size_t first_violated; /* clients behind it need not be looked at */
    atomic_uint_fast64_t states;
    FILE *log;
    double seconds;
};

enum { KEY_BOUND = 256, KEY_JSON, KEY_RESUME, KEY_TIMEOUT, KEY_MAX_STATES, KEY_SAVE, KEY_PRINT, KEY_RERUN };

static const struct argp_option option_table[] = {
    {"bound", KEY_BOUND, "BOUND", 0, "Which clients: small, default or large", 1},
    {"jobs", 'j', "N", 0, "Verify N clients at a time (default: one for each processor)", 1},
    {"resume", KEY_RESUME, "FILE", 0, "Keep a log in FILE, and go on where it ends", 1},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "Give a client up after that time (default 60)", 2},
    {"max-states", KEY_MAX_STATES, "N", 0, "Give a client up beyond N states or executions", 2},
    {"save", KEY_SAVE, "DIR", 0, "Where the files of a violation go (default: the current folder)", 3},
    {"rerun", KEY_RERUN, NULL, 0,
     "Get back to a state by running the C code again rather than by saved stacks (to compare)", 2},
    {"json", KEY_JSON, NULL, 0, "One JSON object for each library", 3},
    {"print", KEY_PRINT, NULL, 0, "Print the clients as litmus tests and don't verify them", 3},
    {"quiet", 'q', NULL, 0, "No progress line", 3},
    {0}};

static enum bound parse_bound(struct argp_state *state, const char *name)
{
    static const char *const names[] = {"small", "default", "large"};
    for (unsigned b = 0; b < 3; b++)
        if (strcmp(name, names[b]) == 0)
            return (enum bound)b;
    argp_error(state, "there is no bound `%s': small, default, large", name);
    return BOUND_DEFAULT;
}

static void parse_library(struct argp_state *state, struct options *options, const char *name)
{
    bool all = strcmp(name, "all") == 0, found = all;
    for (unsigned l = 0; l < N_VERIFIED; l++)
        if (all || strcmp(name, library_names[l]) == 0)
            options->wanted[l] = found = true;
    if (!found)
        argp_error(state, "there is no library `%s': wait, sv, wlock, slock, nlock, sc, object, shm, all",
                   name);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_BOUND:
        options->bound = parse_bound(state, argument);
        return 0;
    case 'j':
        options->jobs = (unsigned)option_number(state, "jobs", argument, 1, 1024);
        return 0;
    case KEY_RESUME:
        options->resume = argument;
        return 0;
    case KEY_TIMEOUT:
        options->timeout = option_seconds(state, "timeout", argument);
        return 0;
    case KEY_MAX_STATES:
        options->max_states = option_number(state, "max-states", argument, 1, UINT64_MAX);
        return 0;
    case KEY_SAVE:
        options->save = argument;
        return 0;
    case KEY_RERUN:
        options->rerun = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_PRINT:
        options->print = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        parse_library(state, options, argument);
        return 0;
    case ARGP_KEY_NO_ARGS:
        parse_library(state, options, "all");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- one client --- */

static struct verify_options verify_options(const struct verification *v)
{
    return (struct verify_options){
        .client = {.sc_as = v->library == VERIFY_OBJECT ? SC_AS_OBJECT : SC_AS_CELL,
                   .rerun = v->options->rerun},
        .over_shm = v->library == VERIFY_SHM,
        .timeout = v->options->timeout,
        .limits = {.jobs = 1, .max_states = v->options->max_states, .stop = interrupt_flag()}};
}

static void note(struct verification *v, size_t i, const struct verify_result *result)
{
    static const unsigned char fates[] = {DONE_SOUND, DONE_BOUNDED, DONE_VIOLATED, DONE_UNKNOWN};
    struct client_result *kept = &v->results[i];
    kept->states = result->states > UINT32_MAX ? UINT32_MAX : (uint32_t)result->states;
    atomic_fetch_add(&v->states, result->states);
    if (v->log) {
        flockfile(v->log);
        fprintf(v->log, "%s %d %zu %s %" PRIu32 "\n", library_names[v->library], (int)v->options->bound, i,
                verify_verdict_name(result->verdict), kept->states);
        funlockfile(v->log);
    }
    atomic_store(&kept->fate, fates[result->verdict]);
    size_t first = atomic_load(&v->first_violated);
    while (result->verdict == VERIFY_VIOLATED && i < first &&
           !atomic_compare_exchange_weak(&v->first_violated, &first, i))
        ;
}

static void verify_one(void *context, size_t i)
{
    struct verification *v = context;
    if (atomic_load(&v->results[i].fate) != NOT_DONE || i > atomic_load(&v->first_violated) ||
        atomic_load(interrupt_flag()))
        return;
    struct arena *arena = arena_new();
    struct lm_test *test = clients_test(arena, v->clients, i);
    struct verify_options options = verify_options(v);
    struct verify_result result = {.verdict = VERIFY_UNKNOWN};
    if (test)
        result = verify_client(arena, test, &options);
    bool interrupted = result.verdict == VERIFY_UNKNOWN && atomic_load(interrupt_flag());
    if (!interrupted)
        note(v, i, &result);
    arena_free(arena);
}

/* --- one library --- */

static void show_progress(struct progress *progress, const struct verification *v, size_t done, double start)
{
    char text[64];
    double left = done ? (now() - start) / (double)done * (double)(v->n - done) : 0;
    snprintf(text, sizeof text, "%s, %.0f s left", library_names[v->library], left);
    progress_show(progress, done, v->n, text, atomic_load(&v->states));
}

static void verify_all(struct verification *v)
{
    struct progress progress = progress_start();
    progress.on &= !v->options->quiet;
    double start = now();
    struct pool *pool = pool_start(v->options->jobs, v->n, verify_one, v, interrupt_flag());
    for (size_t i = 0; i < v->n; i++)
        while (!pool_wait(pool, i, 0.2)) {
            size_t current;
            show_progress(&progress, v, pool_done(pool, &current), start);
        }
    pool_finish(pool);
    progress_clear(&progress);
    v->seconds = now() - start;
}

/* The results of an earlier run, of the same library, bound and number of clients. */
static void read_log(struct verification *v, FILE *log)
{
    static const char *const names[] = {"", "sound", "bounded-sound", "violated", "unknown"};
    char library[16], verdict[16];
    int bound;
    size_t i;
    uint32_t states;
    while (fscanf(log, "%15s %d %zu %15s %" SCNu32, library, &bound, &i, verdict, &states) == 5) {
        if (strcmp(library, library_names[v->library]) != 0 || bound != (int)v->options->bound || i >= v->n)
            continue;
        for (unsigned f = DONE_SOUND; f <= DONE_UNKNOWN; f++)
            if (strcmp(verdict, names[f]) == 0) {
                atomic_store(&v->results[i].fate, (unsigned char)f);
                v->results[i].states = states;
            }
        atomic_fetch_add(&v->states, states);
        if (strcmp(verdict, "violated") == 0 && i < atomic_load(&v->first_violated))
            atomic_store(&v->first_violated, i);
    }
}

static bool open_log(struct verification *v)
{
    if (!v->options->resume)
        return true;
    FILE *log = fopen(v->options->resume, "r");
    if (log) {
        read_log(v, log);
        fclose(log);
    }
    v->log = fopen(v->options->resume, "a");
    if (!v->log)
        complain(command, "%s: %s", v->options->resume, strerror(errno));
    return v->log != NULL;
}

struct totals {
    size_t fates[DONE_UNKNOWN + 1], threads3;
};

static const char *verdict_of(const struct totals *totals)
{
    if (totals->fates[DONE_VIOLATED])
        return "violated";
    if (totals->fates[DONE_UNKNOWN] || totals->fates[NOT_DONE])
        return "unknown";
    return totals->fates[DONE_BOUNDED] ? "bounded-sound" : "sound";
}

static void print_row(const struct verification *v, const struct totals *totals)
{
    char text[512];
    size_t done = v->n - totals->fates[NOT_DONE];
    int length;
    if (v->options->json)
        length =
            snprintf(text, sizeof text,
                     "{\"library\":\"%s\",\"over\":\"%s\",\"clients\":%zu,\"three_threads\":%zu,\"done\":%zu,"
                     "\"unknown\":%zu,\"states\":%" PRIuFAST64 ",\"seconds\":%.3f,\"verdict\":\"%s\"}\n",
                     library_names[v->library], library_over[v->library], v->n, totals->threads3, done,
                     totals->fates[DONE_UNKNOWN], atomic_load(&v->states), v->seconds, verdict_of(totals));
    else
        length = snprintf(text, sizeof text, "%-8s %-10s %8zu %12" PRIuFAST64 " %8.1f  %s",
                          library_names[v->library], library_over[v->library], done, atomic_load(&v->states),
                          v->seconds, verdict_of(totals));
    output(text, (size_t)length);
    if (v->options->json)
        return;
    length = 0;
    if (totals->fates[DONE_UNKNOWN])
        length = snprintf(text, sizeof text, " (%zu clients)", totals->fates[DONE_UNKNOWN]);
    if (totals->fates[NOT_DONE] && !totals->fates[DONE_VIOLATED])
        length += snprintf(text + length, sizeof text - (size_t)length, " (%zu clients not done)",
                           totals->fates[NOT_DONE]);
    output(text, (size_t)length);
    output("\n", 1);
    output_flush();
}

/* --- a violation --- */

static FILE *open_file(const char *folder, const char *library, const char *suffix, char *name, size_t size)
{
    snprintf(name, size, "%s/violation-%s.%s", folder, library, suffix);
    FILE *file = fopen(name, "w");
    if (!file)
        complain(command, "%s: %s", name, strerror(errno));
    return file;
}

static void save(const char *folder, const char *library, const char *suffix, const char *text)
{
    char name[4096];
    FILE *file = open_file(folder, library, suffix, name, sizeof name);
    if (!file)
        return;
    fputs(text, file);
    if (fclose(file) != 0)
        complain(command, "%s: %s", name, strerror(errno));
}

/* Why the specification forbids the outcome that the test asks for; "" if it does not ask for one. The specification of
 * shm is RDMA-TSO, which allows no more than RDMA-WAIT does. */
static const char *why_forbidden(struct arena *arena, const char *litmus, bool shm)
{
    struct lm_test *test = lm_parse_text(arena, command, litmus, strlen(litmus)).test;
    if (!test || test->quantifier != LM_NOT_EXISTS)
        return "";
    struct judge_options options = {.engine = ENGINE_DECLARATIVE, .timeout = 30, .limits = {.jobs = 1}};
    struct verdict verdict = judge(arena, test, &options);
    struct explained_test explained = explain_test(arena, test, &verdict, &options);
    const char *text =
        shm && verdict.holds != ANSWER_YES
            ? "\nWhy the specification forbids it:\nNo run of the machine of RDMA-TSO (its step-by-step "
              "rules) ends so. The rules of RDMA-WAIT alone would allow it.\n"
            : arena_printf(arena, "\nWhy the specification forbids it:\n%s", why_in_words(arena, &explained));
    verdict_free(&verdict);
    return text;
}

static void report_violation(const struct verification *v)
{
    struct arena *arena = arena_new();
    struct lm_test *test = clients_test(arena, v->clients, atomic_load(&v->first_violated));
    struct verify_options options = verify_options(v);
    const char *litmus, *text = run_explain(arena, test, &options, &litmus);
    text = arena_printf(arena, "%s%s", text, why_forbidden(arena, litmus, v->library == VERIFY_SHM));
    const char *folder = v->options->save ? v->options->save : ".";
    save(folder, library_names[v->library], "litmus", litmus);
    save(folder, library_names[v->library], "txt", text);
    if (!v->options->json) {
        output("\n", 1);
        output(text, strlen(text));
        char names[512];
        int length = snprintf(names, sizeof names, "\nSaved as %s/violation-%s.litmus and .txt\n\n", folder,
                              library_names[v->library]);
        output(names, (size_t)length);
    }
    arena_free(arena);
}

static enum status finish(struct verification *v)
{
    struct totals totals = {0};
    for (size_t i = 0; i < v->n; i++) {
        totals.fates[atomic_load(&v->results[i].fate)]++;
        totals.threads3 += clients_threads(v->clients, i) == 3;
    }
    print_row(v, &totals);
    if (totals.fates[DONE_VIOLATED])
        report_violation(v);
    if (totals.fates[DONE_VIOLATED])
        return STATUS_FAILS;
    return totals.fates[DONE_UNKNOWN] || totals.fates[NOT_DONE] ? STATUS_UNFINISHED : STATUS_HOLDS;
}

static void print_clients(const struct verification *v)
{
    for (size_t i = 0; i < v->n; i++) {
        struct arena *arena = arena_new();
        const char *text = clients_text(arena, v->clients, i);
        output(text, strlen(text));
        output("\n", 1);
        arena_free(arena);
    }
}

static enum status verify_library(const struct options *options, enum verified library)
{
    struct verification v = {.options = options, .library = library};
    v.clients = clients_new(library, options->bound);
    v.n = clients_count(v.clients);
    v.results = xcalloc(v.n, sizeof *v.results);
    atomic_init(&v.first_violated, SIZE_MAX);
    enum status status = STATUS_BAD;
    if (options->print) {
        print_clients(&v);
        status = STATUS_HOLDS;
    } else if (open_log(&v)) {
        verify_all(&v);
        status = finish(&v);
    }
    if (v.log)
        fclose(v.log);
    free(v.results);
    clients_free(v.clients);
    return status;
}

static const char description[] =
    "Verifies the library's C code against the specifications, on all clients up to a bound.\v"
    "LIBRARY: wait, sv, wlock, slock, nlock, sc, object, shm (the provider), or all (default).\n"
    "Exit status: 0 sound, 1 a violation, 2 bad usage, 3 not finished or some client unknown.";

int verify_main(int argc, char **argv)
{
    static const struct argp argp = {option_table, parse_option, "[LIBRARY...]", description, NULL,
                                     NULL,         NULL};
    static const char header[] = "Library  Over        Clients       States  Seconds  Verdict\n";
    struct options options = {.bound = BOUND_DEFAULT, .timeout = 60, .jobs = cpu_count()};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (!options.json && !options.print)
        output(header, sizeof header - 1);
    enum status status = STATUS_HOLDS;
    for (unsigned l = 0; l < N_VERIFIED; l++)
        if (options.wanted[l] && status != STATUS_BAD && !atomic_load(interrupt_flag())) {
            enum status one = verify_library(&options, (enum verified)l);
            status = one > status ? one : status;
        }
    return (int)status;
}
