/* A histogram of durations with four buckets per octave, so that any percentile is accurate to 19 %. */
#ifndef COMET_HISTOGRAM_H
#define COMET_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 * 4 };

struct histogram {
    uint64_t count, sum, max;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value_ns, uint64_t times);

/* Upper edge of the bucket that holds the given share (0 … 1) of all values; never above the largest value seen. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

/* The largest value that a bucket counts. */
uint64_t histogram_upper(unsigned bucket);

#endif
