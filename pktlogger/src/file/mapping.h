/* A file mapped for reading in one pass. */
#ifndef PL_MAPPING_H
#define PL_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

struct pl_mapping {
    const uint8_t *data;
    size_t len;
};

/* Returns 0, or -1 with a reason that names the file. */
int pl_map(const char *path, struct pl_mapping *mapping, struct nc_error *error);
void pl_unmap(struct pl_mapping *mapping);

#endif
