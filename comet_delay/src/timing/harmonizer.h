/* The stream harmonizer: evens out parallel streams (tgnle-2006, function 2). Of the original only the purpose is
 * known: it was hardware in line between many parallel TCP streams and one long path, and it kept streams from bursting
 * against each other, since a burst of one fills small switch buffers at the cost of all. How it did so was not
 * published. What follows is this project's definition:
 *
 *   - A flow is all packets with the same 64-bit hash (computed by the caller from the 5-tuple). It is active for
 * `active_ns` after its last
 *     arrival.
 *   - Each packet is spaced from the next one of its flow by bits × n / rate, where n is the number of active flows
 *     when the packet arrives. So every active flow has an equal share of the total rate, and no flow sends two packets
 *     closer together than its share allows. The share that one flow leaves unused goes to no other flow: the stage
 * evens flows out; it is not fair queueing.
 *   - A packet leaves at max(arrival, its flow's next time). That time is final, so a flow that comes or goes changes
 *     the spacing of later packets only. While n rises, the sum of all flows may exceed the rate for as long as packets
 *     that were spaced earlier still wait. The box's pacer comes before the harmonizer, since it needs packets in order
 *     (CONTROL.md).
 *   - Packets of a flow never overtake each other. Packets of different flows do, so departures are not in the order of
 *     arrival, and the caller sorts them.
 *
 * The table holds HARMONIZER_FLOWS flows. A new flow beyond that takes the place of the one seen least recently. If
 * that flow still has packets waiting, new flows wait from then on until these packets are out, since any of them may
 * be that flow coming back.
 * Rejected: a queue for each flow with a scheduler (deficit round robin). For one line it yields the same order, but a
 * departure then depends on later packets. Rejected: dropping packets that would wait too long. A bound on the wait
 * belongs to a queue, which stands in front of the harmonizer. */
#ifndef COMET_HARMONIZER_H
#define COMET_HARMONIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "spacing.h"

enum { HARMONIZER_FLOWS = 1024, HARMONIZER_BUCKETS = 2048, HARMONIZER_PACKET_MAX = 1 << 20 };

struct harmonizer_params {
    uint64_t rate_bps;  /* of all flows together; 0: packets are not spaced */
    uint64_t active_ns; /* so long after its last packet a flow still has its share */
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

/* The departure of a packet of flow `hash`, `bytes` long (up to HARMONIZER_PACKET_MAX), that arrives now. Arrivals
 * never fall. */
uint64_t harmonizer_send(struct harmonizer *harmonizer, const struct harmonizer_params *params, uint64_t arrival_ns,
                         uint64_t hash, uint32_t bytes);

#endif
