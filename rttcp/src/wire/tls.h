/* The control connection through TLS 1.3 with --key as the pre-shared key (OpenSSL): key exchange psk_dhe_ke on X25519,
 * cipher suite TLS_CHACHA20_POLY1305_SHA256, no certificate, no ticket, no early data. Nothing else is offered or
 * accepted, so there is nothing to downgrade to. With an end that has no key or a different one the handshake fails.
 * Rejected: certificates, which need names and an authority where two ends need one secret.
 * Rejected: a proof of the key inside the plain messages; it would cover the messages before it, but none that
 * follow. */
#ifndef RTTCP_TLS_H
#define RTTCP_TLS_H

#include "channel.h"
#include "join.h"
#include "key.h"

/* Does the handshake on a plain connected channel, which then reads and writes through TLS. `serving` is the end that
 * accepted the connection. `stop_requested` ends the wait. The error says which end lacks the key when that is known.
 * `stranger`: the peer did not speak our TLS at all, so no user of rttcp waits for an answer. */
int rttcp_tls_begin(struct rttcp_channel *channel, const struct rttcp_key *key, bool serving,
                    bool (*stop_requested)(void), uint64_t deadline_ns, bool *stranger, struct nc_error *error);

/* For a serving end without a key: answers the first TLS message with an alert that reports this, and reads the message
 * from the socket, because closing a socket with unread octets sends a RST that may overtake the alert. */
void rttcp_tls_refuse(int fd);

/* The key of the tokens that bind the data connections to this control connection (RFC 8446, 7.5). */
int rttcp_tls_join_key(const struct rttcp_channel *channel, struct rttcp_join_key *key, struct nc_error *error);

#endif
