#include "histogram.h"

/* Each value below 4 has a bucket of its own. For larger values the two bits after the leading one choose a quarter of
 * the octave. */
static unsigned bucket_of(uint64_t value)
{
    if (value < 4)
        return (unsigned)value;
    unsigned octave = 63u - (unsigned)__builtin_clzll(value);
    return octave * 4 + (unsigned)((value >> (octave - 2)) & 3) - 4;
}

uint64_t histogram_upper(unsigned bucket)
{
    if (bucket < 4)
        return bucket;
    unsigned octave = bucket / 4 + 1;
    uint64_t step = UINT64_C(1) << (octave - 2);
    return (UINT64_C(1) << octave) + (bucket % 4) * step + (step - 1);
}

void histogram_add(struct histogram *histogram, uint64_t value_ns, uint64_t times)
{
    histogram->bucket[bucket_of(value_ns)] += times;
    histogram->count += times;
    histogram->sum += value_ns * times;
    if (value_ns > histogram->max)
        histogram->max = value_ns;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
    uint64_t want = (uint64_t)((double)histogram->count * share), seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->bucket[i];
        if (seen > want || (seen == want && seen == histogram->count && seen > 0))
            return histogram_upper(i) < histogram->max ? histogram_upper(i) : histogram->max;
    }
    return histogram->max;
}
