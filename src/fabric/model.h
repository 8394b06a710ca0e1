/* The model provider: a fabric that executes nothing, but asks. Every operation of a thread, of the CPU or of
 * the network card, is handed as one or more `struct op` to whoever explores the program (verify/), which
 * answers with what the operation observed. */
#ifndef REMORA_FABRIC_MODEL_H
#define REMORA_FABRIC_MODEL_H

#include "fabric/fabric.h"
#include "model/program.h"

#include <remora/wait.h>

/* The explorer's side of a thread. */
struct model_thread {
    /* The operation's result; returns when the operation has been done. */
    uint64_t (*ask)(struct model_thread *, const struct op *op);
    /* The location of the word at this offset of the node's heap. */
    uint16_t (*locate)(struct model_thread *, unsigned node, size_t offset);
    /* The thread is about to look again at what it waits for; `key` names the loop. Returns when it does. */
    void (*wait)(struct model_thread *, const void *key);
    void (*wait_end)(struct model_thread *, const void *key);
    /* The C code has done what the model has no meaning for. Does not return. */
    void (*fault)(struct model_thread *, const char *why);
    struct rem_node *node;
    /* In which order the words of the n-th put or get of several are posted: place i is word order[i]. NULL: ascending. The
     * answer must stay where it is, for the thread may be put back to where it got it. */
    const unsigned char *(*order)(struct model_thread *, unsigned n, unsigned words);
    bool
        announces; /* who waits is always about to go to sleep, before which the library has a last look at all */
    unsigned char word,
        words; /* of the next question, if it is of one of several: which (from 1), of how many */
};

/* Whose C code this pthread is running. A coroutine may be continued by another pthread than the one it paused on,
 * so that C code under the model must not keep the variable's address: it calls model_self. */
extern _Thread_local struct model_thread *model_current;
struct model_thread *model_self(void);

extern const struct fabric fabric_model;

/* Whether the word only counts operations of the thread, none of which is under way. */
bool model_is_counter(const rem_thread *thread, const void *word);

#endif
