/* What a direction counted, as JSON for `show`: packets and drops, and what the models achieved (jitter, loss, the
 * bottleneck's rate), to compare with their parameters. The achieved values are counted in theoretical times, each
 * since its parameter was last set. `lateness` says how much later than those times packets left. */
#ifndef COMET_DIRECTION_STATS_H
#define COMET_DIRECTION_STATS_H

#include <jansson.h>

#include "direction_view.h"

/* The statistics object of `show` (CONTROL.md). Only the port knows its `receive_ring_drops`. `recorder`: NULL where
 * nothing is recorded. */
json_t *direction_stats_json(const struct direction_view *view, const struct recorder *recorder,
                             uint64_t receive_ring_drops);

#endif
