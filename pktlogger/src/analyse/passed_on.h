/* Whether a receiver is a gateway: its machine sends on, by another connection, what it receives. */
#ifndef PL_PASSED_ON_H
#define PL_PASSED_ON_H

#include "analyse.h"

/* Sets signs.behind of each transfer whose receiver's capture shows such a connection: it is not in the sender's
 * capture, it begins while the transfer goes on, and it carries as much, give or take what the gateway still holds.
 * Both begin or end at one address, or, where a gateway has an address on either side, the amounts are nearly equal.
 * Of a capture with more than a thousand connections nothing is said. */
void pl_passed_on_note(struct pl_analysis *analysis);

#endif
