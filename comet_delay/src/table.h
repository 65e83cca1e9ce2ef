/* An immutable column of 64-bit numbers on the heap: what a model needs beyond plain fields (drop lists, empirical
 * delays, rate schedules). Built once at set-up, then only read, so that copies of a model may share it: the references
 * are counted. Not for two threads at once: whoever changes parameters shares and releases.
 * Pairs [from, to) lie next to each other, sorted and apart. Signed values are stored as their two's complement.
 * Rejected: a type for each model; the same forty lines four times. */
#ifndef COMET_TABLE_H
#define COMET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 MB of numbers and as much text: a Mahimahi trace of 16 minutes at 100 Mbit/s. */
enum { TABLE_VALUES_MAX = 8 << 20, TABLE_FILE_BYTES_MAX = 64 << 20 };

struct table {
    uint32_t refs;
    size_t n, room;
    char *source; /* name of the file it came from, or NULL */
    uint64_t at[];
};

/* Appends to the table at *table, which may be NULL. False, with nothing changed: no memory, or TABLE_VALUES_MAX reached. */
bool table_add(struct table **table, uint64_t value);

/* One more owner; NULL is passed through. */
struct table *table_share(struct table *table);
/* One owner less; the last frees it. NULL is allowed. */
void table_release(struct table *table);

/* Sorts pairs by their first number and joins those that overlap or touch. */
void table_sort_pairs(struct table *table);
/* True when some pair has a number in common with [from, to). */
bool table_pairs_overlap(const struct table *table, uint64_t from, uint64_t to);

enum table_content {
    TABLE_DURATIONS,    /* 12.5ms, -3us, 0.0125 (seconds): int64 ns, at most an hour either way */
    TABLE_NETEM,        /* whole numbers of -32768 … 32767 as in tc's .dist files: int64 */
    TABLE_MILLISECONDS, /* Mahimahi: whole ms that never fall, the last above 0: uint64 ns */
};

/* Numbers apart by white space, `#` to the end of the line is a comment. NULL with a one-line reason "NAME:LINE: …". */
struct table *table_parse(const char *name, const char *data, size_t len, enum table_content content, char *why,
                          size_t why_size);
/* The same from a regular file of at most TABLE_FILE_BYTES_MAX. Sets ->source. */
struct table *table_read(const char *path, enum table_content content, char *why, size_t why_size);

#endif
