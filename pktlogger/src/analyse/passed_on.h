/* Finds receivers that are gateways: they send on, by another connection, what they receive. */
#ifndef PL_PASSED_ON_H
#define PL_PASSED_ON_H

#include "analyse.h"

/* Sets signs.behind of each transfer whose receiver's capture shows a connection that passes it on: it is not in the
 * sender's capture, it begins while the transfer goes on, and it carries as much, apart from what the gateway may still
 * hold. It starts at the receiver's address, or, where a gateway has an address on either side, the amounts are nearly
 * equal. With more than a thousand connections in a capture nothing is set. */
void pl_passed_on_note(struct pl_analysis *analysis);

#endif
