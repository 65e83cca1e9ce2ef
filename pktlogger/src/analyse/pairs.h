/* Finds the flow of the receiver's capture that is the same connection as a flow of the sender's.
 * Flows match by addresses and ports, and by initial sequence numbers where both captures have the SYNs. A connection
 * whose addresses or ports differ (NAT) is found by both initial sequence numbers, or else by its packets: the clock
 * samples (clock_samples.h) have no addresses in their hash. A firewall that rewrites sequence numbers leaves nothing
 * to match; pl_pairs_rewritten detects that.
 * Rejected: times and lengths, which another client's transfer of the same file has, too. */
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

/* Finds the pair of each flow of surveys[0] among those of surveys[1]. Returns an array with one more element than
 * there are flows, to be freed by free(); NULL without memory. */
struct pl_pair *pl_pairs_find(const struct pl_survey surveys[2]);

/* True when both flows have the same addresses and ports, but their sequence numbers were rewritten on the way: the
 * numbers of one end are the same in both captures and those of the other are not, or both differ but each way carried
 * as many octets. */
bool pl_pairs_rewritten(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped);

#endif
