/* Pictures of explanations: execution graphs, drawn by graphviz. */
#ifndef REMORA_CLI_REPORT_PICTURE_H
#define REMORA_CLI_REPORT_PICTURE_H

#include "search/explain.h"

#include <stdio.h>

struct caption {
    const char *title;   /* the test's name */
    const char *outcome; /* 0:r0=0; 1:r0=0; */
    const char *verdict; /* one line: allowed, forbidden and why */
};

/* In graphviz's language, with a place for everything (layout=nop2): any of graphviz's output formats shows
 * the same picture. The explanation must have an execution. */
void picture_dot(FILE *, const struct explanation *, const struct caption *);

/* Is there a program `dot`? */
bool picture_can_draw(void);
/* Draws such a text as SVG into a file by `dot`. NULL, or in one line (arena) why not. */
const char *picture_draw(struct arena *, const char *dot, size_t length, const char *file);

#endif
