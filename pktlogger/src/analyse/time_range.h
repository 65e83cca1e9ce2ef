/* The times of a transfer that an export shows. */
#ifndef PL_TIME_RANGE_H
#define PL_TIME_RANGE_H

#include <stdint.h>

/* Times since the transfer's first data. 0: from its start, or to its end. */
struct pl_time_range {
    int64_t from_ns, to_ns;
};

/* The same range by the captures' clock, for a transfer that begins at `first_ns`. */
static inline struct pl_time_range pl_time_range_at(const struct pl_time_range *range, int64_t first_ns)
{
    return (struct pl_time_range){
        .from_ns = range->from_ns ? first_ns + range->from_ns : INT64_MIN,
        .to_ns = range->to_ns ? first_ns + range->to_ns : INT64_MAX,
    };
}

#endif
