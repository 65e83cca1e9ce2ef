/* One column of a table that pl_table wrote, mapped for reading. */
#ifndef PL_COLUMN_H
#define PL_COLUMN_H

#include "pl_command.h"

struct pl_column_map {
    struct pl_mapping mapping;
    const uint8_t *values; /* rows × size, 64-byte aligned; unmapped files of no row have NULL */
    uint64_t rows;
};

/* Maps FOLDER/NAME.npy, whose element type must be `descr` ("<u8") of `size` bytes. 0, or -1 with a one-line reason. */
int pl_column_open(struct pl_column_map *column, const char *folder, const char *name, const char *descr, size_t size,
                   char *why, size_t why_size);
void pl_column_close(struct pl_column_map *column);

#endif
