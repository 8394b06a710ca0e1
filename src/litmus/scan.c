/* Helpers of the scanners: positions in characters, integers, the first error (see scan.h). */
#include "litmus/scan.h"

#include "base/arena.h"

#include <errno.h>
#include <stdlib.h>

void scan_advance(struct scan *scan, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n') {
            scan->at.line++;
            scan->at.col = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            scan->at.col++;
        }
    }
}

void scan_error(struct scan *scan, struct lm_pos pos, const char *hint, const char *format, ...)
{
    if (scan->failed)
        return;
    scan->failed = true;
    va_list args;
    va_start(args, format);
    char message[512];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    source_error(scan->source, pos, hint, "%s", message);
}

uint64_t scan_integer(struct scan *scan, struct lm_pos pos, const char *text)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (errno == ERANGE)
        scan_error(scan, pos, "the largest is 18446744073709551615", "the integer does not fit in 64 bits");
    else if (*end)
        scan_error(scan, pos, NULL, "`%s` is not an integer", text);
    return value;
}
