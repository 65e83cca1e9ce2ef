/* The content that --verify sends. It is a function of (seed, stream, offset), so the receiver can recompute it at
 * memory speed and name the offset of a difference.
 *
 * Word i of a stream (8 octets, little-endian) is three rounds like those of Philox-2x32 (Salmon et al. 2011, "Parallel
 * random numbers: as easy as 1, 2, 3") over a = start + i × C. A round multiplies the low half by a constant, exchanges
 * the halves of the product, and xors the high half and the key. `start` and `k` come from seed and stream by
 * splitmix64. Every round is invertible and C is odd, so no word occurs twice in 2^64. The content does not compress,
 * no two buffers are alike, and the contents of different streams and seeds are unrelated. It is not a cipher: it
 * detects gateways that compress, repeat or duplicate, but not one that reads the seed from the control connection and
 * forges the content.
 * A round is one 32-bit multiplication, of which AVX2 does four at a time; the portable loop gives the same octets.
 * Rejected: two rounds. They are a third faster, but words 2^16 apart have equal low bits.
 * Rejected: AES in counter mode and ChaCha, which have half the speed without special instructions.
 * Rejected: a Mersenne twister, which has no random access by offset.
 * Rejected: a 128-bit product for each word, which takes three times as long, because it uses the one scalar multiplier
 * and no vectors. */
#ifndef RTTCP_PATTERN_H
#define RTTCP_PATTERN_H

#include <stddef.h>
#include <stdint.h>

struct rttcp_pattern {
    uint64_t start, k;
};

struct rttcp_pattern rttcp_pattern_create(uint64_t seed, uint64_t stream);

/* Writes the octets [offset, offset + size) of the content. */
void rttcp_pattern_fill(const struct rttcp_pattern *pattern, uint64_t offset, uint8_t *out, size_t size);

/* Index of the first octet that differs from [offset, offset + size) of the content; `size` when none differs. */
size_t rttcp_pattern_check(const struct rttcp_pattern *pattern, uint64_t offset, const uint8_t *data, size_t size);

#endif
