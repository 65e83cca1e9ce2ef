/* The interval between two answers of `show`: rates, drops by cause, and lateness percentiles. Pure: two JSON states
 * in, one JSON object out, so it can be tested without a box.
 *
 * The percentile of an interval does not follow from two percentiles, but histograms can be subtracted: the difference
 * of the buckets is the histogram of the interval.
 * Rejected: intervals kept by the box, which could serve one watcher only. */
#ifndef COMET_INTERVAL_H
#define COMET_INTERVAL_H

#include <jansson.h>

#include "histogram.h"

/* The lateness between two `lateness` objects. `max` is the upper edge of the last bucket that grew, or the largest
 * value ever seen if that is smaller. So `max` is at most 19 % too high, and never too low. */
struct histogram interval_lateness(const json_t *before, const json_t *after);

/* {"uptime_ns","interval_ns","ab":{…},"ba":{…},"valid"} as CONTROL.md specifies under "watch". NULL when the uptime in
 * `after` is not larger than in `before`: then the box was restarted. */
json_t *interval_json(const json_t *before, const json_t *after);

#endif
