/* The stream harmonizer: evens out parallel streams (tgnle-2006, function 2). Of the original only this purpose is known:
 * in hardware, in line, between many parallel TCP streams and one long path, it kept streams from bursting against each
 * other, since a burst of one fills small switch buffers at the cost of all. How it did so was not published. What
 * follows is this project's definition:
 *
 *   - a flow is what has one 64-bit hash (the caller's, of the 5-tuple); it is active while it last arrived less than
 *     `active_ns` ago;
 *   - each packet is spaced from its flow's next by bits × n / rate, where n is the number of active flows when it
 *     arrives: every active flow has an equal share of the total rate, and none sends two packets closer together than
 *     its share allows. What one flow leaves unused no other gets: evening out, not fair queueing;
 *   - a packet leaves at max(arrival, its flow's next time); its fate is final, so a flow that comes or goes changes the
 *     spacing of later packets only. While n rises, the sum of all flows may exceed the rate for as long as packets
 *     spaced earlier still wait. The box's pacer is in front of it, since it wants packets in order (CONTROL.md);
 *   - a packet that would have to wait for more than `hold_ns` is dropped: a flow that offers more than its share for
 *     long;
 *   - packets of a flow never overtake each other; packets of different flows do, so departures are not in order of
 *     arrival and the caller sorts them.
 *
 * The table holds HARMONIZER_FLOWS flows. A new one beyond that takes the place of the one least recently seen; should
 * that one still have packets waiting, newcomers from then on wait until these are out, since it may be that flow coming
 * back. Rejected: a queue a flow with a scheduler (deficit round robin). It makes the same order of one line, but a
 * departure then depends on packets yet to come. */
#ifndef COMET_HARMONIZER_H
#define COMET_HARMONIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "spacing.h"

enum { HARMONIZER_FLOWS = 1024, HARMONIZER_BUCKETS = 2048, HARMONIZER_PACKET_MAX = 1 << 20 };

struct harmonizer_params {
    uint64_t rate_bps;  /* of all flows together; 0: no harmonizing */
    uint64_t active_ns; /* T: so long after its last packet a flow still has its share */
    uint64_t hold_ns;   /* longest wait; 0: no bound */
};

/* Places in the table are numbered from 1; 0 is none. */
struct harmonizer_flow {
    uint64_t hash;
    uint64_t seen_ns;      /* last arrival */
    uint64_t departure_ns; /* last departure */
    struct spacing spacing;
    uint16_t older, newer; /* by last arrival */
    uint16_t chain;        /* in its bucket */
    bool active;
};

/* All zero is fresh. Invariant: the flows from `oldest_active` to `newest` are the active ones, `active` of them. */
struct harmonizer {
    struct harmonizer_flow flows[HARMONIZER_FLOWS + 1];
    uint16_t buckets[HARMONIZER_BUCKETS];
    uint16_t used, oldest, newest, oldest_active, active;
    uint64_t evicted_ns; /* the last departure of flows that lost their place */
};

/* A packet of flow `hash`, `bytes` long (up to HARMONIZER_PACKET_MAX), arrives; arrivals never fall. True with its
 * departure, or false: it would wait for longer than hold_ns. */
bool harmonizer_send(struct harmonizer *harmonizer, const struct harmonizer_params *params, uint64_t arrival_ns,
                     uint64_t hash, uint32_t bytes, uint64_t *departure_ns);

#endif
