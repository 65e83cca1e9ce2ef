/* How a great many durations are spread, in fixed memory: 32 buckets an octave, so a percentile is within 3 % of the
 * truth.
 * Rejected: keeping every value, which at 1,000 a second is 350 MB a day. */
#ifndef WITNESS_SPREAD_H
#define WITNESS_SPREAD_H

#include <stdint.h>

enum { SPREAD_PER_OCTAVE = 32, SPREAD_BUCKETS = 60 * SPREAD_PER_OCTAVE };

struct spread {
    uint64_t count, max_ns;
    uint64_t bucket[SPREAD_BUCKETS];
};

void spread_add(struct spread *spread, uint64_t value_ns);

/* Upper edge of the bucket that holds the given share (0 … 1) of all values, and never above the largest; 0 without
 * any. */
uint64_t spread_percentile_ns(const struct spread *spread, double share);

#endif
