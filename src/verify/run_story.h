/* A run of a C program, taken apart: what each step does, for which operation, and where others come in between. */
#ifndef REMORA_VERIFY_RUN_STORY_H
#define REMORA_VERIFY_RUN_STORY_H

#include "verify/c_program.h"
#include "verify/run_search.h"

/* Where in the run something takes effect: the index of a step. */
enum { NOT_AT_ALL = UINT32_MAX };
enum { NO_OPERATION = UINT32_MAX };

/* An operation: what a thread asks for in one step of its CPU. */
struct operation {
    const struct local *local;
    unsigned thread;
    unsigned number; /* that its step is told with */
    uint32_t step;   /* in which it is asked for */
    /* Steps, of the network card or the store buffer; of a CPU's operation its own; or NOT_AT_ALL. */
    uint32_t read, write, result;
    uint64_t value_read, value_written;
    uint32_t forwarded; /* a load that is served by an own store which is not in memory yet: that operation */
    uint32_t polled;    /* a poll: the operation whose completion it takes */
    bool landed;        /* … and whether its write was in memory by then */
    /* One of the words of a put or get: which of how many (0: it is the only one), which operation was the first of them,
     * and how many there were with this one. */
    uint8_t word, words, nth;
    uint32_t whole;
};

struct story {
    const struct run *run;
    struct machine *machine;
    unsigned n_steps;    /* of the run */
    unsigned n_all;      /* … and with those behind its end, by which all arrives that is on its way */
    uint8_t **states;    /* n_all + 1 */
    struct step *steps;  /* n_all */
    bool *told;          /* each step's: whether it is */
    uint32_t *with;      /* … and else, which step it goes with */
    unsigned *numbers;   /* each step's in the telling; 0: it goes with none that is told */
    uint32_t *operation; /* each step's */
    struct operation *operations;
    uint32_t n_operations;
    uint32_t *on_its_way; /* at the end of the run: operations, in the order in which they were asked for */
    uint32_t n_on_its_way;
    /* Each thread's put or get of several words not all of which the run has come to: the last of them; or NO_OPERATION. (The
     * model has the words asked for one by one, which nobody can tell from all being asked for at once.) */
    uint32_t *in_part;
};

/* The machine goes on to be used. */
struct story *story_of(struct arena *, struct machine *, const struct c_program *, const struct run *);

/* The step is not to be told, but goes with another one. */
void story_hide(struct story *, uint32_t step, uint32_t with);
/* Numbers the steps that are told. */
void story_number(struct story *);

/* The location that the step writes, or PROG_NO_LOC. */
unsigned story_written(const struct story *, uint32_t step);
/* Of a step that writes: the remote atomic between whose two halves, on the same word, it comes; else NO_OPERATION. */
uint32_t story_between(const struct story *, uint32_t step);

/* What of the operation works on which location. */
bool operation_is_remote(const struct operation *);
unsigned operation_far(const struct operation *);  /* the remote location */
unsigned operation_near(const struct operation *); /* the local one; PROG_NO_LOC: none, inline data */

#endif
