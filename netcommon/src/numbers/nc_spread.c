/* Implements nc_spread.h. A value's bin is given by the position of its leading one bit and the five bits after it. */
#include "nc_spread.h"

#include <math.h>

#include "nc_range.h"

enum { FINE = 32, FINE_BITS = 5 };

static unsigned bin_of(uint64_t value)
{
    if (value < FINE)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - FINE_BITS;
    return (shift + 1) * FINE + (unsigned)(value >> shift) - FINE;
}
_Static_assert(NC_SPREAD_BINS == FINE * (64 - FINE_BITS + 1), "every 64-bit value has a bin");

/* The largest value of a bin. */
static uint64_t top_of(unsigned bin)
{
    if (bin < FINE)
        return bin;
    unsigned shift = bin / FINE - 1;
    uint64_t first = (uint64_t)(bin % FINE + FINE) << shift;
    return first + ((UINT64_C(1) << shift) - 1);
}

void nc_spread_add(struct nc_spread *spread, uint64_t value)
{
    spread->min = spread->n ? nc_min(spread->min, value) : value;
    spread->max = nc_max(spread->max, value);
    spread->sum += (double)value;
    spread->n++;
    spread->bins[bin_of(value)]++;
}

void nc_spread_merge(struct nc_spread *into, const struct nc_spread *from)
{
    if (from->n == 0)
        return;
    into->min = into->n ? nc_min(into->min, from->min) : from->min;
    into->max = nc_max(into->max, from->max);
    into->sum += from->sum;
    into->n += from->n;
    for (unsigned bin = 0; bin < NC_SPREAD_BINS; bin++)
        into->bins[bin] += from->bins[bin];
}

uint64_t nc_spread_percentile(const struct nc_spread *spread, double share)
{
    uint64_t wanted = (uint64_t)ceil(share * (double)spread->n), seen = 0;
    for (unsigned bin = 0; bin < NC_SPREAD_BINS; bin++)
        if ((seen += spread->bins[bin]) >= wanted && seen > 0)
            return nc_min(nc_max(top_of(bin), spread->min), spread->max);
    return spread->max;
}

json_t *nc_spread_json(const struct nc_spread *spread)
{
    if (spread->n == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "min", (json_int_t)spread->min, "mean",
                     (json_int_t)(spread->sum / (double)spread->n), "p50",
                     (json_int_t)nc_spread_percentile(spread, 0.5), "p90",
                     (json_int_t)nc_spread_percentile(spread, 0.9), "p99",
                     (json_int_t)nc_spread_percentile(spread, 0.99), "max", (json_int_t)spread->max);
}
