/* The shared key: each end proves that it has it, by HMAC-SHA256 (OpenSSL) over both ends' random challenges, its role and
 * the proposed parameters. The key itself never travels. The data connections are neither encrypted nor authenticated. */
#ifndef RTTCP_AUTH_H
#define RTTCP_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define RTTCP_CHALLENGE_TEXT 33 /* 16 random octets in hexadecimal, and the end */
#define RTTCP_PROOF_TEXT 65

struct rttcp_key {
    size_t size; /* 0: none */
    uint8_t octets[1024];
};

/* Reads a file of 16 to 1024 octets (a newline at its end not counted). */
int rttcp_key_read(struct rttcp_key *key, const char *path, struct rttcp_error *error);

void rttcp_auth_challenge(char out[RTTCP_CHALLENGE_TEXT]);

/* `role`: "sender" or "receiver" (of the control protocol: who proposes, who serves); `params`: as JSON text. */
void rttcp_auth_prove(const struct rttcp_key *key, const char *role, const char *server_challenge,
                      const char *client_challenge, const char *params, char out[RTTCP_PROOF_TEXT]);

/* In constant time. */
bool rttcp_auth_same(const char *a, const char *b);

#endif
