#include "spread.h"

/* Values below 32 have a bucket each; above, the five bits behind the leading one choose a part of the octave. */
static unsigned bucket_of(uint64_t value)
{
    if (value < SPREAD_PER_OCTAVE)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - 5;
    return (shift + 1) * SPREAD_PER_OCTAVE + (unsigned)((value >> shift) - SPREAD_PER_OCTAVE);
}

/* Largest value in the bucket. */
static uint64_t bucket_upper(unsigned bucket)
{
    if (bucket < SPREAD_PER_OCTAVE)
        return bucket;
    unsigned shift = bucket / SPREAD_PER_OCTAVE - 1;
    return ((uint64_t)(bucket % SPREAD_PER_OCTAVE + SPREAD_PER_OCTAVE + 1) << shift) - 1;
}

void spread_add(struct spread *spread, uint64_t value_ns)
{
    spread->bucket[bucket_of(value_ns)]++;
    spread->count++;
    if (value_ns > spread->max_ns)
        spread->max_ns = value_ns;
}

uint64_t spread_percentile_ns(const struct spread *spread, double share)
{
    uint64_t want = (uint64_t)((double)spread->count * share), seen = 0;
    for (unsigned i = 0; i < SPREAD_BUCKETS; i++) {
        seen += spread->bucket[i];
        if (seen > want)
            return bucket_upper(i) < spread->max_ns ? bucket_upper(i) : spread->max_ns;
    }
    return spread->max_ns;
}
