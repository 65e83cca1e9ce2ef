/* How a failure travels: the status the tool will exit with and one line for people. Functions that can fail return -1
 * (or NULL) after filling one in; the first failure is the one reported. */
#ifndef RTTCP_ERROR_H
#define RTTCP_ERROR_H

#include "nc_log.h"

struct rttcp_error {
    int status; /* enum nc_exit */
    char text[480];
};

/* Fills in and returns -1, so that a caller can `return rttcp_fail(…)`. */
int rttcp_fail(struct rttcp_error *error, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
