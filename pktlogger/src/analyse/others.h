/* The octets that other connections of the captures carried in the same direction during a transfer. */
#ifndef PL_OTHERS_H
#define PL_OTHERS_H

#include "tables.h"

/* For each transfer, sets signs.others and signs.streams (the octets of other connections, and of streams of the same
 * transfer) and their rates. The segments of the `n` transfers must be written and mapped. With more than 1,000
 * transfers it sets nothing. Its memory does not depend on the number of packets. Returns 0, or -1 without memory. */
int pl_others_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables);

#endif
