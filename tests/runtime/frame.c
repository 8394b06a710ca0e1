/* The test programs' frame (frame.h). */
#include "frame.h"

#include <sched.h>

unsigned long frame_scaled(unsigned long count)
{
    const char *text = getenv("REMORA_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    unsigned long scaled = count * percent / 100;
    return scaled ? scaled : 1;
}

struct node_run {
    pthread_t id;
    node_main *main;
    rem_job job;
    int argc;
    char **argv;
};

static void *run_node(void *argument)
{
    struct node_run *run = argument;
    run->main(&run->job, run->argc, run->argv);
    TRY(rem_barrier(&run->job));
    TRY(rem_close(&run->job));
    return NULL;
}

static int run_in_one_process(node_main *main, int nodes, int argc, char **argv)
{
    struct rem_options options = {.heap = (size_t)16 << 20, .provider = getenv("REMORA_PROVIDER")};
    rem_job jobs[REM_MAX_NODES];
    struct node_run runs[REM_MAX_NODES];
    TRY(rem_open_nodes(jobs, nodes, &options));
    for (int n = 0; n < nodes; n++) {
        runs[n] = (struct node_run){.main = main, .job = jobs[n], .argc = argc, .argv = argv};
        CHECK(pthread_create(&runs[n].id, NULL, run_node, &runs[n]) == 0);
    }
    for (int n = 0; n < nodes; n++)
        pthread_join(runs[n].id, NULL);
    return 0;
}

int frame_run(node_main *main, int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--one-process") == 0)
        return run_in_one_process(main, atoi(argv[2]), argc - 2, argv + 2);
    struct node_run run = {.main = main, .argc = argc, .argv = argv};
    TRY(rem_open(&run.job));
    run_node(&run);
    return 0;
}

struct thread_run {
    pthread_t id;
    rem_job *job;
    unsigned number;
    thread_main *body;
    void *argument;
};

static void *run_thread(void *argument)
{
    struct thread_run *run = argument;
    rem_thread thread;
    TRY(rem_attach(run->job, &thread));
    run->body(run->job, &thread, run->number, run->argument);
    TRY(rem_detach(&thread));
    return NULL;
}

void frame_threads(rem_job *job, unsigned threads, thread_main *body, void *argument)
{
    struct thread_run runs[64];
    CHECK(threads <= 64);
    for (unsigned i = 0; i < threads; i++) {
        runs[i] = (struct thread_run){.job = job, .number = i, .body = body, .argument = argument};
        CHECK(pthread_create(&runs[i].id, NULL, run_thread, &runs[i]) == 0);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(runs[i].id, NULL);
}

void frame_meet(rem_thread *thread, uint64_t *word, unsigned long total)
{
    uint64_t arrived;
    TRY(rem_fetch_add(thread, &arrived, 0, word, 1));
    uint64_t all = (arrived / total + 1) * total;
    for (unsigned round = 0; arrived < all; round++) {
        TRY(rem_get_value(thread, &arrived, 0, word));
        if (round > 100)
            sched_yield();
    }
}
