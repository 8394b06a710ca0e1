/* Region allocation: everything that belongs to one test or one search is allocated from one arena and
 * freed with it. Nothing here returns NULL: when the system has no memory left the process ends with one
 * clear line and exit status 3, since nothing that a checker could still do is worth a test at every node. */
#ifndef REMORA_BASE_ARENA_H
#define REMORA_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *);

/* Zeroed, 16-byte aligned memory that lives as long as the arena. */
void *arena_alloc(struct arena *, size_t bytes);
char *arena_strndup(struct arena *, const char *text, size_t length);
char *arena_strdup(struct arena *, const char *text);
char *arena_printf(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))

/* For allocations outside an arena: malloc, calloc and realloc that end the process likewise. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t bytes);
_Noreturn void out_of_memory(void);

#endif
