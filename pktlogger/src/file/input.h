/* The bytes of a capture, one window at a time: one file, or the files of a rotated set in order, each plain or
 * compressed (unpack.h). A plain file is mapped, and its window grows. A compressed file is decompressed into a buffer.
 * Invariant: memory does not grow with the file. It is bounded by the longest block requested, in a compressed file by
 * PL_INPUT_BLOCK_MAX. Rejected: decompressing into a temporary file. It needs the space that the user wanted to
 * save. */
#ifndef PL_INPUT_H
#define PL_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_INPUT_BLOCK_MAX = 16 << 20 };

struct pl_input;

/* Opens the file `path`, or the set of that name (file_set.h) if there is no such file. NULL with a reason. */
struct pl_input *pl_input_open(const char *path, struct nc_error *error);

/* The same for bytes in memory instead of a file, for fuzzers and tests. */
struct pl_input *pl_input_memory(const uint8_t *data, size_t len, struct nc_error *error);

/* Moves to the first or the next file. Returns 1, or 0 if there is none, or -1 with a reason. */
int pl_input_next_file(struct pl_input *input, struct nc_error *error);

/* Extends the window [*at, *end) to at least `need` bytes, if the file has them; older pointers become invalid. False
 * if the file has fewer. Begin each file with *at = *end = NULL. */
bool pl_input_more(struct pl_input *input, const uint8_t **at, const uint8_t **end, size_t need);

/* At the end of a file: why the file ended early, as far as its compression shows; NULL: it is complete. */
const char *pl_input_cut(const struct pl_input *input);

/* The file being read, and the number of files. */
const char *pl_input_file(const struct pl_input *input);
size_t pl_input_files(const struct pl_input *input);

/* Number of files missing between the first and the last one of the set. */
uint64_t pl_input_missing(const struct pl_input *input);

void pl_input_close(struct pl_input *input);

#endif
