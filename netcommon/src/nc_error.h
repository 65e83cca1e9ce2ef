/* How errors are reported: an exit status of the tool and one line for people. A function that can fail takes a `struct
 * nc_error *`, fills it in and returns -1 (or NULL). Its caller passes the first error on unchanged; main reports it
 * (nc_log.h).
 * Rejected: a text buffer and its size as two arguments, which every caller sizes differently and nobody checks. */
#ifndef NC_ERROR_H
#define NC_ERROR_H

/* The exit status of every tool. */
enum nc_exit {
    NC_EXIT_OK = 0,      /* done */
    NC_EXIT_FAILED = 1,  /* the measurement failed */
    NC_EXIT_USAGE = 2,   /* the command line or configuration is wrong */
    NC_EXIT_MISSING = 3, /* the machine lacks something that the message names */
};

struct nc_error {
    int status; /* enum nc_exit */
    char text[480];
};

/* Fills *error in and returns -1, so that a function can end with `return nc_fail(…)`. Control characters, which only
 * quoted input can contain, become '?', so that the text stays one line. */
int nc_fail(struct nc_error *error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
