/* A node for the death test: gets into some blocking situation, and stays until a call returns REM_EDEAD. Prints "ready", then
 * "told NANOSECONDS", the time of the clock at which it learnt.
 *
 * usage: mourner SITUATION VICTIM;  SITUATION: barrier, nlock, wlock, slock, sc, posts, alloc, uncontended */
#include "frame.h"
#include "locks.h"

#include <unistd.h>

struct scene {
    const char *situation;
    int victim, self;
    union any_lock lock;
    rem_sc sc;
    uint64_t *word;
};

static int stay(rem_job *job, rem_thread *thread, struct scene *scene)
{
    const struct lock_kind *kind = lock_kind_named(scene->situation);
    void *pointer;
    int error = 0;
    uint64_t value;
    if (kind) {
        /* the victim holds the lock, or whoever was first */
        if (scene->self == scene->victim)
            TRY(kind->acquire(thread, &scene->lock));
        TRY(rem_barrier(job));
        printf("ready\n");
        if (scene->self == scene->victim)
            pause();
        return kind->acquire(thread, &scene->lock);
    }
    TRY(rem_barrier(job));
    printf("ready\n");
    if (strcmp(scene->situation, "sc") == 0)
        while ((error = rem_sc_faa(thread, &scene->sc, 0, &value, 1)) == 0)
            ;
    else if (strcmp(scene->situation, "posts") == 0)
        while ((error = rem_put_value(thread, scene->victim, scene->word, 1, 0)) == 0 &&
               (error = rem_wait(thread, 0)) == 0)
            ;
    if (error)
        return error;
    if (scene->self == scene->victim)
        pause();
    return strcmp(scene->situation, "alloc") == 0 ? rem_alloc(job, 64, &pointer) : rem_barrier(job);
}

int main(int argc, char **argv)
{
    rem_job job;
    rem_thread thread;
    void *memory;
    CHECK(argc == 3);
    struct scene scene = {.situation = argv[1], .victim = atoi(argv[2])};
    setvbuf(stdout, NULL, _IOLBF, 0);
    TRY(rem_open(&job));
    TRY(rem_attach(&job, &thread));
    scene.self = rem_node_self(&job);
    const struct lock_kind *kind = lock_kind_named(scene.situation);
    if (kind)
        TRY(kind->init(&job, &scene.lock, 0));
    TRY(rem_sc_init(&job, &scene.sc, 1, 0));
    TRY(rem_alloc(&job, 64, &memory));
    scene.word = memory;
    if (scene.self == scene.victim)
        printf("pid %d\n", (int)getpid());
    int error = stay(&job, &thread, &scene);
    printf("told %llu\n", (unsigned long long)rem_clock());
    if (error != REM_EUNREACHABLE) /* a network may be faster than the launcher */
        EXPECT(REM_EDEAD, error);
    EXPECT(error, rem_barrier(&job));
    return 0; /* the job is lost: no rem_close, and nobody minds */
}
