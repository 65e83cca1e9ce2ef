/* The first octets of a data connection when there is a key: the number of its stream, and a token that only the peer
 * of the control connection can make. So a stranger's connection to a data port does not become a stream.
 *
 *     octets 0–5   "rttcp\n"
 *     octets 6–7   number of the stream, big-endian
 *     octets 8–39  HMAC-SHA256 over octets 0–7; its key is exported from the control connection (tls.h)
 *
 * The proposing end sends them as soon as it is connected. Each token is used once, because a stream accepts one
 * connection. Rejected: TLS on the data connections. It would be measured too. */
#ifndef RTTCP_JOIN_H
#define RTTCP_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#define RTTCP_JOIN_OCTETS 40

struct rttcp_join_key {
    bool wanted; /* false: the session has no --key, and data connections begin with the data */
    uint8_t octets[32];
};

enum rttcp_join { JOIN_VALID, JOIN_PART, JOIN_INVALID };

/* Makes the octets for a stream. */
void rttcp_join_encode(const struct rttcp_join_key *key, uint64_t stream, uint8_t out[RTTCP_JOIN_OCTETS]);

/* Checks the octets [at, end) that have arrived on a connection to the port of `stream`. Octets beyond
 * RTTCP_JOIN_OCTETS are data. Tokens are compared in constant time. */
enum rttcp_join rttcp_join_check(const struct rttcp_join_key *key, uint64_t stream, const uint8_t *at,
                                 const uint8_t *end);

#endif
