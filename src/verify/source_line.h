/* The source line behind an address of this program's code, from its debug information. */
#ifndef REMORA_VERIFY_SOURCE_LINE_H
#define REMORA_VERIFY_SOURCE_LINE_H

#include <stdbool.h>

struct arena;
struct source_lines;

struct source_line {
    const char *file; /* its name without folders; NULL if not known */
    unsigned line;
    const char *function;
    bool is_library; /* the line is one of Remora's own */
};

struct source_lines *source_lines_new(struct arena *);
void source_lines_free(struct source_lines *);
/* Of the call that returns to the address. */
struct source_line source_line_of_call(struct source_lines *, const void *return_address);
/* Of where the function begins. */
struct source_line source_line_of_function(struct source_lines *, const void *function);

#endif
