/* The verification of one stream: the content at either end, a digest over every octet, and at the receiver the first
 * wrong octet. The check of the content is exact and finds the errors. The digest (XXH3-128 of libxxhash) allows others
 * to record and compare the content; it costs a tenth of a copy. */
#ifndef RTTCP_VERIFY_H
#define RTTCP_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pattern.h"

#define RTTCP_DIGEST_TEXT 33   /* 128 bits in hexadecimal, and the terminator */
#define RTTCP_EXCERPT_OCTETS 8 /* of expected and received content */

struct rttcp_mismatch {
    bool found;
    uint64_t offset;                                                                /* in the stream */
    char expected[2 * RTTCP_EXCERPT_OCTETS + 1], got[2 * RTTCP_EXCERPT_OCTETS + 1]; /* hexadecimal, from offset on */
};

struct rttcp_verify {
    struct rttcp_pattern pattern;
    struct rttcp_mismatch mismatch; /* the first one */
    uint64_t bad_reads;             /* reads that held a wrong octet */
    void *digest;                   /* XXH3_state_t */
};

/* Returns NULL without memory. */
struct rttcp_verify *rttcp_verify_create(uint64_t seed, uint64_t stream);
void rttcp_verify_release(struct rttcp_verify *verify);

/* Sender: adds the octets that the kernel has accepted. */
void rttcp_verify_sent(struct rttcp_verify *verify, const uint8_t *data, size_t size);

/* Receiver: checks the octets that arrived at `offset` of the stream. */
void rttcp_verify_received(struct rttcp_verify *verify, uint64_t offset, const uint8_t *data, size_t size);

void rttcp_verify_digest(const struct rttcp_verify *verify, char out[RTTCP_DIGEST_TEXT]);

#endif
