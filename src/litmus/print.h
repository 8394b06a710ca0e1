/* Printing to a stream that ends up in an arena; what print.c and hash.c share. */
#ifndef REMORA_LITMUS_PRINT_H
#define REMORA_LITMUS_PRINT_H

#include "litmus/ast.h"

#include <stdio.h>

void print_test(FILE *out, const struct lm_test *test, bool with_docs);

#endif
