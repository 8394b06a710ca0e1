/* Text for people, in lines of a width. */
#ifndef REMORA_BASE_WRAP_H
#define REMORA_BASE_WRAP_H

#include <stdio.h>

/* Breaks the text at spaces so that no line goes beyond `width` columns; each begins with `indent` spaces. */
void say_wrapped(FILE *, unsigned indent, unsigned width, const char *text);

#endif
