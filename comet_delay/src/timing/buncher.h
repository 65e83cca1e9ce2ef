/* Bunching as a conversion between LAN and WAN PHY does it (lsr-2007): packets are held, and go on together at a gate
 * that opens once a period. Evenly spaced acknowledgements thus become bursts, and so do the segments that they clock
 * out.
 *
 * The gate opens at the multiples of the period on the caller's clock. A packet leaves at the first opening at or after
 * its arrival that has room for it: an opening lets `packets` through at most, and the rest waits for the next ones.
 * Nothing is dropped, and no packet overtakes another.
 * Rejected: a period that begins with the first packet held. It hides the conversion's own clock, which runs on
 * whether packets come or not. */
#ifndef COMET_BUNCHER_H
#define COMET_BUNCHER_H

#include <stdint.h>

struct buncher_params {
    uint64_t period_ns; /* between openings; 0: packets are not held */
    uint64_t packets;   /* packets that one opening lets through; 0: no bound */
};

/* All zero is fresh. */
struct buncher {
    uint64_t opening_ns; /* of the packet that came last */
    uint64_t through;    /* packets that this opening lets through so far */
};

/* Departure of a packet that arrives at `arrival_ns`. Arrivals never fall, nor do departures, whatever changes. */
uint64_t buncher_send(struct buncher *buncher, const struct buncher_params *params, uint64_t arrival_ns);

#endif
