/* The distribution of durations in nanoseconds: count, smallest, largest, mean, and percentiles from a histogram whose
 * bins are 1/32 of their value wide, so that a percentile is right within 3.2 %. Values below 32 are exact.
 * Rejected: one histogram for this and for the delay box's lateness. The box counts each wire packet, also inside a
 * kernel, without floating point or JSON. Bins of a quarter of an octave are enough for it and take 2 KB per direction
 * instead of 15 KB. */
#ifndef NC_SPREAD_H
#define NC_SPREAD_H

#include <jansson.h>
#include <stdint.h>

enum { NC_SPREAD_BINS = 32 * 60 };

struct nc_spread {
    uint64_t n, min, max;
    double sum;
    uint64_t bins[NC_SPREAD_BINS];
};

void nc_spread_add(struct nc_spread *spread, uint64_t value);

/* Adds all values of `from`. */
void nc_spread_merge(struct nc_spread *into, const struct nc_spread *from);

/* The quantile at `share` (0 … 1): the smallest value that is not below this share of all values, at most one bin too
 * large. 0 without values. */
uint64_t nc_spread_percentile(const struct nc_spread *spread, double share);

/* {"min","mean","p50","p90","p99","max"}, whole nanoseconds; null without values. */
json_t *nc_spread_json(const struct nc_spread *spread);

#endif
