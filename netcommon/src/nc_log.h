/* What people read: stderr, one line a message, prefixed with the program's name. Machines read stdout (nc_jsonl.h).
 * The exit status of every tool is one of nc_exit. */
#ifndef NC_LOG_H
#define NC_LOG_H

enum nc_exit {
    NC_EXIT_OK = 0,      /* done */
    NC_EXIT_FAILED = 1,  /* the measurement failed */
    NC_EXIT_USAGE = 2,   /* the command line or configuration is wrong */
    NC_EXIT_MISSING = 3, /* the machine lacks something, which the message names */
};

/* "PROGRAM: message\n" in one write. */
void nc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error contract of every tool (nc_jsonl_error), then exit with the status; on a terminal without the JSON line. For
 * set-up only: the data path returns codes. */
void nc_die(enum nc_exit status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

#endif
