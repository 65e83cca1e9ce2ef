/* Estimates how two clocks are related from packets that crossed in both directions.
 *
 * A packet's difference is its delay and what the receiving clock is ahead. No delay is below that of the empty path,
 * so with a steady clock the differences of each direction lie above a line, which drift tilts in opposite senses
 * (Paxson 1998; Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002). The slope is that with which most windows of
 * time have their least difference near the line. Rejected: the slope that minimises the sum of the distances from the
 * line (Moon's), or the hull's edge under the middle (Zhang's): a queue that grows, a change of route or a step tilts
 * them, and each of these leaves whole stretches of time at one slope.
 * A step shows as an offset with which no line is below the differences of both directions; a change of route never
 * does that, because it raises one of the two and does not lower the other.
 * The offset is the middle between the two lines: exact where both directions take equally long. Nothing in the
 * captures can tell otherwise, so half of the least round trip bounds its error. */
#ifndef PL_CLOCK_ESTIMATE_H
#define PL_CLOCK_ESTIMATE_H

#include "clock.h"
#include "clock_samples.h"

/* Fills in the clock. `points` are sorted. `resolution_ns`: of both captures' time stamps together. Returns 0, or -1
 * without memory. */
int pl_clock_estimate(pl_clock_points *points, int64_t resolution_ns, struct pl_clock *clock);

#endif
