/* Pieces of the JSON report. */
#ifndef REMORA_CLI_REPORT_JSON_H
#define REMORA_CLI_REPORT_JSON_H

#include "search/explain.h"

#include <stdio.h>

/* Quoted and escaped, in malloc's memory. */
char *json_quoted(const char *text);

/* The members of the object "explanation" but for the outcome. */
void json_explanation(FILE *, const struct explanation *);

#endif
