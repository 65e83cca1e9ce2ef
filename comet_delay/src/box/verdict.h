/* Whether all that happened to packets was the model's doing. Numbers come in and reasons go out; nothing here reads a
 * clock or a port. */
#ifndef COMET_VERDICT_H
#define COMET_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

/* What the verdict looks at in one direction. */
struct verdict_of {
    uint64_t dropped_memory; /* packets dropped because there was no memory */
    uint64_t malformed;      /* frames dropped because they contradict themselves */
    uint64_t not_taken;      /* packets that the far port did not take */
    uint64_t dropped_unread; /* packets dropped by the kernel before the box read them */
    uint64_t unrecorded;     /* packets that found no room in the record */
    bool port_gone;          /* the interface that it reads from was deleted */
    const struct histogram *lateness;
};

/* {"valid": …, "reasons": […]}: valid when there is no reason. `of`: ab, ba. `limit_ns`: the p99 lateness allowed. */
json_t *verdict_json(const struct verdict_of of[2], uint64_t limit_ns);

#endif
