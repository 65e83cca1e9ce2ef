/* Messages for people: on stderr, one line each, prefixed with the program's name. Programs read stdout (nc_jsonl.h).
 * An error goes to both. */
#ifndef NC_LOG_H
#define NC_LOG_H

#include <stdio.h>

#include "nc_error.h"

/* "PROGRAM: message\n" in one write. */
void nc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error contract of every tool: {"event":"error","status":1,"message":…} on `out` and the same line on stderr. */
void nc_log_error(FILE *out, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* nc_log_error on stdout, then exit with the status. If stdout is a terminal the JSON line is left out, because the
 * same person would read both. For set-up only: the data path returns codes. */
void nc_die(enum nc_exit status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

#endif
