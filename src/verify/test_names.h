/* Tests under the model (remora/model.h): what their words are called. */
#ifndef REMORA_VERIFY_TEST_NAMES_H
#define REMORA_VERIFY_TEST_NAMES_H

#include <remora/model.h>

#include <stdbool.h>

struct arena;

enum { MODEL_MOST_NAMES = 128 };

struct model_named {
    const char *name;   /* or the expression that was given to the function that initialises it */
    unsigned char kind; /* enum rem_model_kind */
    unsigned node;
    const void *object; /* the words; the pointer to them; the handle */
    size_t size;
};

/* The frame of a world. */
struct model_frame {
    struct model_named named[MODEL_MOST_NAMES];
    unsigned n_named;
    unsigned node; /* that is being set up */
    void *frames[REM_MAX_NODES];
    uint64_t *results; /* of the thread at work */
    bool failed;
};

/* context: the struct c_program. See struct run_names. */
const char *model_location_name(struct arena *, const void *context, unsigned loc);
bool model_is_result(const void *context, unsigned loc);
enum place_word model_place_word(const void *context, unsigned loc);
const char *model_held(const void *context, unsigned thread, uint32_t point, unsigned number,
                       uint64_t *ticket);
int model_work_id(const void *context, unsigned thread, uint32_t before, uint32_t after, unsigned node);

#endif
