/* Mean, spread, quantiles and lag-1 autocorrelation of signed durations as they come, from running sums: what the box
 * was told of jitter beside what it did. A few additions a value; quantiles are within 19 % of the value (histogram.h), one
 * histogram on each side of zero. Sums are of doubles: jitter is centred near zero, so nothing cancels that matters. */
#ifndef COMET_MOMENTS_H
#define COMET_MOMENTS_H

#include <jansson.h>
#include <stdint.h>

#include "histogram.h"

/* All zero: no values yet. */
struct moments {
    uint64_t n, pairs, last_number;
    double sum, squares, products; /* products: of neighbours by number, `pairs` of them */
    int64_t last, min, max;
    struct histogram below, above; /* of -value where it is negative, of value elsewhere */
};

void moments_add(struct moments *moments, uint64_t number, int64_t value_ns);

double moments_mean(const struct moments *moments);
double moments_sd(const struct moments *moments);
/* 0 when nothing varies or no two neighbours were seen. */
double moments_autocorrelation(const struct moments *moments);
/* The value that the given share (0 … 1) of all is below. */
int64_t moments_quantile(const struct moments *moments, double share);

/* {"count","mean_ns","sd_ns","min_ns","p01_ns","p10_ns","p50_ns","p90_ns","p99_ns","max_ns","autocorrelation"} */
json_t *moments_json(const struct moments *moments);

#endif
