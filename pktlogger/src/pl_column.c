/* Purpose: pl_column.h. Only the header that pl_table writes is understood: NPY 1.0 of 128 bytes, one dimension. */
#include "pl_column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_BYTES = 128, MAGIC_BYTES = 10 };

/* Rows by the header's shape; false: not a header of ours, or the file is not as long as it says. */
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
                   char *why, size_t why_size)
{
    char path[4096];
    *column = (struct pl_column_map){.rows = 0};
    if (snprintf(path, sizeof path, "%s/%s.npy", folder, name) >= (int)sizeof path) {
        snprintf(why, why_size, "'%.200s…': path too long", folder);
        return -1;
    }
    if (pl_map(path, &column->mapping, why, why_size) < 0)
        return -1;
    if (!read_header(&column->mapping, descr, size, &column->rows)) {
        snprintf(why, why_size, "'%.400s': not a column of type %s as pktlogger writes it", path, descr);
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
