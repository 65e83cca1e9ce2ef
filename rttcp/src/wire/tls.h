/* The control connection through TLS 1.3 with --key as the pre-shared key (OpenSSL): key exchange psk_dhe_ke on X25519,
 * cipher suite TLS_CHACHA20_POLY1305_SHA256, no certificate, no ticket, no early data. Nothing else is offered or
 * taken, so there is nothing to downgrade to, and an end that has no key or another one ends the handshake.
 * Rejected: certificates, which need names and an authority where two ends need one secret.
 * Rejected: a proof of the key inside of the plain messages. It covers the messages that it names, but none that
 * follow. */
#ifndef RTTCP_TLS_H
#define RTTCP_TLS_H

#include "channel.h"
#include "join.h"
#include "key.h"

/* Shakes hands on a plain connected channel, which then reads and writes through TLS. `serving` is the end that
 * accepted the connection. `stop_requested` ends the wait. The error says which end lacks the key when that is known.
 * `stranger`: the peer did not speak our TLS at all, so no user of rttcp waits for an answer. */
int rttcp_tls_begin(struct rttcp_channel *channel, const struct rttcp_key *key, bool serving,
                    bool (*stop_requested)(void), uint64_t deadline_ns, bool *stranger, struct nc_error *error);

/* Serving end without a key: answers the first message of TLS with the alert that says so, and takes the message out
 * of the socket, because a close with unread octets would overtake the alert. */
void rttcp_tls_refuse(int fd);

/* The key of the tokens that tie the data connections to this control connection (RFC 8446, 7.5). */
int rttcp_tls_join_key(const struct rttcp_channel *channel, struct rttcp_join_key *key, struct nc_error *error);

#endif
