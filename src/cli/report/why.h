/* Explanations in words: why an outcome is allowed or forbidden. */
#ifndef REMORA_CLI_REPORT_WHY_H
#define REMORA_CLI_REPORT_WHY_H

#include "cli/explained.h"

const char *why_in_words(struct arena *, const struct explained_test *);

#endif
