/* How nanoseconds spread: count, smallest, largest, mean, and percentiles from a histogram whose bins are 1/32 of their
 * value wide, so that a percentile is right within 3.2 %. Values below 32 are exact. */
#ifndef PL_SPREAD_H
#define PL_SPREAD_H

#include <jansson.h>
#include <stdint.h>

enum { PL_SPREAD_BINS = 32 * 60 };

struct pl_spread {
    uint64_t n, min, max;
    double sum;
    uint64_t bins[PL_SPREAD_BINS];
};

void pl_spread_add(struct pl_spread *spread, uint64_t value);

/* The smallest value that is at least as large as `share` (0 … 1) of all, at most one bin too large. 0 without
 * values. */
uint64_t pl_spread_percentile(const struct pl_spread *spread, double share);

/* {"min","mean","p50","p90","p99","max"}, whole nanoseconds; null without values. */
json_t *pl_spread_json(const struct pl_spread *spread);

#endif
