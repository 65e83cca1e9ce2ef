/* Implements column.h. It reads only the header that table.c writes: NPY 1.0 of 128 bytes, one dimension. */
#include "column.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 128, MAGIC_BYTES = 10 };

/* Reads the number of rows from the header's shape. False if the header has another form, or if the file's length does
 * not match it. */
static bool read_header(const struct pl_mapping *mapping, const char *descr, size_t size, uint64_t *rows)
{
    char want[96], text[HEADER_BYTES - MAGIC_BYTES + 1] = "";
    if (mapping->len < HEADER_BYTES || memcmp(mapping->data, "\x93NUMPY\x01\x00\x76\x00", MAGIC_BYTES) != 0)
        return false;
    memcpy(text, mapping->data + MAGIC_BYTES, HEADER_BYTES - MAGIC_BYTES);
    int n = snprintf(want, sizeof want, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    if (n < 0 || (size_t)n >= sizeof want || strncmp(text, want, (size_t)n) != 0)
        return false;
    char *end;
    *rows = strtoull(text + n, &end, 10);
    return end > text + n && end[0] == ',' && *rows == (mapping->len - HEADER_BYTES) / size &&
           (mapping->len - HEADER_BYTES) % size == 0;
}

int pl_column_open(struct pl_column_map *column, const char *folder, const char *name, const char *descr, size_t size,
                   struct nc_error *error)
{
    char path[4096];
    *column = (struct pl_column_map){.rows = 0};
    if (snprintf(path, sizeof path, "%s/%s.npy", folder, name) >= (int)sizeof path)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s…': path too long", folder);
    if (pl_map(path, &column->mapping, error) < 0)
        return -1;
    if (!read_header(&column->mapping, descr, size, &column->rows)) {
        nc_fail(error, NC_EXIT_USAGE, "'%.400s': not a column of type %s as pktlogger writes it", path, descr);
        pl_unmap(&column->mapping);
        return -1;
    }
    column->values = column->mapping.data + HEADER_BYTES;
    return 0;
}

void pl_column_close(struct pl_column_map *column)
{
    pl_unmap(&column->mapping);
    *column = (struct pl_column_map){.rows = 0};
}
