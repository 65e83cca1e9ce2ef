/* What the subcommands share: how results and errors are printed, and a file in memory. */
#ifndef PL_COMMAND_H
#define PL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_options.h"

/* Each gets the command line from its own name on and returns the exit status. */
int pl_cmd_capture(int argc, char **argv);
int pl_cmd_index(int argc, char **argv);
int pl_cmd_record(int argc, char **argv);
int pl_cmd_analyse(int argc, char **argv);
int pl_cmd_frames(int argc, char **argv);
int pl_cmd_export(int argc, char **argv);

/* Option rows that they share, at the places of the settings' fields. */
#define PL_OPTION_OUTPUT(at)                                                                                           \
    {.name = "output", .letter = 'o', .kind = NC_OPT_STRING, .metavar = "DIR", .offset = (at),                         \
     .help = "folder for the results; made, or empty"}
#define PL_OPTIONS_HUMAN_JSON(at_human, at_json)                                                                       \
    {.name = "human", .kind = NC_OPT_FLAG, .offset = (at_human), .help = "text on stdout, as on a terminal"},          \
    {.name = "json", .kind = NC_OPT_FLAG, .offset = (at_json), .help = "JSON lines on stdout, as into a pipe"}

/* Text for people on stdout: asked for, or stdout is a terminal and JSON was not asked for. */
bool pl_is_human(bool human, bool json);

/* One line: as a JSON error event on stdout with a copy on stderr, or on stderr only for people. Returns status. */
int pl_fail(bool human, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A file mapped for one pass. 0, or -1 with a reason that names the file. */
struct pl_mapping { const uint8_t *data; size_t len; };
int pl_map(const char *path, struct pl_mapping *mapping, char *why, size_t why_size);
void pl_unmap(struct pl_mapping *mapping);

#endif
