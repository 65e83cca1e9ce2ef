/* Finds the times in which nothing passed from one host to another: everything that their connections sent was lost, or
 * they sent nothing. */
#ifndef PL_SILENCES_H
#define PL_SILENCES_H

#include "tables.h"

/* Sets `silent` of the transfers between two hosts that have several connections, if one of these lost parts. `silent`
 * lists the times in which parts were lost and nothing sent the same way arrived, neither data nor acknowledgements. It
 * also says which of these times are outages, judged by the losses of all connections together. `silences` has `n`
 * elements, which start as {0}. It must exist as long as the transfers, and the caller frees the list of each. With
 * more than a thousand transfers nothing is set. Returns 0, or -1 without memory. */
int pl_silences_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables,
                     struct pl_silences *silences);

#endif
