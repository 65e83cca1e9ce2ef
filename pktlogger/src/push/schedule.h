/* When packets are due, in nanoseconds since the start. Due times are theoretical: they follow from the number of the
 * packet, never from the departure of the previous one. So lateness does not accumulate, and the long-term rate is
 * exact however late the machine is in between.
 *
 * Nothing here reads a clock. Sources: RFC 2330 section 11.1 for the Poisson stream, RFC 3432 for periodic streams.
 * Rejected: a running sum of gaps in nanoseconds. At 200,000 packets/s, rounding by half a nanosecond per gap makes an
 * error of 0.01 %. At 3 packets/s the error is negligible, so a test at a low rate would not notice it. */
#ifndef PL_SCHEDULE_H
#define PL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pl_schedule_kind {
    PL_SCHEDULE_CONSTANT, /* equal gaps */
    PL_SCHEDULE_POISSON,  /* exponential gaps */
    PL_SCHEDULE_BURST,    /* `burst` packets at once, then a gap that keeps the rate */
    PL_SCHEDULE_TRACE,    /* departure times of a file */
};

#define PL_NEVER UINT64_MAX

struct pl_schedule {
    enum pl_schedule_kind kind;
    uint64_t pps;             /* packets a second; 0: all are due at once */
    uint64_t burst;           /* at least 1 */
    const uint64_t *trace_ns; /* due times, never decreasing */
    uint64_t trace_n;
    uint64_t packets;     /* number of all packets; 0: no limit */
    uint64_t duration_ns; /* no packet that is due at this time or later is sent; 0: no limit */
    uint64_t seed;
    /* state */
    uint64_t number;   /* of the next packet */
    double poisson_ns; /* due time of the next packet */
    uint64_t drawn;    /* state of the random numbers */
};

/* Starts at the first packet. The members above `state` must be set. */
void pl_schedule_start(struct pl_schedule *schedule);

/* The due time of the next packet; PL_NEVER after the last one. */
uint64_t pl_schedule_due(const struct pl_schedule *schedule);

/* Advances to the next packet. */
void pl_schedule_advance(struct pl_schedule *schedule);

#endif
