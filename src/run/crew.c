/* The threads of a test on their way through the instances (crew.h).
 *
 * Iterations are played in step: before each, the threads meet at a gate, so that they come to the same instance
 * within a few nanoseconds of each other; what separates them then is a random lag. Between processes the gate is a word of every node in the
 * memory of every other, written by put. A node can be one gate ahead of another, not two, so two words
 * in turn are enough.
 *
 * Stuck runs. In one process a watcher sees all threads. If each of them waits, none has left its wait between
 * two looks of the watcher, and each has looked at least once in between and found nothing, then nothing more can
 * come, if the transport has nothing under way either: where operations have not happened when they are posted,
 * the watcher gives them time. Between processes it is only a matter of patience. */
#include "run/crew.h"

#include "base/arena.h"
#include "tower/thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    SPINS = 1000,
    SPINS_CROWDED = 10,
    NAP = 50000,      /* nanoseconds */
    GRACE = 100000000 /* for operations under way */
};

static void nap(void)
{
    nanosleep(&(struct timespec){0, NAP}, NULL);
}

/* ---- The gate ---- */

static const struct step_words *step_of(const struct worker *w)
{
    return w->instances->node[w->code->node].step;
}

/* Meets the other processes: does any of them want to end the batch? */
static bool meet_others(struct worker *w, bool ends)
{
    struct crew *crew = w->crew;
    uint64_t sequence = ++crew->gate_sequence, value = sequence << 1 | ends;
    struct step_words *step = w->instances->node[w->code->node].step;
    for (uint64_t nodes = crew->gate_nodes; nodes; nodes &= nodes - 1)
        rem_put_value(&crew->gate_thread, __builtin_ctzll(nodes), &step->gate[sequence & 1][w->code->node],
                      value, 0);
    for (uint64_t nodes = crew->gate_nodes; nodes; nodes &= nodes - 1) {
        const uint64_t *word = &step->gate[sequence & 1][__builtin_ctzll(nodes)];
        uint64_t theirs;
        while ((theirs = rem_load(&crew->gate_thread, word)) >> 1 != sequence)
            if (!worker_pause(w, WAITS_AT_GATE))
                return true;
        ends |= theirs & 1;
    }
    return ends;
}

static bool pass_gate(struct worker *w)
{
    struct crew *crew = w->crew;
    struct gate *gate = &crew->gate;
    unsigned generation = atomic_load_explicit(&gate->generation, memory_order_relaxed);
    if (atomic_fetch_add(&gate->arrived, 1) + 1 == crew->n_workers) {
        bool ends = atomic_exchange(&crew->ends, false);
        crew->ended = crew->gate_nodes ? meet_others(w, ends) : ends;
        atomic_store_explicit(&gate->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&gate->generation, generation + 1, memory_order_release);
    } else {
        while (atomic_load_explicit(&gate->generation, memory_order_acquire) == generation)
            if (!worker_pause(w, WAITS_AT_GATE))
                break;
    }
    worker_paused(w);
    return !crew->ended && atomic_load_explicit(&crew->failure, memory_order_relaxed) == 0;
}

/* ---- A batch ---- */

static void pin_to(unsigned choice)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned count = (unsigned)CPU_COUNT(&allowed), seen = 0;
    CPU_ZERO(&one);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && seen++ == choice % count)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static uint64_t *result_of(struct worker *w)
{
    return instance_result(w->instances, w->code->node, w->number, w->instance);
}

void crew_set_out(struct worker *w, uint32_t instance)
{
    const struct thread_code *code = w->code;
    w->position++;
    w->instance = instance;
    w->words = instance_words(w->instances, code->node, instance);
    w->work = w->work + 2 * code->works <= REM_WORK_IDS ? w->work + code->works : 0;
    if (code->n_regs)
        memcpy(w->regs, code->regs, code->n_regs * sizeof *w->regs);
    for (unsigned n = 0; w->polls && n < w->instances->session->nodes; n++)
        w->polls[n].issued = w->polls[n].polled = 0;
    result_of(w)[0] = STUCK; /* if it never comes to its end */
    uint64_t random = worker_random(w);
    w->pause_at = random % 2 ? UINT32_MAX : (uint32_t)(random >> 8) % code->n_code;
    worker_lag(w);
}

static void write_result(struct worker *w, enum ending ending)
{
    uint64_t *result = result_of(w);
    result[0] = ending;
    for (unsigned i = 0; i < w->n_shown; i++)
        result[1 + i] = w->regs[w->shown[i]];
}

void crew_play(struct worker *w)
{
    enum ending ending = worker_run(w);
    write_result(w, ending);
    if (w->gave_up_inside)
        atomic_store(&w->crew->ends, true);
    if (ending == FAILED)
        atomic_store(&w->crew->failure, w->error);
}

/* Before the next iteration, when all have ended this one. */
static void clean_up(struct worker *w)
{
    atomic_store_explicit(&w->call_off, 0, memory_order_relaxed);
    if (w->held && !w->gave_up_inside)
        worker_release(w);
}

/* All that this thread has done is done for everyone. */
static void settle(struct worker *w)
{
    if (w->gave_up_inside) { /* the locks will be made anew */
        w->held = 0;
        w->thread.held = 0;
        w->gave_up_inside = false;
    }
    rem_mfence(&w->thread);
    int error = rem_gfence(&w->thread, REM_ALL_NODES);
    thread_wait_all(&w->thread);
    if (!error || error == REM_ETIMEDOUT)
        error = w->error;
    if (error)
        atomic_store(&w->crew->failure, error);
}

uint32_t crew_instance(uint64_t seed, uint64_t k, uint32_t count)
{
    return ((uint32_t)k * ((uint32_t)mixed(seed) | 1) + (uint32_t)(seed >> 32)) & (count - 1);
}

static void play_batch(struct worker *w, uint64_t batch, uint64_t size, uint64_t seed)
{
    static const uint16_t skews[] = {0, 32, 128, 256, 1024, 4096};
    uint32_t count = w->instances->count;
    w->random = mixed(seed + w->number + 1) | 1;
    w->skew = skews[mixed(seed + 77) % (sizeof skews / sizeof *skews)];
    if (w->crew->pinning == PIN_RANDOM && !w->crew->crowded)
        pin_to(w->number + (unsigned)(mixed(seed + 99) & 0xff));
    uint64_t k = 0;
    for (;; k++) {
        bool goes_on = pass_gate(w);
        clean_up(w);
        if (!goes_on || k == size)
            break;
        crew_set_out(w, crew_instance(seed, k, count));
        crew_play(w);
    }
    for (; k < size; k++) /* ended early */
        instance_result(w->instances, w->code->node, w->number, crew_instance(seed, k, count))[0] = 0;
    settle(w);
    struct step_words *step = w->instances->node[w->code->node].step;
    rem_put_value(&w->thread, 0, &step->done[w->number], batch, 0);
}

static uint64_t wait_for_go(struct worker *w, uint64_t last)
{
    const struct step_words *step = step_of(w);
    uint64_t go;
    for (unsigned looks = 0; (go = rem_load(&w->thread, &step->go)) == last; looks++) {
        if (atomic_load(&w->crew->failure) != 0)
            return STEP_END;
        looks < 20 ? (void)sched_yield() : nap();
    }
    return go;
}

static void *live(void *argument)
{
    struct worker *w = argument;
    prctl(PR_SET_TIMERSLACK, 1000);
    if (w->crew->pinning == PIN_FIXED)
        pin_to(w->number);
    worker_enter(w);
    const struct step_words *step = step_of(w);
    uint64_t go = 0;
    while ((go = wait_for_go(w, go)) != STEP_END)
        play_batch(w, go, rem_load(&w->thread, &step->size), rem_load(&w->thread, &step->seed));
    worker_leave(w);
    atomic_fetch_add(&w->crew->gone, 1);
    return NULL;
}

int crew_start(struct crew *crew)
{
    crew->spins = crew->crowded ? SPINS_CROWDED : SPINS;
    crew->ids = xcalloc(crew->n_workers ? crew->n_workers : 1, sizeof *crew->ids);
    for (unsigned i = 0; i < crew->n_workers; i++)
        if (pthread_create(&crew->ids[i], NULL, live, crew->workers[i]) != 0) {
            atomic_store(&crew->failure, REM_ENOMEM);
            crew->n_workers = i;
            crew_join(crew);
            return REM_ENOMEM;
        }
    return 0;
}

void crew_join(struct crew *crew)
{
    for (unsigned i = 0; i < crew->n_workers; i++)
        pthread_join(crew->ids[i], NULL);
    free(crew->ids);
}

/* ---- The watcher ---- */

/* What the watcher remembers. */
struct sight {
    unsigned phase[LM_MAX_THREADS], seen[LM_MAX_THREADS];
    uint64_t since[LM_MAX_THREADS]; /* the thread is in its phase since then at least */
    uint64_t all_since;             /* all threads wait, the same waits, since then; 0: they don't */
};

static bool waits_in(struct worker *w, enum waiting waits)
{
    return atomic_load_explicit(&w->waits, memory_order_relaxed) == (int)waits;
}

/* What it waits for can't come. `call_off` comes first: who is in a call returns and finds the gate closed until
 * all that wait have been told. */
static void call_off(struct worker *w)
{
    if (waits_in(w, WAITS_AT_GATE))
        return;
    atomic_store(&w->call_off, (unsigned)-REM_ETIMEDOUT << 16);
    atomic_store(&w->give_up, w->position);
}

/* Takes note of each thread's phase: do all wait, in the same waits as before? */
static bool all_still_wait(struct crew *crew, struct sight *sight, uint64_t time)
{
    bool wait = true, still = true;
    for (unsigned i = 0; i < crew->n_workers; i++) {
        unsigned phase = atomic_load_explicit(&crew->workers[i]->phase, memory_order_acquire);
        wait = wait && phase % 2;
        if (phase == sight->phase[i])
            continue;
        still = false;
        sight->phase[i] = phase;
        sight->since[i] = time;
    }
    if (!wait)
        sight->all_since = 0;
    return wait && still;
}

/* Nobody has left the wait in which it was seen, up to now. */
static bool none_has_left(struct crew *crew, const struct sight *sight)
{
    for (unsigned i = 0; i < crew->n_workers; i++)
        if (atomic_load_explicit(&crew->workers[i]->phase, memory_order_acquire) != sight->phase[i])
            return false;
    return true;
}

/* All wait as before. Has each looked in vain since, and was there time for what is under way? */
static bool is_hopeless(struct crew *crew, struct sight *sight, uint64_t time)
{
    bool first = sight->all_since == 0, hopeless = true;
    uint64_t grace = crew->instances->session->fabric->traits.immediate ? 0 : GRACE;
    if (first)
        sight->all_since = time;
    for (unsigned i = 0; i < crew->n_workers; i++) {
        struct worker *w = crew->workers[i];
        unsigned seen = atomic_load_explicit(&w->seen, memory_order_acquire);
        if (first)
            sight->seen[i] = seen;
        hopeless = hopeless && seen - sight->seen[i] >= 2;
    }
    return hopeless && !first && time - sight->all_since >= grace && none_has_left(crew, sight);
}

static void look_around(struct crew *crew, struct sight *sight)
{
    uint64_t time = rem_clock();
    bool wait = all_still_wait(crew, sight, time), others = crew->gate_nodes != 0;
    if (!wait)
        sight->all_since = 0;
    bool hopeless = wait && !others && is_hopeless(crew, sight, time);
    for (unsigned i = 0; i < crew->n_workers; i++)
        if (hopeless ||
            (others && sight->phase[i] % 2 && (double)(time - sight->since[i]) > 1e9 * crew->patience))
            call_off(crew->workers[i]);
}

static void lose(struct crew *crew, int failure)
{
    atomic_store(&crew->failure, failure);
    for (unsigned i = 0; i < crew->n_workers; i++)
        atomic_store(&crew->workers[i]->call_off, (unsigned)-REM_EDEAD << 16);
}

bool crew_watch(struct crew *crew, bool (*done)(void *), void *context)
{
    struct sight sight = {.all_since = 0};
    while (!done(context)) {
        int failure = session_failure(crew->instances->session, NULL);
        if (failure || atomic_load(&crew->failure) != 0) {
            lose(crew, failure ? failure : atomic_load(&crew->failure));
            return false;
        }
        nap();
        look_around(crew, &sight);
    }
    return true;
}
