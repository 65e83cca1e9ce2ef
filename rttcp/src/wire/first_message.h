/* Whether the whole first message of a new connection has arrived: a frame of control_connection.h, or with --key the
 * TLS record that contains the ClientHello. The first octet distinguishes them, because a frame's length begins with
 * 0. */
#ifndef RTTCP_FIRST_MESSAGE_H
#define RTTCP_FIRST_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define RTTCP_FIRST_MESSAGE_MAX 4096 /* octets after the header; a connection with a longer one is closed */
#define RTTCP_FIRST_MESSAGE_HEADER_MAX 5

enum rttcp_first { FIRST_WHOLE, FIRST_PART, FIRST_INVALID };

/* Returns whether the octets [at, end) begin with a whole first message. */
enum rttcp_first rttcp_first_message(const uint8_t *at, const uint8_t *end);

/* True when the connection begins with TLS. [at, end) is not empty. */
bool rttcp_first_is_tls(const uint8_t *at, const uint8_t *end);

#endif
