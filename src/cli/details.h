/* What is told of a test besides its verdict: an explanation in words and as a picture, a run. */
#ifndef REMORA_CLI_DETAILS_H
#define REMORA_CLI_DETAILS_H

#include "cli/cli.h"
#include "cli/pictures.h"
#include "cli/report/report.h"

struct details {
    struct pictures pictures;
    bool why, trace, full_trace;
    bool verbose, json;
    bool color; /* of text */
};

/* Of test i of the command line; fills the report's explanation (and what JSON needs). Complaints go to
 * `messages`. */
enum status details_tell(const struct details *, size_t i, struct arena *, const struct judge_options *,
                         struct report *, FILE *messages);

#endif
