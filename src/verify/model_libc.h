/* Included before everything else in the library's sources when they are compiled for the model: their heap
 * is the world's (world.c). */
#ifndef REMORA_VERIFY_MODEL_LIBC_H
#define REMORA_VERIFY_MODEL_LIBC_H

#include <stdlib.h>
#include <time.h>

void *model_malloc(size_t size);
void *model_calloc(size_t count, size_t size);
void *model_realloc(void *old, size_t size);
void *model_aligned_alloc(size_t alignment, size_t size);
void model_free(void *block);
int model_clock_gettime(clockid_t clock, struct timespec *time);

#define malloc model_malloc
#define calloc model_calloc
#define realloc model_realloc
#define aligned_alloc model_aligned_alloc
#define free model_free
#define clock_gettime model_clock_gettime

#endif
