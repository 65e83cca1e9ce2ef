/* What --verify sends: content that is a function of (seed, stream, offset), so that the receiver can make it again, at
 * memory speed, and tell by offset where it differs.
 *
 * Word i of a stream (8 octets, little-endian) is three rounds of Philox-2x32's kind (Salmon et al. 2011, "Parallel random
 * numbers: as easy as 1, 2, 3") over a = start + i × C: multiply the low half by a constant, exchange the product's halves,
 * xor the high half and the key. `start` and `k` come from seed and stream by splitmix64. Every round can be undone, so no
 * word comes twice in 2^64 (C is odd); it does not compress, no two buffers are alike, and streams and seeds are
 * unrelated. It is no cipher: it defends against gateways that compress, repeat or duplicate, not against one that
 * reads the seed from the control connection and forges.
 * A round is one 32-bit multiplication, of which AVX2 does four at a time; the portable loop gives the same octets. Two
 * rounds are a third faster, and words 2^16 apart have equal low bits.
 * Rejected: AES in counter mode and ChaCha (half the speed without special instructions); a Mersenne twister (no access by
 * offset); a 128-bit product a word (three times as long: there is one multiplier, and no vectors of it). */
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

/* Index of the first octet that differs from [offset, offset + size) of the content; `size` when none does. */
size_t rttcp_pattern_check(const struct rttcp_pattern *pattern, uint64_t offset, const uint8_t *data, size_t size);

#endif
