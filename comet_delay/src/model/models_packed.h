/* Parameters and models as one block of memory. The process that parses texts passes the block to the same code in the
 * virtual-time kernel on the same machine. Both must be built from the same sources, which the sizes at the block's
 * head verify. */
#ifndef COMET_MODELS_PACKED_H
#define COMET_MODELS_PACKED_H

#include <stddef.h>

#include "models.h"

/* A block on the heap, or NULL without memory. */
void *models_pack(const struct params *params, const struct models *models, size_t *len);

/* Unpacks `block` into new memory (models_free). -1: the block is from other sources, or there is no memory. */
int models_unpack(const void *block, size_t len, struct params *params, struct models *models);

#endif
