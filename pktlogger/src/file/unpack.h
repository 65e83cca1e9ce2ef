/* A decoder of compressed bytes in memory (zstd, gzip, xz, lz4). It delivers their contents piece by piece, and
 * continues through any number of successive frames, members or streams.
 * Invariant: the window of the format bounds the memory (zstd 128 MB, xz 256 MB, the others less), whatever the bytes
 * contain. */
#ifndef PL_UNPACK_H
#define PL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_unpack;

/* True when the bytes begin like one of these formats. */
bool pl_unpack_is(const uint8_t *data, size_t len);

/* A decoder for bytes of which pl_unpack_is is true. They must stay in memory. NULL without memory. */
struct pl_unpack *pl_unpack_open(const uint8_t *data, size_t len);

/* Writes up to `room` bytes and returns their number; less than `room` only at the end. */
size_t pl_unpack_read(struct pl_unpack *unpack, uint8_t *to, size_t room);

/* Number of compressed bytes read so far. */
size_t pl_unpack_consumed(const struct pl_unpack *unpack);

/* After the end: why the data ended early; NULL when all frames are whole. */
const char *pl_unpack_cut(const struct pl_unpack *unpack);

void pl_unpack_close(struct pl_unpack *unpack);

#endif
