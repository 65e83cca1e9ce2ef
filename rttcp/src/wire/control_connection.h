/* The control connection: framed JSON messages on a channel (channel.h), which is plain or TLS. A frame is a 32-bit
 * big-endian length, 2 … 65536, and that many octets of one JSON object with a "type". Every wait has a deadline.
 * Rejected: JSON lines. With a length first, garbage is refused after four octets, before anything is parsed. */
#ifndef RTTCP_CONTROL_CONNECTION_H
#define RTTCP_CONTROL_CONNECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"
#include "nc_error.h"

#define RTTCP_FRAME_HEADER 4
#define RTTCP_FRAME_MAX 65536

enum rttcp_frame { FRAME_MESSAGE, FRAME_INCOMPLETE, FRAME_BAD };

/* Decodes the frame at [at, end). FRAME_MESSAGE: *message is an object with a text "type", which the caller releases,
 * and *used octets were consumed. FRAME_BAD: `error` has the reason, and the connection cannot be used any more. */
enum rttcp_frame rttcp_frame_decode(const uint8_t *at, const uint8_t *end, json_t **message, size_t *used,
                                    struct nc_error *error);

/* Encodes into buf, which has 4 + RTTCP_FRAME_MAX octets. Returns the number of octets used. Asserts that the message
 * fits: all messages of this end are bounded by design. */
size_t rttcp_frame_encode(const json_t *message, uint8_t *buf);

struct rttcp_control_connection {
    struct rttcp_channel channel;
    bool (*stop_requested)(void); /* returns true to end a wait for a message; NULL: no wait ends early */
    size_t held;
    uint8_t buf[RTTCP_FRAME_HEADER + RTTCP_FRAME_MAX];
    size_t sent, to_send; /* the rest of a frame whose deadline passed is sent before the next frame */
    uint8_t out[RTTCP_FRAME_HEADER + RTTCP_FRAME_MAX];
};

enum rttcp_got { GOT_MESSAGE, GOT_NOTHING, GOT_CLOSED, GOT_BAD };

/* Sends and releases the message; waits until `deadline_ns` (CLOCK_MONOTONIC). Returns 0 or -1. */
int rttcp_control_connection_send(struct rttcp_control_connection *control, json_t *message, uint64_t deadline_ns,
                                  struct nc_error *error);

/* Waits for the next message of any type. GOT_NOTHING: none came before the deadline or a signal. Only GOT_BAD fills
 * `error`. */
enum rttcp_got rttcp_control_connection_poll(struct rttcp_control_connection *control, uint64_t deadline_ns,
                                             json_t **message, struct nc_error *error);

/* Waits for the next message, which must be of this type. Returns NULL with `error` for anything else. A `refuse` or
 * `abort` of the peer becomes the error it carries. A stop that is requested during the wait ends it. */
json_t *rttcp_control_connection_expect(struct rttcp_control_connection *control, const char *type,
                                        uint64_t deadline_ns, struct nc_error *error);

/* Turns a message that is not expected here into an error. Returns -1. */
int rttcp_control_connection_unexpected(const json_t *message, const char *wanted, struct nc_error *error);

#endif
