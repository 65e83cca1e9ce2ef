/* Parameters and what their texts mean, as one block of memory. The process that parses texts hands the block to the
 * same code in another home on the same machine (the kernel of virtual time). Both must be built from the same sources;
 * the sizes at the block's head reveal when they are not. */
#ifndef COMET_MODELS_PACKED_H
#define COMET_MODELS_PACKED_H

#include <stddef.h>

#include "models.h"

/* A block on the heap, or NULL without memory. */
void *models_pack(const struct params *params, const struct models *models, size_t *len);

/* Unpacks `block` into memory of its own (models_free). -1: the block is from other sources, or there is no memory. */
int models_unpack(const void *block, size_t len, struct params *params, struct models *models);

#endif
