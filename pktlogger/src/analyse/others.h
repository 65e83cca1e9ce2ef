/* The octets that other connections of the captures carried in the same direction during a transfer. */
#ifndef PL_OTHERS_H
#define PL_OTHERS_H

#include "tables.h"

/* Sets signs.others, signs.streams and their rates in `n` transfers, whose segments are written and mapped.
 * With more than 1,000 transfers it sets nothing. The memory that it needs does not depend on the number of packets.
 * Returns 0, or -1 without memory. */
int pl_others_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables);

#endif
