/* The earliest time at which the next packet may leave, with the fraction of a nanosecond that rounding would lose. A
 * departure is rounded up to a whole nanosecond, never down, and the next one is counted from the exact time. So no
 * packet is early and the average is exact. The pacer and the harmonizer use it. Unlike a serial line (lines.h) it adds
 * no transmission time: a packet that arrives late enough leaves at its arrival. */
#ifndef COMET_SPACING_H
#define COMET_SPACING_H

#include <stdint.h>

struct spacing {
    uint64_t next_ns;
    uint64_t fraction; /* of a nanosecond, in units of 1/rate */
    uint64_t rate;     /* that `fraction` is in */
};

/* When a packet that arrives now may leave. */
static inline uint64_t spacing_departure(const struct spacing *spacing, uint64_t arrival_ns)
{
    uint64_t earliest_ns = spacing->next_ns + (spacing->fraction > 0);
    return arrival_ns > earliest_ns ? arrival_ns : earliest_ns;
}

/* Records that the packet leaves: the next one may follow `cost` / `rate` ns later (rate > 0). */
static inline void spacing_take(struct spacing *spacing, uint64_t arrival_ns, uint64_t cost, uint64_t rate)
{
    if (spacing->rate != rate) {
        spacing->next_ns += spacing->fraction > 0;
        spacing->fraction = 0;
        spacing->rate = rate;
    }
    if (arrival_ns > spacing->next_ns) {
        spacing->next_ns = arrival_ns;
        spacing->fraction = 0;
    }
    uint64_t scaled = cost + spacing->fraction;
    spacing->next_ns += scaled / rate;
    spacing->fraction = scaled % rate;
}

#endif
