/* Numbered tasks, done by a few threads in any order, and waited for one by one in theirs. */
#ifndef REMORA_CLI_POOL_H
#define REMORA_CLI_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pool;

/* Calls task(context, i) once for each i below count, on up to `workers` threads; begins no more when `stop` is set. */
struct pool *pool_start(unsigned workers, size_t count, void (*task)(void *context, size_t i), void *context,
                        const atomic_bool *stop);

/* Waits for task i, but not longer than so many seconds. True if it is done, or will never be. */
bool pool_wait(struct pool *, size_t i, double seconds);

/* How many are done, and the number of one that is being worked on (the lowest), or count if there is none.
 */
size_t pool_done(struct pool *, size_t *current);

/* Waits for everything. */
void pool_finish(struct pool *);

#endif
