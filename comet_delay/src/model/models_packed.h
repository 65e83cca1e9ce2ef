/* Parameters and what their texts mean, as one block of memory: what crosses from the process that reads texts to another
 * home of the same code on the same machine (the kernel of virtual time). Both are built from the same sources; the
 * sizes at the block's head refuse a pair that is not. */
#ifndef COMET_MODELS_PACKED_H
#define COMET_MODELS_PACKED_H

#include <stddef.h>

#include "models.h"

/* A block on the heap, or NULL without memory. */
void *models_pack(const struct params *params, const struct models *models, size_t *len);

/* What `block` holds, in memory of its own (models_free). -1: it is not from these sources, or there is no memory. */
int models_unpack(const void *block, size_t len, struct params *params, struct models *models);

#endif
