/* The common part of every tool's main: a table of verbs, `--help`, `--version`, and the set-up of the process
 * (signals, parent, descriptors). A tool provides only the table of its verbs.
 *
 * `--verbs-json` is a hidden option of every tool. It prints {"tool":"rttcp","verbs":[{"name":null,"help":"…"},
 * {"name":"cc","help":"…"}]}; a null name stands for a command line without a verb. Each entry answers `--options-json`
 * (nc_options.h). */
#ifndef NC_PROGRAM_H
#define NC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct nc_verb {
    const char *name;
    const char *help;                  /* half a sentence for the overview */
    int (*run)(int argc, char **argv); /* argv[0] is the verb; returns the exit status */
};

struct nc_program {
    const char *name;
    const char *purpose;               /* one sentence */
    int (*run)(int argc, char **argv); /* for a command line without a verb; NULL: the tool requires a verb */
    const struct nc_verb *verbs;
    size_t verbs_n;
};

/* Runs the verb that argv[1] names, or program->run, and returns its exit status. A wrong verb is a usage error
 * (nc_die). */
int nc_program_main(const struct nc_program *program, int argc, char **argv);

/* Whether stdout gets text for people: `--human` was given, or stdout is a terminal and `--json` was not given. */
bool nc_program_is_human(bool human, bool json);

/* Directs SIGINT and SIGTERM to the descriptor that it returns (signalfd, non-blocking) and blocks them in this and all
 * later threads. -1 with errno. */
int nc_program_open_signals(void);

/* Whether such a signal has arrived and is not read yet; long loops check this. */
bool nc_program_end_waits(void);

/* Discards the signals that have arrived and closes the descriptor. The next signal ends the process at once. */
void nc_program_close_signals(int fd);

/* `--parent-death`: the process gets SIGTERM when its parent ends. */
void nc_program_end_with_parent(void);

/* Raises the limit of descriptors to the hard limit, for a process that needs one per connection. */
void nc_program_raise_descriptors(void);

#endif
