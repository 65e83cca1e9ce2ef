/* The shared key. Each end proves that it has the key by an HMAC-SHA256 (OpenSSL) over both ends' random challenges,
 * its role and the proposed parameters. The key itself is never sent. The data connections are neither encrypted nor
 * authenticated. */
#ifndef RTTCP_AUTH_H
#define RTTCP_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

#define RTTCP_CHALLENGE_TEXT 33 /* 16 random octets in hexadecimal, and the terminator */
#define RTTCP_PROOF_TEXT 65

struct rttcp_key {
    size_t size; /* 0: none */
    uint8_t octets[1024];
};

/* Reads a key of 16 to 1024 octets from a file. A newline at its end does not count. */
int rttcp_key_read(struct rttcp_key *key, const char *path, struct nc_error *error);

void rttcp_auth_challenge(char out[RTTCP_CHALLENGE_TEXT]);

/* Makes a proof. `role` is "sender" for the proposing end, "receiver" for the serving end. `params` are JSON text. */
void rttcp_auth_prove(const struct rttcp_key *key, const char *role, const char *server_challenge,
                      const char *client_challenge, const char *params, char out[RTTCP_PROOF_TEXT]);

/* Compares two proofs in constant time. */
bool rttcp_auth_same(const char *a, const char *b);

#endif
