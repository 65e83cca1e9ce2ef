/* The stream harmonizer: evens out parallel streams (tgnle-2006, function 2). Of the original only the purpose is
 * known: it was hardware between many parallel TCP streams and one long path that smoothed their bursts, since a burst
 * of one stream fills small switch buffers at the expense of all. Its method was not published. What follows is this
 * project's definition:
 *
 *   - A flow is all packets with the same 64-bit hash (computed by the caller from the 5-tuple). It is active for
 *     `active_ns` after its last arrival.
 *   - The packets of a flow are spaced by bits × n / rate, where n is the number of active flows when the packet
 *     arrives. So every active flow has an equal share of the total rate, and no flow sends two packets closer together
 *     than its share allows. The share that one flow leaves unused goes to no other flow: the stage evens flows out; it
 *     is not fair queueing.
 *   - A packet leaves at max(arrival, its flow's next time). That time is final, so when a flow becomes active or
 *     inactive, only the spacing of later packets changes. While n rises, the sum of all flows may exceed the rate
 *     until packets that were spaced earlier have left. The box's pacer comes before the harmonizer, since it needs
 *     packets in order (CONTROL.md).
 *   - Packets of a flow never overtake each other. Packets of different flows do, so departures are not in the order of
 *     arrival, and the caller sorts them.
 *
 * The table holds HARMONIZER_FLOWS flows. A new flow beyond that replaces the flow seen least recently. If packets of
 * the replaced flow still wait, new flows wait until these packets are out, since any new flow may be the replaced one.
 * Rejected: a queue for each flow with a scheduler (deficit round robin). For one line it yields the same order, but a
 * departure then depends on later packets. Rejected: dropping packets that would wait too long. A bound on the wait
 * belongs to a queue before the harmonizer. */
#ifndef COMET_HARMONIZER_H
#define COMET_HARMONIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "spacing.h"

enum { HARMONIZER_FLOWS = 1024, HARMONIZER_BUCKETS = 2048, HARMONIZER_PACKET_MAX = 1 << 20 };

struct harmonizer_params {
    uint64_t rate_bps;  /* of all flows together; 0: packets are not spaced */
    uint64_t active_ns; /* how long after its last packet a flow keeps its share */
};

/* Indices of the table start at 1; 0 is none. */
struct harmonizer_flow {
    uint64_t hash;
    uint64_t seen_ns;      /* last arrival */
    uint64_t departure_ns; /* last departure */
    struct spacing spacing;
    uint16_t older, newer; /* by last arrival */
    uint16_t chain;        /* in its bucket */
    bool active;
};

/* Starts as all zero. Invariant: the flows from `oldest_active` to `newest` are the active ones, `active` of them. */
struct harmonizer {
    struct harmonizer_flow flows[HARMONIZER_FLOWS + 1];
    uint16_t buckets[HARMONIZER_BUCKETS];
    uint16_t used, oldest, newest, oldest_active, active;
    uint64_t evicted_ns; /* the last departure of flows that were replaced */
};

/* The departure of a packet of flow `hash`, `bytes` long (up to HARMONIZER_PACKET_MAX), that arrives now. Arrivals must
 * never decrease. */
uint64_t harmonizer_send(struct harmonizer *harmonizer, const struct harmonizer_params *params, uint64_t arrival_ns,
                         uint64_t hash, uint32_t bytes);

#endif
