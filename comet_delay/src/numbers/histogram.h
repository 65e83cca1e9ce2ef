/* A histogram of durations with four buckets an octave, so that any percentile is right within 19 %. */
#ifndef COMET_HISTOGRAM_H
#define COMET_HISTOGRAM_H

#include <jansson.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 64 * 4 };

struct histogram {
    uint64_t count, sum, max;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value_ns, uint64_t times);

/* Upper edge of the bucket that holds the given share (0 … 1) of all values; never above the largest value seen. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

/* {"count","sum_ns","p50_ns","p90_ns","p99_ns","max_ns","histogram":[[upper_ns,count],…]}, without empty buckets. */
json_t *histogram_json(const struct histogram *histogram);

#endif
