/* A column of a table that table.h wrote, mapped for reading. */
#ifndef PL_COLUMN_H
#define PL_COLUMN_H

#include "mapping.h"

struct pl_column_map {
    struct pl_mapping mapping;
    const uint8_t *values; /* rows × size, 64-byte aligned; NULL when there is no row */
    uint64_t rows;
};

/* Maps FOLDER/NAME.npy, whose element type must be `descr`, as in "<u8", with `size` bytes. Returns 0, or -1 with a
 * one-line reason. */
int pl_column_open(struct pl_column_map *column, const char *folder, const char *name, const char *descr, size_t size,
                   struct nc_error *error);
void pl_column_close(struct pl_column_map *column);

#endif
