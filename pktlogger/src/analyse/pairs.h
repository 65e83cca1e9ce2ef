/* Finds the flow of the receiver's capture that is the same connection as a flow of the sender's.
 * Flows match by addresses and ports, and by initial sequence numbers where both captures have the SYNs. A connection
 * whose addresses or ports differ (NAT) is found by both initial sequence numbers, or else by its packets: the clock
 * samples (clock_samples.h) have no addresses in their hash. If a firewall rewrites sequence numbers, nothing is left
 * to match; pl_pairs_rewritten detects this.
 * Rejected: times and lengths. Another client's transfer of the same file has them, too. */
#ifndef PL_PAIRS_H
#define PL_PAIRS_H

#include "survey.h"

/* How a flow of one capture was found in the other one. */
enum pl_found { PL_NOT_FOUND, PL_BY_ADDRESSES, PL_BY_NUMBERS, PL_BY_PACKETS };

/* For a flow of the sender's capture: the receiver's flow. `flipped`: its direction 0 is direction 1 there. */
struct pl_pair {
    uint32_t other;
    bool flipped;
    uint8_t found; /* enum pl_found */
};

/* Finds the pair of each flow of surveys[0] among the flows of surveys[1]. Returns an array to be freed by free(), one
 * element longer than the number of flows; NULL without memory. */
struct pl_pair *pl_pairs_find(const struct pl_survey surveys[2]);

/* True when both flows have the same addresses and ports, but something on the path rewrote their sequence numbers.
 * Either the numbers of one end are the same in both captures and those of the other end differ; or both differ, but
 * each direction carried as many octets. */
bool pl_pairs_rewritten(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped);

#endif
