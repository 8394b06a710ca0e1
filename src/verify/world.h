/* A world: all memory that C code under the model can see, as one thread of the program finds it. Setting up
 * is plain code, run once in the world of each thread; then the memory is sealed, and every run of the thread
 * starts from what it was. So what threads tell each other by plain C memory, past the model, reaches nobody.
 *
 *   scanned:   blocks handed out by world_alloc | the heap of the thread's node
 *   constant:  the heaps of the other nodes, the job's control block */
#ifndef REMORA_VERIFY_WORLD_H
#define REMORA_VERIFY_WORLD_H

#include <remora/job.h>

#include <stdbool.h>

struct control;
struct rem_node;

struct world_shape {
    unsigned n_nodes, n_threads;
    unsigned char thread_node[64];
    size_t heap; /* bytes of each node's heap; a multiple of the page size */
};

struct world {
    const struct world_shape *shape;
    unsigned self; /* the thread whose world it is */
    char *memory;  /* control block, blocks, heaps */
    size_t size;
    struct control *control;
    char *blocks;
    size_t blocks_used, blocks_size;
    char *heaps;
    struct rem_node *nodes;
    rem_job *jobs;
    rem_thread *threads; /* attached by the setup */
    void *frame;         /* the setup may leave something here */
    bool timed;          /* the code has asked for the time */
    /* Once sealed: */
    char *image; /* of the blocks, then of the own heap up to heap_used */
    size_t heap_used;
};

/* What differs from the image: offsets of words in it, ascending, and their values. */
struct changes {
    unsigned n;
    uint32_t *offsets;
    uint64_t *values;
};

void world_new(struct world *, const struct world_shape *, unsigned self);
void world_free(struct world *);

/* During the setup, world_enter says whose malloc is meant. */
struct world *world_enter(struct world *);
void *world_alloc(struct world *, size_t size);

void world_seal(struct world *);
/* Writes at most `most` changes; returns how many there are. */
unsigned world_changes(const struct world *, uint32_t *offsets, uint64_t *values, unsigned most);
/* Where the word at an offset of the image is. */
void *world_address(const struct world *, size_t offset);
void world_restore(struct world *, const struct changes *);
/* A word of the blocks or of the own heap, as it was when the world had these changes; 0: it is in neither. */
uint64_t world_word(const struct world *, const struct changes *, const void *word);
/* The initial value of a word of a node's heap. */
uint64_t world_initial(const struct world *, unsigned node, size_t offset);

#endif
