/* A file of departure times (FORMAT.md section 9). Each line is the departure of one packet, as a duration since the
 * start, for example 12.5ms. A bare number is in seconds. Empty lines and lines that begin with '#' are ignored. Times
 * must not decrease. */
#ifndef PL_DEPARTURES_H
#define PL_DEPARTURES_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

struct pl_departures {
    uint64_t *at_ns;
    size_t n, room;
};

/* Reads the lines at [text, text + len); `file` is the file's name for errors. Returns 0, or -1 with the error.
 * pl_departures_free is allowed after either. */
int pl_departures_read(struct pl_departures *departures, const char *file, const uint8_t *text, size_t len,
                       struct nc_error *error);
void pl_departures_free(struct pl_departures *departures);

#endif
