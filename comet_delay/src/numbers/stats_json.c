#include "stats_json.h"

json_t *histogram_json(const struct histogram *histogram)
{
    json_t *buckets = json_array();
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->bucket[i])
            json_array_append_new(
                buckets, json_pack("[I, I]", (json_int_t)histogram_upper(i), (json_int_t)histogram->bucket[i]));
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)histogram->count, "sum_ns",
                     (json_int_t)histogram->sum, "p50_ns", (json_int_t)histogram_percentile(histogram, 0.50), "p90_ns",
                     (json_int_t)histogram_percentile(histogram, 0.90), "p99_ns",
                     (json_int_t)histogram_percentile(histogram, 0.99), "max_ns", (json_int_t)histogram->max,
                     "histogram", buckets);
}

json_t *sample_stats_json(const struct sample_stats *m)
{
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p01_ns", 0.01}, {"p10_ns", 0.10}, {"p50_ns", 0.50}, {"p90_ns", 0.90}, {"p99_ns", 0.99}};
    json_t *object = json_pack("{s:I, s:f, s:f, s:I}", "count", (json_int_t)m->n, "mean_ns", sample_stats_mean(m),
                               "sd_ns", sample_stats_sd(m), "min_ns", (json_int_t)m->min);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
        json_object_set_new(object, quantiles[i].name, json_integer(sample_stats_quantile(m, quantiles[i].share)));
    json_object_set_new(object, "max_ns", json_integer(m->max));
    json_object_set_new(object, "autocorrelation", json_real(sample_stats_autocorrelation(m)));
    return object;
}
