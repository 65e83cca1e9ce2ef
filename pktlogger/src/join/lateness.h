/* The times at which the delay box was late: spans in which a packet waited in the box after it was due. They are
 * evidence for the limit `emulator_late`.
 * Memory holds the spans of a transfer. Overlapping spans are merged, because a box that is late delays all packets
 * that are due. */
#ifndef PL_LATENESS_H
#define PL_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "time_spans.h"

struct pl_lateness {
    int64_t from_ns;              /* a packet that waits at least this long is late; 0: a millisecond */
    struct pl_time_spans ways[2]; /* for data and for acknowledgements: spans from due to released, by the record */
};

/* Takes a packet of the record that left the box. Returns 0, or -1 without memory. */
int pl_lateness_add(struct pl_lateness *lateness, bool data, int64_t due_ns, int64_t released_ns);

/* Turns the spans into the times at which they affected the sender, in order of time and without overlaps, in ways[0].
 * A late acknowledgement affects the sender at once. Late data affects it `back_ns` later, through the acknowledgement
 * that the data causes. Returns 0, or -1 without memory. */
int pl_lateness_at_sender(struct pl_lateness *lateness, int64_t back_ns);

void pl_lateness_free(struct pl_lateness *lateness);

#endif
