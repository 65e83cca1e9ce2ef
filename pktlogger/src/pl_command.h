/* What the subcommands share: how results and errors are printed, and a file in memory. */
#ifndef PL_COMMAND_H
#define PL_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each gets the command line from its own name on and returns the exit status. */
int pl_cmd_capture(int argc, char **argv);
int pl_cmd_index(int argc, char **argv);
int pl_cmd_record(int argc, char **argv);
int pl_cmd_analyse(int argc, char **argv);
int pl_cmd_frames(int argc, char **argv);
int pl_cmd_export(int argc, char **argv);

/* Text for people on stdout: asked for, or stdout is a terminal and JSON was not asked for. */
bool pl_is_human(bool human, bool json);

/* One line: as a JSON error event on stdout with a copy on stderr, or on stderr only for people. Returns status. */
int pl_fail(bool human, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A file mapped for one pass. 0, or -1 with a reason that names the file. */
struct pl_mapping { const uint8_t *data; size_t len; };
int pl_map(const char *path, struct pl_mapping *mapping, char *why, size_t why_size);
void pl_unmap(struct pl_mapping *mapping);

#endif
