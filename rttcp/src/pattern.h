/* What --verify sends: content that is a function of (seed, stream, offset), so that the receiver can make it again, at
 * memory speed, and tell by offset where it differs.
 *
 * Word i of a stream (8 octets, little-endian) is fold(a × (a ^ k)) with a = start + i × C: the low half of a 128-bit product
 * xor its high half, which is wyrand's step (public domain, Wang Yi) used by counter. `start` and `k` come from seed and
 * stream by splitmix64. The period is 2^64 words (C is odd); it does not compress, no two buffers are alike, and streams
 * and seeds are unrelated. It is no cipher: it defends against gateways that compress, repeat or duplicate, not against one
 * that reads the seed from the control connection and forges.
 * Rejected: AES in counter mode and ChaCha (half the speed without special instructions); a Mersenne twister (no access by
 * offset); 32-bit vector hashes (as fast, but a compiler's vectoriser decides). */
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
