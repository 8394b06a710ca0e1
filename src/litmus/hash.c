/* The hash of a test: XXH3, 128 bits, over the canonical form without its docs (remora-check(1), Hash).
 */
#include "litmus/litmus.h"

#include "base/arena.h"
#include "litmus/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

void lm_hash(const struct lm_test *test, char hex[33])
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        out_of_memory();
    print_test(out, test, false);
    if (fclose(out))
        out_of_memory();
    XXH128_hash_t hash = XXH3_128bits(text, length);
    snprintf(hex, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
    free(text);
}
