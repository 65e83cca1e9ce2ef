/* Shared by the commands: how they print results and errors, and common options. */
#ifndef PL_COMMAND_H
#define PL_COMMAND_H

#include <stdbool.h>

#include "nc_error.h"
#include "nc_options.h"

/* The commands. Each gets the command line from its own name on and returns the exit status. */
int pl_cmd_capture(int argc, char **argv);
int pl_cmd_index(int argc, char **argv);
int pl_cmd_record(int argc, char **argv);
int pl_cmd_analyse(int argc, char **argv);
int pl_cmd_frames(int argc, char **argv);
int pl_cmd_export(int argc, char **argv);
int pl_cmd_anonymise(int argc, char **argv);
int pl_cmd_match(int argc, char **argv);
int pl_cmd_push(int argc, char **argv);
int pl_cmd_sink(int argc, char **argv);

/* Prints the table of all causes. */
int pl_cmd_causes_json(void);

/* Rows of option tables that several commands have. The arguments are members of the settings (OFFSET, nc_option.h). */
/* clang-format off */
#define PL_OPTION_FOLDER(field, help_) NC_STRING("output", field, "DIR", help_, .letter = 'o')
#define PL_OPTION_OUTPUT(field) PL_OPTION_FOLDER(field, "folder for the results; it is made, or must be empty")
#define PL_OPTION_TUNNELS(field) \
    NC_FLAG("tunnels", field, "also look inside GRE, IP in IP, MPLS, PPPoE, VXLAN, GENEVE, GTP-U and ERSPAN")
#define PL_OPTION_DURATION(field, help_) NC_QUANTITY("duration", field, NC_UNIT_DURATION, NULL, 0, 0, help_)
#define PL_OPTION_PARENT_DEATH(field) NC_FLAG("parent-death", field, "stop when the parent process ends")
#define PL_OPTIONS_HUMAN_JSON(field_human, field_json) \
    NC_FLAG("human", field_human, "text on stdout; default on a terminal"), \
    NC_FLAG("json", field_json, "JSON lines on stdout; default elsewhere")
/* clang-format on */

/* Prints an error of one line: for people on stderr, otherwise as a JSON event on stdout and also on stderr. Returns
 * `status`. */
int pl_fail(bool human, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with an error that another function filled in. */
int pl_report(bool human, const struct nc_error *error);

/* For a command that often allocates and frees large arrays: keeps freed memory. The C library would return the pages
 * to the kernel, which clears them before they are used again; that takes a sixth of an analysis. */
void pl_keep_freed_memory(void);

/* Called after a command. If output could not be written, a success becomes a failure, and stderr says so. Returns the
 * exit status. */
int pl_finish_stdout(int status);

#endif
