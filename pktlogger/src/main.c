/* pktlogger: one word chooses the command. */
#include <stdio.h>
#include <string.h>

#include "nc_log.h"
#include "pl_command.h"

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"capture", "packets of several interfaces and namespaces into pcapng files", pl_cmd_capture},
    {"record", "what a delay box recorded, as captures at its ports and as columns", pl_cmd_record},
    {"index", "a capture into NumPy columns, one row a TCP packet", pl_cmd_index},
    {"frames", "a capture into NumPy columns, one row a frame of any kind: time, bytes, source", pl_cmd_frames},
    {"analyse", "captures of sender and receiver joined: losses, retransmissions, stops", pl_cmd_analyse},
    {"export", "the joined captures as time-sequence graphs for xplot", pl_cmd_export},
};
enum { COMMAND_N = sizeof commands / sizeof *commands };

static int print_help(void)
{
    printf("usage: pktlogger COMMAND [options]\n\nLogs packets and says what happened to them.\n\ncommands:\n");
    for (int i = 0; i < COMMAND_N; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    printf("\n'pktlogger COMMAND --help' tells the options. See pktlogger(1) and FORMAT.md.\n");
    return NC_EXIT_OK;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print_help();
    if (strcmp(word, "--version") == 0)
        return printf("pktlogger %s\n", PKTLOGGER_VERSION), NC_EXIT_OK;
    for (int i = 0; i < COMMAND_N; i++)
        if (strcmp(word, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return pl_fail(false, NC_EXIT_USAGE, "'%s': no such command; allowed is one of capture, record, index, frames, analyse, export", word);
}
