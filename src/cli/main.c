/* remora: finds the subcommand and hands over to it. */
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *brief;
} subcommands[] = {
    {"check", check_main, "decide litmus tests under RDMA-TSO and RDMA-WAIT"},
    {"fmt", fmt_main, "print litmus tests in the canonical form"},
    {"fuzz", fuzz_main, "compare the two engines on random programs"},
    {"verify", verify_main, "verify the library's C code against the specifications"},
    {"run", run_main, "run litmus tests on transports, and compare with the model"},
    {"launch", launch_main, "run a program as the nodes of a job"},
    {"bench", bench_main, "measure the runtime"},
    {"info", info_main, "tell what the runtime can do"},
};

static void print_help(void)
{
    printf("Usage: remora COMMAND [OPTION...] [ARGUMENT...]\n"
           "Checks and explains litmus tests of RDMA synchronisation.\n\n"
           "Commands:\n");
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        printf("  %-8s %s\n", subcommands[i].name, subcommands[i].brief);
    printf("\n`remora COMMAND --help` tells a command's options; the manual pages remora(1) and "
           "remora-litmus(5)\n"
           "tell the rest.\n");
}

/* argp's own messages and its --version answer for every subcommand. */
static void set_up_argp(void)
{
    argp_program_version = "remora " REMORA_VERSION;
    argp_err_exit_status = STATUS_BAD;
}

static int run(const struct subcommand *subcommand, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "remora %s", subcommand->name);
    argv[0] = name;
    int status = subcommand->run(argc, argv);
    output_flush();
    return status;
}

/* A standard stream that is closed must not become the place of a file that is opened later. What is put there
 * instead can't be used, so that the loss is still noticed. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(STATUS_BAD);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    /* A reader that has seen enough ends us quietly, whatever the parent process thinks of SIGPIPE. */
    signal(SIGPIPE, SIG_DFL);
    set_up_argp();
    if (argc < 2) {
        complain("remora", "no command given; try `remora --help'");
        return STATUS_BAD;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        output_flush();
        return STATUS_HOLDS;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("%s\n", argp_program_version);
        output_flush();
        return STATUS_HOLDS;
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return run(&subcommands[i], argc - 1, argv + 1);
    complain("remora", "unknown command `%s'; try `remora --help'", argv[1]);
    return STATUS_BAD;
}
