/* Running statistics of signed durations: mean, standard deviation, quantiles and lag-1 autocorrelation. The box uses
 * them to compare the configured jitter with the actual jitter. Each value costs a few additions. Quantiles are
 * accurate to 19 % (histogram.h); there is one histogram on each side of zero. The sums are doubles, which is exact
 * enough because jitter is centred near zero. */
#ifndef COMET_SAMPLE_STATS_H
#define COMET_SAMPLE_STATS_H

#include <stdint.h>

#include "histogram.h"

/* All zero: no values yet. */
struct sample_stats {
    uint64_t n, pairs, last_number;
    double sum, squares, products; /* products: of values with neighbouring numbers, `pairs` of them */
    int64_t last, min, max;
    struct histogram below, above; /* of -value for negative values, of value for the others */
};

void sample_stats_add(struct sample_stats *stats, uint64_t number, int64_t value_ns);

double sample_stats_mean(const struct sample_stats *stats);
double sample_stats_sd(const struct sample_stats *stats);
/* 0 when all values are equal, or when no two neighbours were seen. */
double sample_stats_autocorrelation(const struct sample_stats *stats);
/* The value below which the given share (0 … 1) of all values lies. */
int64_t sample_stats_quantile(const struct sample_stats *stats, double share);

#endif
