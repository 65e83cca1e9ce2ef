/* An immutable column of 64-bit numbers on the heap, for what a model needs beyond plain fields (drop lists, empirical
 * delays, rate schedules). It is built once, when parameters are set, and then only read, so copies of a model share
 * it. Reference counts need no locks: only the thread that changes parameters shares and releases tables. Pairs [from,
 * to) are two neighbouring numbers each; they are sorted and do not touch. Signed values are stored as their two's
 * complement.
 * Rejected: a type for each model. It would be the same forty lines four times. */
#ifndef COMET_TABLE_H
#define COMET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

/* 64 MB of numbers and as much text, enough for a Mahimahi trace of 16 minutes at 100 Mbit/s. */
enum { TABLE_VALUES_MAX = 8 << 20, TABLE_FILE_BYTES_MAX = 64 << 20 };

struct table {
    uint32_t refs;
    size_t n, room;
    char *source; /* name of the file it came from, or NULL */
    uint64_t at[];
};

/* Appends to the table at *table, which may be NULL. False when there is no memory or the table has TABLE_VALUES_MAX
 * numbers; then nothing has changed. */
bool table_add(struct table **table, uint64_t value);

/* Adds an owner; NULL is passed through. */
struct table *table_share(struct table *table);
/* Removes an owner; the last one frees the table. NULL is allowed. */
void table_release(struct table *table);

/* Sorts pairs by their first number and joins those that overlap or touch. */
void table_sort_pairs(struct table *table);
/* True when some pair has a number in common with [from, to). */
bool table_pairs_overlap(const struct table *table, uint64_t from, uint64_t to);

enum table_content {
    TABLE_DURATIONS,    /* 12.5ms, -3us, 0.0125 (seconds): int64 ns, at most an hour either way */
    TABLE_NETEM,        /* whole numbers of -32768 … 32767 as in tc's .dist files: int64 */
    TABLE_MILLISECONDS, /* whole ms that never decrease, the last above 0, as in Mahimahi's traces: uint64 ns */
};

/* Parses numbers separated by white space; `#` begins a comment to the end of the line. Returns NULL with an error
 * "NAME:LINE: …". */
struct table *table_parse(const char *name, const char *data, size_t len, enum table_content content,
                          struct nc_error *error);
/* The same for a regular file of at most TABLE_FILE_BYTES_MAX; sets ->source. */
struct table *table_read(const char *path, enum table_content content, struct nc_error *error);

#endif
