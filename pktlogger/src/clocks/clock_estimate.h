/* Estimates the relation of two clocks from packets that crossed in both directions.
 *
 * A packet's difference is its time by the receiving clock minus its time by the sending clock: its delay plus the lead
 * of the receiving clock. No delay is below the empty path's. So with steady clocks the differences of each direction
 * lie above a line, and drift tilts the lines of the two directions in opposite senses (Paxson 1998; Moon, Skelly and
 * Towsley 1999; Zhang, Liu and Xia 2002). The slope is chosen so that as many windows of time as possible have their
 * least difference near the line. Rejected: the slope that minimises the sum of the distances from the line (Moon's),
 * and the edge of the hull below the middle (Zhang's). A growing queue, a change of route or a step tilts them,
 * although long parts of the time have one slope in each of these cases.
 * At a step, no offset is compatible with the differences of both directions before and after it. A change of route
 * never has this effect, because it raises one direction without lowering the other.
 * The offset is the middle between the two lines. It is exact where both directions take equally long. The captures
 * contain no evidence of the contrary, so half of the least round trip bounds the error. */
#ifndef PL_CLOCK_ESTIMATE_H
#define PL_CLOCK_ESTIMATE_H

#include "clock.h"
#include "clock_samples.h"

/* Fills in the clock. `points` are sorted. `resolution_ns`: of both captures' time stamps together. Returns 0, or -1
 * without memory. */
int pl_clock_estimate(pl_clock_points *points, int64_t resolution_ns, struct pl_clock *clock);

#endif
