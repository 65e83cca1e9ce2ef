/* What happened between two answers of `show`: rates, drops by cause, and lateness percentiles of the interval alone.
 * Pure: two JSON states in, one JSON object out, so it is tested without a box.
 *
 * A percentile cannot be had from two percentiles, but histograms subtract: the difference of the buckets is the histogram
 * of the interval. Rejected: the box keeping an interval of its own, which could serve one watcher only. */
#ifndef COMET_INTERVAL_H
#define COMET_INTERVAL_H

#include <jansson.h>

#include "histogram.h"

/* Lateness between two `lateness` objects. Its max is the upper edge of the last bucket that grew, or the largest value
 * ever seen when that is smaller: within 19 %, never too low. */
struct histogram interval_lateness(const json_t *before, const json_t *after);

/* {"uptime_ns","interval_ns","ab":{…},"ba":{…},"valid"} as CONTROL.md specifies under "watch", or NULL when `after` is not later
 * than `before` in the life of the same box (it was started anew). */
json_t *interval_json(const json_t *before, const json_t *after);

#endif
