/* Objects: any C struct with plain sequential functions, on one node, made linearisable. (The closing remark
 * of section 8 of the specification.)
 *
 * rem_object_call takes the object's node lock, fetches the struct, runs the function on the fetched copy,
 * puts back the words that the function changed, and lets go. So the functions know nothing of threads, nodes
 * or memory models, and every call, from whatever node, takes effect at one instant between its beginning and
 * its end, in one order that all agree on.
 *
 * The struct must be flat: no pointer into itself or elsewhere survives from call to call, since every call
 * works on a copy at another address. Offsets and indices do. */
#ifndef REMORA_OBJECT_H
#define REMORA_OBJECT_H

#include <remora/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Declare it, initialise it, pass its address; do not copy it. */
typedef struct rem_object {
    uint64_t magic; /* private */
    struct rem_nlock lock;
    unsigned char *data; /* symmetric */
    unsigned char
        *copies; /* of this node's threads, by slot: the copy that is worked on, and one to compare with */
    size_t size; /* rounded up to words */
} rem_object;

/* A part of the struct, in bytes. */
struct rem_part {
    size_t offset, size;
};

/* What a call runs. `copy` is the struct; what it returns, if not negative, becomes the result of the call. A
 * negative result cancels the call: nothing is put back. */
typedef int rem_object_function(void *copy, void *argument);

/* A struct of `size` bytes, zeroed, on node `home`. Collective, as rem_alloc, whose errors they return,
 * besides REM_ENODE. Costs each node the size, and twice the size for each thread it may have. */
REM_API int rem_object_init(rem_job *job, rem_object *object, size_t size, int home);
REM_API int rem_object_destroy(rem_job *job, rem_object *object);

/* One linearisable call. Stamps: aMF at the beginning (as rem_nlock_acquire), and those of rem_nlock_release
 * on the home. what the function returned; REM_EDETACHED, REM_EDESTROYED, REM_EINVAL, REM_EDEAD */
REM_API int rem_object_call(rem_thread *thread, rem_object *object, rem_object_function *function,
                            void *argument);

/* The same for a function that reads and writes only the given parts: only they are fetched, compared and put
 * back. The rest of the copy holds what an earlier call left there.
 *   REM_EINVAL also if a part is empty or reaches outside the struct */
REM_API int rem_object_call_parts(rem_thread *thread, rem_object *object, rem_object_function *function,
                                  void *argument, const struct rem_part *parts, size_t count);

#ifdef __cplusplus
}
#endif
#endif
