/* When nothing passed from one host to another: what all connections between them sent was lost, or none sent. */
#ifndef PL_SILENCES_H
#define PL_SILENCES_H

#include "tables.h"

/* Sets `silent` of the transfers whose hosts have more than one, if one of them lost parts; of data and acknowledgements
 * that were sent the same way. Spans are of 10 ms and more. `spans` has `n`, which start as {0}, and is to stay as long
 * as the transfers; the caller frees each. Of more than a thousand transfers nothing is said. Returns 0, or -1 without
 * memory. */
int pl_silences_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables,
                     struct pl_time_spans *spans);

#endif
