/* Decides whether the model alone caused everything that happened to packets. Pure: numbers in, reasons out; nothing
 * here reads a clock or a port. */
#ifndef COMET_VERDICT_H
#define COMET_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

/* What the verdict considers in one direction. */
struct verdict_of {
    uint64_t dropped_memory; /* packets dropped because there was no memory */
    uint64_t malformed;      /* frames dropped because their headers contradict each other */
    uint64_t not_taken;      /* packets that the outgoing port did not accept */
    uint64_t dropped_unread; /* packets dropped by the kernel before the box read them */
    uint64_t unrecorded;     /* packets for which there was no room in the record */
    bool port_gone;          /* the interface that it reads from was deleted */
    const struct histogram *lateness;
};

/* {"valid": …, "reasons": […]}: valid when there is no reason. `of`: ab, ba. `limit_ns`: the p99 lateness allowed. */
json_t *verdict_json(const struct verdict_of of[2], uint64_t limit_ns);

#endif
