/* Tables on disk. A table is a folder with one .npy file for each column (NPY format 1.0, little endian) and
 * columns.json, which names the columns in order. Rows are appended one at a time and soon written. At most 16,384 rows
 * are in memory, so only the disk bounds the size of a table. The number of rows is written into the headers when the
 * table is closed. A long table has its own writing thread.
 * Rejected: Parquet from C, because no well-maintained C library exists; Python writes Parquet from these files. */
#ifndef PL_TABLE_H
#define PL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct pl_column {
    const char *name;
    const char *descr; /* NumPy type: "<u8", "<i8", "|u1", … */
    size_t offset;     /* offset in the row's struct */
    size_t size;       /* bytes of one element */
    unsigned width;    /* number of elements per row */
};

#define PL_COLUMN(row, field, type) {#field, type, offsetof(row, field), sizeof(((row *)0)->field), 1}
#define PL_COLUMN_WIDE(row, field, type, n) {#field, type, offsetof(row, field), sizeof(((row *)0)->field) / (n), n}

struct pl_table;

/* Makes the folder `name` below dir_fd and the column files in it; "." is the folder of dir_fd itself. Returns NULL
 * with errno. */
struct pl_table *pl_table_create(int dir_fd, const char *name, const struct pl_column *columns, size_t n);

/* For a table that this process will map. When the table is closed, all the space of its files is allocated, without
 * holes. Otherwise writing to a mapped hole on a full disk would end the process (SIGBUS); in tmpfs, even reading
 * would. */
void pl_table_keep_whole(struct pl_table *table);

/* Appends one row. Errors are reported when the table is closed. */
void pl_table_put(struct pl_table *table, const void *row);

/* The same for `n` rows that are `stride` bytes apart. */
void pl_table_put_rows(struct pl_table *table, const void *rows, size_t stride, size_t n);

/* Finishes the files and releases the table. Returns 0, or -1 with errno of the first failure. */
int pl_table_close(struct pl_table *table);

#endif
