/* Histograms and running statistics as JSON, in a separate file because the code that decides about packets does not
 * use JSON. */
#ifndef COMET_STATS_JSON_H
#define COMET_STATS_JSON_H

#include <jansson.h>

#include "sample_stats.h"

/* {"count","sum_ns","p50_ns","p90_ns","p99_ns","max_ns","histogram":[[upper_ns,count],…]}, without empty buckets. */
json_t *histogram_json(const struct histogram *histogram);

/* {"count","mean_ns","sd_ns","min_ns","p01_ns","p10_ns","p50_ns","p90_ns","p99_ns","max_ns","autocorrelation"} */
json_t *sample_stats_json(const struct sample_stats *stats);

#endif
