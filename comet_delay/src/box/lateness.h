/* Texts of the verdict about packets that left later than their theoretical time. Nothing here reads a clock.
 *
 * Percentiles come from a histogram whose buckets are 19 % wide, so texts show them with two digits. They are rounded
 * up, so that a p99 above the limit is never shown as the limit itself.
 * Rejected: all digits of a bucket's edge, which would suggest more accuracy than there is. */
#ifndef COMET_LATENESS_H
#define COMET_LATENESS_H

#include <stddef.h>
#include <stdint.h>

/* The limit of the p99 lateness: `allowed_ns` (--lateness-limit), or granularity plus poll if that is more, because the
 * user has accepted that much. */
uint64_t lateness_limit_ns(uint64_t allowed_ns, uint64_t granularity_ns, uint64_t poll_ns);

/* "ab: p99 lateness 42 ms (limit 1 ms)". Returns buf. */
const char *lateness_reason(const char *direction, uint64_t p99_ns, uint64_t limit_ns, char *buf, size_t buf_size);

#endif
