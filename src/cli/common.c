/* The few things that every subcommand needs (cli.h): messages, checked output, the signal flag, values of
 * options. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void complain(const char *command, const char *format, ...)
{
    va_list arguments;
    flockfile(stderr);
    fprintf(stderr, "%s: ", command);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    funlockfile(stderr);
}

static _Noreturn void output_failed(void)
{
    complain("remora", "cannot write to standard output: %s", strerror(errno));
    _exit(STATUS_BAD);
}

void output(const char *text, size_t length)
{
    if (length && fwrite(text, 1, length, stdout) != length)
        output_failed();
}

void output_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        output_failed();
}

/* The only thing in the program that a signal handler can reach. */
static atomic_bool interrupted;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&interrupted, true);
}

const atomic_bool *interrupt_flag(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

uint64_t option_number(struct argp_state *state, const char *option, const char *text, uint64_t least,
                       uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most)
        argp_error(state, "--%s wants a whole number from %llu to %llu, not `%s'", option,
                   (unsigned long long)least, (unsigned long long)most, text);
    return value;
}

uint64_t option_size(struct argp_state *state, const char *option, const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])) || !value ||
        value > UINT64_MAX >> shift)
        argp_error(state, "--%s wants a size such as 500M or 4G, not `%s'", option, text);
    return (uint64_t)value << shift;
}

double option_seconds(struct argp_state *state, const char *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0)
        argp_error(state, "--%s wants a number of seconds above 0, not `%s'", option, text);
    return value;
}

unsigned cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (unsigned)count;
}
