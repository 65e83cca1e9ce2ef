/* Bunching as in a conversion between LAN and WAN PHY (lsr-2007): packets are held and released together by a gate that
 * opens once per period. Evenly spaced acknowledgements thus become bursts, and so do the segments that they clock out.
 *
 * The gate opens at multiples of the period on the caller's clock. A packet leaves at the first opening at or after its
 * arrival that has room for it: at most `packets` leave at one opening, and the rest wait for the next openings.
 * Nothing is dropped, and no packet overtakes another.
 * Rejected: a period that begins with the first packet held. It would ignore the conversion's own clock, which runs
 * whether or not packets arrive. */
#ifndef COMET_BUNCHER_H
#define COMET_BUNCHER_H

#include <stdint.h>

struct buncher_params {
    uint64_t period_ns; /* between openings; 0: packets are not held */
    uint64_t packets;   /* most packets that leave at one opening; 0: no bound */
};

/* All zero is fresh. */
struct buncher {
    uint64_t opening_ns; /* of the packet that arrived last */
    uint64_t through;    /* packets that leave at this opening so far */
};

/* Departure of a packet that arrives at `arrival_ns`. Arrivals must never decrease; departures never do, whatever
 * parameters change. */
uint64_t buncher_send(struct buncher *buncher, const struct buncher_params *params, uint64_t arrival_ns);

#endif
