/* Reading sizes. */
#include "job/environment.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool environment_size(const char *text, size_t *size)
{
    static const char suffixes[] = "KMG";
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if ((*end && (!suffix || end[1])) || number == 0 || number > SIZE_MAX >> shift)
        return false;
    *size = (size_t)number << shift;
    return true;
}
