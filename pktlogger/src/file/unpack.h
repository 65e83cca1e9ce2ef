/* A decoder of compressed bytes in memory (zstd, gzip, xz, lz4): it gives what they hold, piece by piece, and goes on
 * through any number of frames, members or streams that stand one behind the other.
 * Invariant: memory is bounded by the window of the format (zstd 128 MB, xz 256 MB, the others less), whatever the
 * bytes say. */
#ifndef PL_UNPACK_H
#define PL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_unpack;

/* True when the bytes begin as one of the formats does. */
bool pl_unpack_is(const uint8_t *data, size_t len);

/* For bytes of which pl_unpack_is says true; they must stay. NULL without memory. */
struct pl_unpack *pl_unpack_open(const uint8_t *data, size_t len);

/* Writes up to `room` bytes and returns their number; less than `room` only at the end. */
size_t pl_unpack_read(struct pl_unpack *unpack, uint8_t *to, size_t room);

/* How many of the compressed bytes were read. */
size_t pl_unpack_consumed(const struct pl_unpack *unpack);

/* After the end: why it came early; NULL when all frames are whole. */
const char *pl_unpack_cut(const struct pl_unpack *unpack);

void pl_unpack_close(struct pl_unpack *unpack);

#endif
