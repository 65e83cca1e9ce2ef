/* When the delay box was late: spans in which a packet that was due waited in it. They are evidence for the limit
 * `emulator_late`.
 * Memory holds the spans of a transfer, of which overlapping ones are one: the box is late with all that is due. */
#ifndef PL_LATENESS_H
#define PL_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "time_spans.h"

struct pl_lateness {
    int64_t from_ns;              /* less than this is not late; 0: less than a millisecond */
    struct pl_time_spans ways[2]; /* of data, of acknowledgements: from due to released, by the record */
};

/* Takes a packet of the record that left the box. Returns 0, or -1 without memory. */
int pl_lateness_add(struct pl_lateness *lateness, bool data, int64_t due_ns, int64_t released_ns);

/* Makes of them what the sender felt, in order of time and without overlaps, in ways[0]. A late acknowledgement is late
 * at once; late data are `back_ns` later, with the acknowledgement that they bring about. Returns 0, or -1 without
 * memory. */
int pl_lateness_at_sender(struct pl_lateness *lateness, int64_t back_ns);

void pl_lateness_free(struct pl_lateness *lateness);

#endif
