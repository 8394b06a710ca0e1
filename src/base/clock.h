/* Time that only moves forward, for deadlines and for what is said about how long something took. */
#ifndef REMORA_BASE_CLOCK_H
#define REMORA_BASE_CLOCK_H

#include <time.h>

/* Seconds on CLOCK_MONOTONIC. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
