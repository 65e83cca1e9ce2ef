/* When packets are due, in nanoseconds since the start, and how many are due by now. Due times are theoretical: they
 * come from the number of the packet, never from when the one before it left. So lateness does not add up, and the rate
 * is exact in the long run whatever the machine does in between.
 *
 * Nothing here reads a clock. Sources for the Poisson stream: RFC 2330 section 11.1, RFC 3432 for periodic streams.
 * Rejected: gaps that are added up in nanoseconds. At 200,000 packets/s a rounding of half a nanosecond each is 0.01 %;
 * at 3 packets/s it is nothing, so nobody would look for it. */
#ifndef PL_SCHEDULE_H
#define PL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pl_schedule_kind {
    PL_SCHEDULE_CONSTANT, /* equal gaps */
    PL_SCHEDULE_POISSON,  /* exponential gaps */
    PL_SCHEDULE_BURST,    /* `burst` packets at once, with the gaps that keep the rate */
    PL_SCHEDULE_TRACE,    /* times that are given */
};

#define PL_NEVER UINT64_MAX

struct pl_schedule {
    enum pl_schedule_kind kind;
    uint64_t pps;             /* packets a second; 0: all are due at once */
    uint64_t burst;           /* at least 1 */
    const uint64_t *trace_ns; /* due times, not falling */
    uint64_t trace_n;
    uint64_t packets;     /* how many there are in all; 0: no limit */
    uint64_t duration_ns; /* packets due at or behind this are not sent; 0: no limit */
    uint64_t seed;
    /* state */
    uint64_t number;   /* of the next packet */
    double poisson_ns; /* its due time */
    uint64_t drawn;    /* state of the random numbers */
};

/* Makes the first packet the next one. The members above `state` are set. */
void pl_schedule_start(struct pl_schedule *schedule);

/* The due time of the next packet; PL_NEVER behind the last one. */
uint64_t pl_schedule_due(const struct pl_schedule *schedule);

/* Makes the packet behind it the next one. */
void pl_schedule_advance(struct pl_schedule *schedule);

#endif
