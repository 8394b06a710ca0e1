/* The options of the verbs provider, one table. */
#include "fabric/verbs_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct option {
    const char *name;
    size_t place;
    int least, most, otherwise;
    const char *remark;
};

#define PLACE(member) offsetof(struct verbs_options, member)

/* The defaults: a peer that has died is noticed after about (retry + 1) · 67 ms. 7 for one of the two counts of tries means
 * for ever, on some devices, and this provider never waits for ever. */
static const struct option table[] = {
    {"REMORA_VERBS_PORT", PLACE(port), 1, 255, VERBS_ANY, ""},
    {"REMORA_VERBS_GID", PLACE(gid), 0, 65535, VERBS_ANY, ""},
    {"REMORA_VERBS_MTU", PLACE(mtu), 256, 4096, VERBS_ANY, ", a power of two"},
    {"REMORA_VERBS_TRAFFIC_CLASS", PLACE(traffic_class), 0, 255, 0, ""},
    {"REMORA_VERBS_SERVICE_LEVEL", PLACE(service_level), 0, 15, 0, ""},
    {"REMORA_VERBS_PKEY", PLACE(pkey), 0, 65535, 0, ""},
    {"REMORA_VERBS_HOP_LIMIT", PLACE(hop_limit), 1, 255, 64, ""},
    {"REMORA_VERBS_TIMEOUT", PLACE(timeout), 1, 31, 14, ": 4.096 us times two to its power"},
    {"REMORA_VERBS_RETRY", PLACE(retry), 0, 6, 4, " (7 would be for ever)"},
    {"REMORA_VERBS_RNR_RETRY", PLACE(rnr_retry), 0, 6, 6, " (7 would be for ever)"},
    {"REMORA_VERBS_RNR_TIMER", PLACE(rnr_timer), 1, 31, 12, ""},
    {"REMORA_VERBS_DEPTH", PLACE(depth), VERBS_LEAST_DEPTH, 32768, VERBS_ANY, ", a power of two"},
    {"REMORA_VERBS_INLINE", PLACE(inline_size), 0, VERBS_INLINE_MAX, 64, ""},
    {"REMORA_VERBS_READS", PLACE(reads), 1, 255, 16, ""},
    {"REMORA_VERBS_RELAXED_ORDERING", PLACE(relaxed), 0, 1, 0, ""},
};

int verbs_trouble(struct verbs_trouble *trouble, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    trouble->code = code;
    vsnprintf(trouble->text, sizeof trouble->text, format, arguments);
    va_end(arguments);
    return code;
}

static bool is_number(const char *text, int *value)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    *value = (int)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && number == *value;
}

static bool is_allowed(const struct option *option, int value)
{
    bool power = option->remark[0] != ',' || (value & (value - 1)) == 0;
    return value >= option->least && value <= option->most && power;
}

static int read_option(const struct option *option, struct verbs_options *options,
                       struct verbs_trouble *trouble)
{
    int *place = (int *)(void *)((char *)options + option->place);
    const char *text = getenv(option->name);
    *place = option->otherwise;
    if (!text || (is_number(text, place) && is_allowed(option, *place)))
        return 0;
    return verbs_trouble(trouble, REM_EENVIRONMENT, "%s is `%.20s', not a number from %d to %d%s",
                         option->name, text, option->least, option->most, option->remark);
}

int verbs_read_options(struct verbs_options *options, struct verbs_trouble *trouble)
{
    const char *device = getenv("REMORA_VERBS_DEVICE");
    *options = (struct verbs_options){.device = device && device[0] ? device : NULL};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int error = read_option(&table[i], options, trouble);
        if (error)
            return error;
    }
    return 0;
}
