/* The edges of a picture: which way each goes, and where its label stands. */
#ifndef REMORA_CLI_REPORT_CURVES_H
#define REMORA_CLI_REPORT_CURVES_H

#include "cli/report/layout.h"

/* How wide the channel left of column c must be (c = n_columns: right of the last one) for the edges that go
 * through it. Needs the columns' threads only. */
double channel_width(struct arena *, const struct layout *, unsigned c);

/* How far the arcs at the left or right of column c reach. Needs no more. */
double arcs_reach(struct arena *, const struct layout *, unsigned c, bool at_left);

/* Needs all boxes. */
void draw_curves(struct arena *, struct layout *);
/* Needs all curves. */
void place_labels(struct arena *, struct layout *);

#endif
