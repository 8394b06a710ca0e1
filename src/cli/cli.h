/* What the subcommands share: exit statuses, and the few things that every one of them needs. */
#ifndef REMORA_CLI_CLI_H
#define REMORA_CLI_CLI_H

#include <argp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of several causes the largest number is the exit status. */
enum status {
    STATUS_HOLDS = 0,      /* all tests hold; all files are canonical; no disagreement */
    STATUS_FAILS = 1,      /* some test does not */
    STATUS_BAD = 2,        /* bad usage, or a file that can't be read or written */
    STATUS_UNFINISHED = 3, /* stopped by a limit or by the user */
    STATUS_DISAGREE = 4    /* two engines disagree, or an explanation is wrong */
};

/* Each takes the command line from its own name on, and returns the exit status. */
int check_main(int argc, char **argv);
int fmt_main(int argc, char **argv);
int fuzz_main(int argc, char **argv);
int verify_main(int argc, char **argv);
int run_main(int argc, char **argv);
int launch_main(int argc, char **argv);
int bench_main(int argc, char **argv);
int info_main(int argc, char **argv);

/* `remora check: message` on standard error. */
void complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes to standard output. If that fails, the program ends with one line and STATUS_BAD. */
void output(const char *text, size_t length);
void output_flush(void);

/* After this, the first SIGINT or SIGTERM sets the flag; a second one ends the program. */
const atomic_bool *interrupt_flag(void);

/* Values of options; on a bad one argp_error, which ends the program with STATUS_BAD. */
uint64_t option_number(struct argp_state *, const char *option, const char *text, uint64_t least,
                       uint64_t most);
uint64_t option_size(struct argp_state *, const char *option,
                     const char *text); /* bytes; suffix K, M, G or T */
double option_seconds(struct argp_state *, const char *option, const char *text);

unsigned cpu_count(void);

#endif
