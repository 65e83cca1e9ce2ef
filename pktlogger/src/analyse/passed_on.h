/* Finds receivers that are gateways: they send on, by another connection, what they receive. */
#ifndef PL_PASSED_ON_H
#define PL_PASSED_ON_H

#include "analyse.h"

/* Sets signs.behind of each transfer whose receiver passes its octets on by another connection. Such a connection is in
 * the receiver's capture, but not in the sender's. It begins while the transfer goes on, and carries as many octets,
 * except for those that the gateway may still hold. It starts at the receiver's address; where a gateway has another
 * address on that side, the amounts must be nearly equal. With more than a thousand connections in a capture nothing is
 * set. */
void pl_passed_on_note(struct pl_analysis *analysis);

#endif
