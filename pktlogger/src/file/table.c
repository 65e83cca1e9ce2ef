/* Implements table.h. Rows are collected in a small buffer ("stage") that stays in the processor's cache, and are moved
 * from there into columns. A second thread writes a full set of columns while the next set fills. A page that holds
 * only zeros is not written. It stays a hole in the file, which reads as zeros. This saves much, because most packets
 * have no SACK blocks, and their columns are half of a row.
 * Rejected: one write buffer per column, written when it is full. Each value would be copied on its own, and the reader
 * would wait for the file system. */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are written as they lie in memory");

enum { STAGE_ROWS = 64, BLOCK_ROWS = 8192, HEADER_BYTES = 128, PAGE_BYTES = 4096 };

struct column_file {
    struct pl_column column;
    int fd;
    size_t bytes;       /* bytes of one row */
    uint8_t *blocks[2]; /* BLOCK_ROWS rows each */
};

/* Block `b` of all columns belongs to the caller until `full[b]` is set, and then to the writer until it clears
 * `full[b]`. */
struct pl_table {
    int dir_fd;
    char *name;
    int error;  /* errno of the first failure; belongs to the writer while it runs */
    bool whole; /* the files have no holes */
    bool running, ending;
    bool full[2];
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t written;          /* number of rows written; belongs to the writer while it runs */
    unsigned current;          /* index of the block that is being filled */
    size_t block_rows, staged; /* number of rows in that block, and in the stage */
    size_t stride;             /* bytes per row in the stage */
    uint8_t *stage;
    size_t n;
    struct column_file files[];
};

static int write_all(int fd, const uint8_t *at, size_t len, uint64_t offset)
{
    while (len) {
        ssize_t wrote = pwrite(fd, at, len, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -1;
        at += wrote;
        offset += (size_t)wrote;
        len -= (size_t)wrote;
    }
    return 0;
}

static bool only_zeros(const uint8_t *at, size_t len)
{
    return len == 0 || (at[0] == 0 && memcmp(at, at + 1, len - 1) == 0);
}

/* Writes all pages of the file except those that contain only zeros; adjacent pages in one call. */
static int write_pages(int fd, const uint8_t *at, size_t len, uint64_t offset)
{
    size_t begun = 0, n;
    for (size_t i = 0; i < len; i += n) {
        n = PAGE_BYTES - (offset + i) % PAGE_BYTES;
        if (n > len - i)
            n = len - i;
        if (!only_zeros(at + i, n))
            continue;
        if (write_all(fd, at + begun, i - begun, offset + begun) < 0)
            return -1;
        begun = i + n;
    }
    return write_all(fd, at + begun, len - begun, offset + begun);
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
    for (int b = 0; b < 2; b++)
        file->blocks[b] = malloc(BLOCK_ROWS * file->bytes);
    file->fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!file->blocks[0] || !file->blocks[1] || file->fd < 0)
        return -1;
    npy_header(&file->column, 0, header);
    return write_all(file->fd, (const uint8_t *)header, sizeof header, 0);
}

static void release(struct pl_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        free(table->files[i].blocks[0]);
        free(table->files[i].blocks[1]);
        if (table->files[i].fd >= 0)
            close(table->files[i].fd);
    }
    if (table->dir_fd >= 0)
        close(table->dir_fd);
    pthread_mutex_destroy(&table->lock);
    pthread_cond_destroy(&table->changed);
    free(table->name);
    free(table->stage);
    free(table);
}

static struct pl_table *new_table(const char *name, const struct pl_column *columns, size_t n)
{
    struct pl_table *table = calloc(1, sizeof *table + n * sizeof table->files[0]);
    if (!table)
        return NULL;
    table->n = n;
    table->dir_fd = -1;
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->changed, NULL);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = columns[i].size * columns[i].width;
        table->files[i] = (struct column_file){.column = columns[i], .fd = -1, .bytes = bytes};
        if (columns[i].offset + bytes > table->stride)
            table->stride = columns[i].offset + bytes;
    }
    table->name = strdup(name);
    table->stage = malloc(STAGE_ROWS * table->stride + 1);
    return table;
}

struct pl_table *pl_table_create(int dir_fd, const char *name, const struct pl_column *columns, size_t n)
{
    struct pl_table *table = new_table(name, columns, n);
    if (!table)
        return NULL;
    bool made = table->name && table->stage && (strcmp(name, ".") == 0 || mkdirat(dir_fd, name, 0777) == 0);
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

void pl_table_keep_whole(struct pl_table *table)
{
    table->whole = true;
}

static void write_block(struct pl_table *table, unsigned block, size_t rows)
{
    for (size_t i = 0; i < table->n && !table->error; i++) {
        const struct column_file *file = &table->files[i];
        uint64_t offset = HEADER_BYTES + table->written * file->bytes;
        if (write_pages(file->fd, file->blocks[block], rows * file->bytes, offset) < 0)
            table->error = errno;
    }
    table->written += rows;
}

/* Writes full blocks in turn until the table is closed. */
static void *run_writer(void *context)
{
    struct pl_table *table = context;
    for (unsigned block = 0;; block = !block) {
        pthread_mutex_lock(&table->lock);
        while (!table->full[block] && !table->ending)
            pthread_cond_wait(&table->changed, &table->lock);
        bool any = table->full[block];
        pthread_mutex_unlock(&table->lock);
        if (!any)
            return NULL;
        write_block(table, block, BLOCK_ROWS);
        pthread_mutex_lock(&table->lock);
        table->full[block] = false;
        pthread_cond_signal(&table->changed);
        pthread_mutex_unlock(&table->lock);
    }
}

/* Passes the full block to the writer and waits until the other one is free. Small tables never get here, so they have
 * no second thread. */
static void turn(struct pl_table *table)
{
    table->block_rows = 0;
    if (!table->running && pthread_create(&table->writer, NULL, run_writer, table) != 0) {
        write_block(table, table->current, BLOCK_ROWS);
        return;
    }
    table->running = true;
    pthread_mutex_lock(&table->lock);
    table->full[table->current] = true;
    table->current = !table->current;
    pthread_cond_signal(&table->changed);
    while (table->full[table->current])
        pthread_cond_wait(&table->changed, &table->lock);
    pthread_mutex_unlock(&table->lock);
}

static inline void gather(uint8_t *to, const uint8_t *from, size_t stride, size_t rows, size_t bytes)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * bytes, from + i * stride, bytes);
}

/* Moves rows into the columns of the block, which has room for them. The sizes are constants here, so that each copy is
 * one instruction. */
static void move_rows(struct pl_table *table, const uint8_t *rows, size_t stride, size_t n)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct column_file *file = &table->files[i];
        uint8_t *to = file->blocks[table->current] + table->block_rows * file->bytes;
        const uint8_t *from = rows + file->column.offset;
        switch (file->bytes) {
        case 1:
            gather(to, from, stride, n, 1);
            break;
        case 2:
            gather(to, from, stride, n, 2);
            break;
        case 4:
            gather(to, from, stride, n, 4);
            break;
        case 8:
            gather(to, from, stride, n, 8);
            break;
        case 32:
            gather(to, from, stride, n, 32);
            break;
        default:
            gather(to, from, stride, n, file->bytes);
        }
    }
    table->block_rows += n;
    if (table->block_rows == BLOCK_ROWS)
        turn(table);
}

/* at most as many rows at once as fit into the processor's cache */
static void take_rows(struct pl_table *table, const uint8_t *rows, size_t stride, size_t n)
{
    for (size_t moved; n; n -= moved, rows += moved * stride) {
        size_t room = BLOCK_ROWS - table->block_rows, most = room < STAGE_ROWS ? room : STAGE_ROWS;
        moved = n < most ? n : most;
        move_rows(table, rows, stride, moved);
    }
}

static void unstage(struct pl_table *table)
{
    take_rows(table, table->stage, table->stride, table->staged);
    table->staged = 0;
}

void pl_table_put(struct pl_table *table, const void *row)
{
    memcpy(table->stage + table->staged * table->stride, row, table->stride);
    if (++table->staged == STAGE_ROWS)
        unstage(table);
}

void pl_table_put_rows(struct pl_table *table, const void *rows, size_t stride, size_t n)
{
    const uint8_t *at = rows;
    if (n < STAGE_ROWS / 4) {
        for (size_t i = 0; i < n; i++)
            pl_table_put(table, at + i * stride);
        return;
    }
    unstage(table);
    take_rows(table, at, stride, n);
}

static int write_columns_json(const struct pl_table *table)
{
    json_t *names = json_array();
    for (size_t i = 0; i < table->n; i++)
        json_array_append_new(names, json_string(table->files[i].column.name));
    json_t *root = json_pack("{s:i, s:I, s:o}", "v", 1, "rows", (json_int_t)table->written, "columns", names);
    int result = pl_stream_json(table->dir_fd, "columns.json", root);
    json_decref(root);
    return result;
}

/* Lets the writer finish, and writes the last block, which is not full. */
static void drain(struct pl_table *table)
{
    unstage(table);
    if (table->running) {
        pthread_mutex_lock(&table->lock);
        table->ending = true;
        pthread_cond_signal(&table->changed);
        pthread_mutex_unlock(&table->lock);
        pthread_join(table->writer, NULL);
    }
    write_block(table, table->current, table->block_rows);
}

/* Sets the length of a file, with or without a hole at its end. Returns 0, or -1 with errno. */
static int set_length(const struct pl_table *table, const struct column_file *file)
{
    off_t len = (off_t)(HEADER_BYTES + table->written * file->bytes);
    if (ftruncate(file->fd, len) < 0)
        return -1;
    bool failed = table->whole && fallocate(file->fd, 0, 0, len) < 0;
    return failed && errno != EOPNOTSUPP ? -1 : 0;
}

int pl_table_close(struct pl_table *table)
{
    drain(table);
    for (size_t i = 0; i < table->n && !table->error; i++) {
        const struct column_file *file = &table->files[i];
        char header[HEADER_BYTES];
        npy_header(&file->column, table->written, header);
        if (write_all(file->fd, (const uint8_t *)header, sizeof header, 0) < 0 || set_length(table, file) < 0)
            table->error = errno;
    }
    if (!table->error && write_columns_json(table) < 0)
        table->error = errno;
    int error = table->error;
    release(table);
    errno = error;
    return error ? -1 : 0;
}
