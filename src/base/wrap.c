/* See wrap.h. */
#include "base/wrap.h"

#include <string.h>

void say_wrapped(FILE *out, unsigned indent, unsigned width, const char *text)
{
    unsigned column = indent;
    fprintf(out, "%*s", (int)indent, "");
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        if (column + length > width && column > indent) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (word != text) {
            fputc(' ', out);
            column++;
        }
        fwrite(word, 1, length, out);
        column += (unsigned)length;
        word += length + (word[length] == ' ');
    }
    fputc('\n', out);
}
