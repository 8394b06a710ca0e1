/* What the environment says of a job, and reading sizes and times. */
#include "job/environment.h"

#include "job/layout.h"

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

bool environment_seconds(const char *text, uint64_t *nanoseconds)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    double seconds = strtod(text, &end);
    if (*end || !(seconds >= 0 && seconds < 1e9))
        return false;
    *nanoseconds = (uint64_t)(seconds * 1e9);
    return true;
}

static bool read_threads(const char *text, unsigned *threads)
{
    size_t number;
    if (!environment_size(text, &number) || number > REM_MAX_THREADS)
        return false;
    *threads = (unsigned)number;
    return true;
}

const char *environment_wrong(struct rem_options *options, uint64_t *patience)
{
    const char *provider = getenv(ENVIRONMENT_PROVIDER), *heap = getenv(ENVIRONMENT_HEAP);
    const char *threads = getenv(ENVIRONMENT_THREADS), *timeout = getenv(ENVIRONMENT_TIMEOUT);
    *options = (struct rem_options){.provider = provider && *provider ? provider : NULL};
    *patience = DEFAULT_PATIENCE;
    return heap && !environment_size(heap, &options->heap)        ? ENVIRONMENT_HEAP
           : threads && !read_threads(threads, &options->threads) ? ENVIRONMENT_THREADS
           : timeout && !environment_seconds(timeout, patience)   ? ENVIRONMENT_TIMEOUT
                                                                  : NULL;
}

int environment_options(struct rem_options *options, uint64_t *patience)
{
    return environment_wrong(options, patience) ? REM_EENVIRONMENT : 0;
}
