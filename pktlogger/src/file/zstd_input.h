/* A decoder of zstd: it reads compressed bytes in memory and gives what they hold, piece by piece.
 * Invariant: it needs the memory of one window (128 MB at most, 8 MB by a usual zstd), whatever the bytes say. */
#ifndef PL_ZSTD_INPUT_H
#define PL_ZSTD_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_zstd;

/* True when the bytes begin with a frame of zstd. */
bool pl_zstd_is(const uint8_t *data, size_t len);

/* NULL without memory. The bytes must stay. */
struct pl_zstd *pl_zstd_open(const uint8_t *data, size_t len);

/* Writes up to `room` bytes and returns their number; less than `room` only at the end. */
size_t pl_zstd_read(struct pl_zstd *zstd, uint8_t *to, size_t room);

/* How many of the compressed bytes were read. */
size_t pl_zstd_consumed(const struct pl_zstd *zstd);

/* After the end: why it came early; NULL when all frames are whole. */
const char *pl_zstd_cut(const struct pl_zstd *zstd);

void pl_zstd_close(struct pl_zstd *zstd);

#endif
