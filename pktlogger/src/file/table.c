/* Implements table.h. */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they lie in memory");

enum { BUFFER_BYTES = 256 * 1024, HEADER_BYTES = 128 };

struct column_file {
    struct pl_column column;
    int fd;
    size_t used;
    uint8_t *buffer;
};

struct pl_table {
    int dir_fd;
    char *name;
    uint64_t rows;
    int error; /* errno of the first failure */
    size_t n;
    struct column_file files[];
};

static int write_all(int fd, const void *data, size_t len)
{
    const uint8_t *at = data;
    while (len) {
        ssize_t wrote = write(fd, at, len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -1;
        at += wrote;
        len -= (size_t)wrote;
    }
    return 0;
}

/* Makes the header of NPY 1.0: magic, version, header length, and a Python literal padded with blanks so that the data
 * are 64-byte aligned. */
static void npy_header(const struct pl_column *column, uint64_t rows, char out[HEADER_BYTES])
{
    char width[16] = "";
    if (column->width > 1)
        snprintf(width, sizeof width, "%u", column->width);
    memset(out, ' ', HEADER_BYTES);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)(HEADER_BYTES - 10);
    out[9] = 0;
    char text[HEADER_BYTES];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ", %s), }",
                     column->descr, rows, width);
    memcpy(out + 10, text, (size_t)n);
    out[HEADER_BYTES - 1] = '\n';
}

static int open_column(int dir_fd, struct column_file *file)
{
    char name[64], header[HEADER_BYTES];
    snprintf(name, sizeof name, "%s.npy", file->column.name);
    file->buffer = malloc(BUFFER_BYTES);
    file->fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!file->buffer || file->fd < 0)
        return -1;
    npy_header(&file->column, 0, header);
    return write_all(file->fd, header, sizeof header);
}

static void release(struct pl_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        free(table->files[i].buffer);
        if (table->files[i].fd >= 0)
            close(table->files[i].fd);
    }
    if (table->dir_fd >= 0)
        close(table->dir_fd);
    free(table->name);
    free(table);
}

struct pl_table *pl_table_create(int dir_fd, const char *name, const struct pl_column *columns, size_t n)
{
    struct pl_table *table = calloc(1, sizeof *table + n * sizeof table->files[0]);
    if (!table)
        return NULL;
    table->n = n;
    for (size_t i = 0; i < n; i++)
        table->files[i] = (struct column_file){.column = columns[i], .fd = -1};
    table->dir_fd = -1;
    table->name = strdup(name);
    bool made = table->name && (strcmp(name, ".") == 0 || mkdirat(dir_fd, name, 0777) == 0);
    if (made)
        table->dir_fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = table->dir_fd >= 0;
    for (size_t i = 0; ok && i < n; i++)
        ok = open_column(table->dir_fd, &table->files[i]) == 0;
    if (ok)
        return table;
    int saved = errno;
    release(table);
    errno = saved;
    return NULL;
}

static void flush(struct pl_table *table, struct column_file *file)
{
    if (!table->error && write_all(file->fd, file->buffer, file->used) < 0)
        table->error = errno;
    file->used = 0;
}

void pl_table_put(struct pl_table *table, const void *row)
{
    for (size_t i = 0; i < table->n; i++) {
        struct column_file *file = &table->files[i];
        size_t bytes = file->column.size * file->column.width;
        if (file->used + bytes > BUFFER_BYTES)
            flush(table, file);
        memcpy(file->buffer + file->used, (const uint8_t *)row + file->column.offset, bytes);
        file->used += bytes;
    }
    table->rows++;
}

static int write_columns_json(const struct pl_table *table)
{
    json_t *names = json_array();
    for (size_t i = 0; i < table->n; i++)
        json_array_append_new(names, json_string(table->files[i].column.name));
    json_t *root = json_pack("{s:i, s:I, s:o}", "v", 1, "rows", (json_int_t)table->rows, "columns", names);
    int fd = openat(table->dir_fd, "columns.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = fd >= 0 && json_dumpfd(root, fd, JSON_INDENT(1)) == 0 ? 0 : -1;
    if (fd >= 0)
        close(fd);
    json_decref(root);
    return result;
}

int pl_table_close(struct pl_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        struct column_file *file = &table->files[i];
        char header[HEADER_BYTES];
        flush(table, file);
        npy_header(&file->column, table->rows, header);
        if (!table->error && pwrite(file->fd, header, sizeof header, 0) != (ssize_t)sizeof header)
            table->error = errno ? errno : EIO;
    }
    if (!table->error && write_columns_json(table) < 0)
        table->error = errno ? errno : EIO;
    int error = table->error;
    release(table);
    errno = error;
    return error ? -1 : 0;
}
