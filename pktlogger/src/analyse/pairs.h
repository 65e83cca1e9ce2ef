/* Which connection of the sender's capture is which of the receiver's.
 * Addresses and ports say it, and the initial sequence numbers where both captures have the SYNs. A connection whose
 * addresses or ports differ (NAT) is found by both initial sequence numbers, or else by its packets: samples of the
 * clocks (clock_samples.h) have no addresses in their hash. A firewall that writes other sequence numbers leaves
 * nothing to be found by; pl_pairs_rewritten notices that.
 * Rejected: times and lengths, which a transfer of the same file from another client has, too. */
#ifndef PL_PAIRS_H
#define PL_PAIRS_H

#include "survey.h"

/* What the flow of one capture was found by in the other one. */
enum pl_found { PL_NOT_FOUND, PL_BY_ADDRESSES, PL_BY_NUMBERS, PL_BY_PACKETS };

/* Of a flow of the sender's capture: the receiver's flow; `flipped`: its direction 0 is direction 1 there. */
struct pl_pair {
    uint32_t other;
    bool flipped;
    uint8_t found; /* enum pl_found */
};

/* Finds the pair of each flow of surveys[0] among those of surveys[1]. Returns as many as there are flows, and one more,
 * for free(); NULL without memory. */
struct pl_pair *pl_pairs_find(const struct pl_survey surveys[2]);

/* True when both flows are of the same addresses and ports, and their sequence numbers were rewritten on the way:
 * those of one end are the same in both captures and those of the other are not, or both differ and as many octets
 * were sent each way. */
bool pl_pairs_rewritten(const struct pl_flow *sender, const struct pl_flow *receiver, bool flipped);

#endif
