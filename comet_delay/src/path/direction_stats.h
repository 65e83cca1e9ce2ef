/* A direction's counts, as JSON for `show`: packets and drops, and the values that the models achieved (jitter, loss,
 * the bottleneck's rate), for comparison with their parameters. The achieved values are measured in theoretical times,
 * each since its parameter was last set. `lateness` is how much later than those times packets left. */
#ifndef COMET_DIRECTION_STATS_H
#define COMET_DIRECTION_STATS_H

#include <jansson.h>

#include "direction_view.h"

/* The statistics object of `show` (CONTROL.md). Only the port knows its `receive_ring_drops`. `recorder`: NULL if
 * nothing is recorded. */
json_t *direction_stats_json(const struct direction_view *view, const struct recorder *recorder,
                             uint64_t receive_ring_drops);

#endif
