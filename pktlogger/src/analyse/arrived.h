/* Analyses a connection with only the receiver's capture: what arrived, what was missing (holes.h), and the windows
 * that the receiver offered. One reading is enough, because nothing is compared with another capture. */
#ifndef PL_ARRIVED_H
#define PL_ARRIVED_H

#include "tables.h"
#include "transfer.h"

/* Takes a packet of the transfer. Returns 0, or -1 without memory. */
int pl_arrived_take(struct pl_transfer *transfer, const struct pl_row *row, struct pl_tables *tables);

/* Ends what is under way when the capture ends, and releases transfer->arrived. */
int pl_arrived_end(struct pl_transfer *transfer, struct pl_tables *tables);
void pl_arrived_free(struct pl_transfer *transfer);

#endif
