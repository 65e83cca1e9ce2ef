/* Finds the times in which nothing passed from one host to another: everything that their connections sent was lost, or
 * they sent nothing. */
#ifndef PL_SILENCES_H
#define PL_SILENCES_H

#include "tables.h"

/* Sets `silent` of the transfers whose hosts have more than one, if one of them lost parts: the times in which parts were
 * lost and nothing that was sent the same way arrived, data or acknowledgements, and which of them are outages by what
 * all lost together. `silences` has `n`, which start as {0}, and is to stay as long as the transfers; the caller frees
 * the list of each. With more than a thousand transfers it sets nothing. Returns 0, or -1 without memory. */
int pl_silences_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables,
                     struct pl_silences *silences);

#endif
